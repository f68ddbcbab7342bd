// A client in the sense of NFSv4, with a client id of its own: what lets COMPOUNDs be sent over a connection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/assert.h"
#include "bench/load/connection.h"
#include "bench/load/nfs4_steps.h"
#include "nfs4/nfs4.x.h"

namespace braid::load {

// What calls that are made at the same time must not share: a slot of the session (4.1 and later), and an
// open owner, whose sequence ids order what it does in 4.0.
struct Lane {
  std::uint32_t slot = 0;
  std::uint32_t sequence = 1;  // of the slot's next request
  std::uint32_t seqid = 1;     // of the owner's next operation
  std::string owner;
};

// Belongs to the thread of its connection, which outlives it.
class Nfs4Client {
 public:
  // What a client of 4.1 and later is to its server.
  enum class Part : std::uint8_t {
    plain,
    layouts,  // may be called back, without which there are no layouts; nothing answers, as nothing is
              // recalled
    data,     // of a data server
  };
  // `name` is no other client's of that server. `width`: calls at a time.
  Nfs4Client(Connection& connection, std::uint32_t minor_version, std::string name, unsigned width,
             Part part = Part::plain)
      : connection_(connection),
        minor_version_(minor_version),
        name_(std::move(name)),
        width_(width),
        part_(part) {}
  Nfs4Client(const Nfs4Client&) = delete;
  Nfs4Client& operator=(const Nfs4Client&) = delete;

  // Gets a client id and, in 4.1 and later, a session with `width` slots.
  LoadOp<> begin();
  // Destroys what begin() made; a 4.0 client id ends with its lease.
  LoadOp<> end();

  [[nodiscard]] Connection& connection() const { return connection_; }
  [[nodiscard]] std::uint32_t minor_version() const { return minor_version_; }
  [[nodiscard]] unsigned width() const { return width_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] nfs4::clientid4 id() const { return id_; }
  // Whether the server knows this client and its session no more.
  [[nodiscard]] bool lost() const { return lost_; }

  // A lane, as long as this lives. There are not more of them at a time than `width`.
  class Turn {
   public:
    explicit Turn(Nfs4Client& client) : client_(client), lane_(client.take()) {}
    ~Turn() { client_.free_.push_back(&lane_); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    Lane& operator*() const { return lane_; }

   private:
    Nfs4Client& client_;
    Lane& lane_;
  };

  // Whether the server is asked to keep the reply (sa_cachethis): where the Linux client does.
  enum class Keep : bool { no, yes };

  // Sends the operations, in 4.1 and later after a SEQUENCE on the lane's slot; `look(Results&)` stands
  // behind its result and makes a Result<T, Fault>.
  template <class T, class... Args, class Look>
  LoadOp<T> call(Lane& lane, Keep keep, Steps<Args...> list, Look look) {
    return connection_.call<T>(
        compound_id(),
        [this, &lane, keep, list = std::move(list)](xdr::Encoder& out) {
          put_head(out, list.count + (minor_version_ > 0 ? 1 : 0));
          if (minor_version_ > 0) put_sequence(out, lane, keep);
          encode(out, list);
        },
        [this, &lane, look = std::move(look)](xdr::Decoder& in) -> base::Result<T, Fault> {
          Results results(in);
          if (minor_version_ > 0 && !take_sequence(results, lane)) return base::fail(results.fault());
          auto outcome = look(results);
          note(results.status());
          return outcome;
        });
  }

 private:
  // An operation outside of a session; again, where the server wants that later.
  template <class T, class Args, class Look>
  LoadOp<T> call_alone(Step<Args> alone, Look look);
  LoadOp<> set_client_id();
  LoadOp<> exchange_id();
  LoadOp<> create_session();
  LoadOp<> reclaim_complete();

  static rpc::ProcedureId compound_id() {
    return {nfs4::NFS4_PROGRAM, nfs4::NFS_V4,
            static_cast<std::uint32_t>(nfs4::NFS_V4_procedure::NFSPROC4_COMPOUND)};
  }
  void put_head(xdr::Encoder& out, std::size_t operations) const;
  void put_sequence(xdr::Encoder& out, const Lane& lane, Keep keep) const;
  [[nodiscard]] bool take_sequence(Results& results, Lane& lane);
  void note(nfs4::nfsstat4 status);
  Lane& take();

  Connection& connection_;
  const std::uint32_t minor_version_;
  const std::string name_;
  const unsigned width_;
  const Part part_;
  nfs4::clientid4 id_ = 0;
  nfs4::sequenceid4 sequence_ = 0;  // of CREATE_SESSION
  bool known_ = false;              // the server has our id
  std::optional<nfs4::sessionid4> session_;
  bool lost_ = false;
  std::vector<Lane> lanes_;
  std::vector<Lane*> free_;
};

}  // namespace braid::load
