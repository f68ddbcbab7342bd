// The sequence ids of 4.0 open and lock owners (RFC 7530 9.1.7): each changing operation of an owner is
// executed once, and its repetition gets the first reply again.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "nfs4/nfs4.x.h"

namespace braid::nfs4::state {

// True for the errors after which the client does not count its seqid up, so we do not either.
bool leaves_seqid(nfsstat4 status);

// Not thread-safe. One operation of an owner runs at a time.
class OwnerSequence {
 public:
  enum class Turn : std::uint8_t {
    run,     // new: to be executed, and end()ed
    replay,  // the last one again: answer status() and reply()
    bad,     // BAD_SEQID
    busy,    // the owner's operation before it has not ended
  };
  // The first one may bring any seqid.
  Turn begin(std::uint32_t seqid, nfs_opnum4 op);
  // `reply`: the encoded result behind the status.
  void end(nfsstat4 status, base::Bytes reply);
  // What LOCK does for a new lock owner: its next operation brings `seqid` + 1.
  void start_at(std::uint32_t seqid) { last_ = seqid; }

  [[nodiscard]] bool busy() const { return running_.has_value(); }
  // Whether this is the operation whose reply is kept.
  [[nodiscard]] bool repeats(std::uint32_t seqid, nfs_opnum4 op) const {
    return last_ == seqid && last_op_ == op;
  }
  [[nodiscard]] bool started() const { return last_.has_value(); }
  // Whether `seqid` may come next.
  [[nodiscard]] bool follows(std::uint32_t seqid) const { return !last_ || seqid == *last_ + 1; }
  [[nodiscard]] nfsstat4 status() const { return status_; }
  [[nodiscard]] const base::Bytes& reply() const { return reply_; }

 private:
  struct Running {
    std::uint32_t seqid = 0;
    nfs_opnum4 op{};
  };
  std::optional<Running> running_;
  std::optional<std::uint32_t> last_;  // the last seqid that counted
  std::optional<nfs_opnum4> last_op_;  // whose reply is kept
  nfsstat4 status_{};
  base::Bytes reply_;
};

}  // namespace braid::nfs4::state
