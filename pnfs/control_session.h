// What protects the messages of the control protocol: each is signed with the key of its session, and
// counted, so that nobody else can say anything, repeat it, or answer for a server.
// docs/protocol-pnfs-control.md.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "hashing/digest.h"
#include "io/payload.h"
#include "pnfs/control.x.h"
#include "pnfs/keys.h"

namespace braid::pnfs {

// Which numbers of calls have been seen: calls may overtake each other by fewer than `width`, and none comes
// twice (as the window of RFC 4303 section 3.4.3).
class SequenceWindow {
 public:
  static constexpr std::uint64_t width = 256;

  // True the first time for each number that is not `width` or more behind the largest; 0 is none.
  bool take(std::uint64_t number);

 private:
  std::uint64_t largest_ = 0;
  std::array<std::uint64_t, width / 64> seen_{};  // bit n % width: number n, of the last `width`
};

enum class SealFault : std::uint8_t {
  forged,    // not signed in this session, or for something else
  repeated,  // a call that has come before, or may have
};

// One side of a session. Belongs to one thread.
class ControlSession {
 public:
  // `calls_own`: the role of this side. `signs_bulk`: bulk data is signed, too, on both sides.
  ControlSession(const hashing::Key& key, std::uint64_t id, control_role own, bool signs_bulk)
      : key_(key), id_(id), own_(own), signs_bulk_(signs_bulk) {}

  [[nodiscard]] std::uint64_t id() const { return id_; }

  // `body` must stay until the message is encoded.
  control_sealed seal_call(base::BytesView body, io::Payload bulk = {});
  // Once for each call of the other side.
  base::Result<void, SealFault> open_call(const control_sealed& call);
  // To the call of the other side with this number.
  [[nodiscard]] control_sealed seal_reply(std::uint64_t sequence, base::BytesView body,
                                          io::Payload bulk = {}) const;
  // To this side's call with this number.
  [[nodiscard]] base::Result<void, SealFault> open_reply(std::uint64_t sequence,
                                                         const control_sealed& reply) const;

 private:
  enum class Kind : std::uint8_t { call = 1, reply = 2 };
  [[nodiscard]] control_role other() const {
    return own_ == control_role::ROLE_METADATA ? control_role::ROLE_DATA : control_role::ROLE_METADATA;
  }
  [[nodiscard]] Mac mac_of(control_role sender, Kind kind, const control_sealed& message) const;
  [[nodiscard]] control_sealed seal(Kind kind, std::uint64_t sequence, base::BytesView body,
                                    io::Payload bulk) const;
  [[nodiscard]] bool is_signed(Kind kind, const control_sealed& message) const;

  hashing::Key key_;
  std::uint64_t id_;
  control_role own_;
  bool signs_bulk_;
  std::uint64_t last_ = 0;  // number of this side's last call
  SequenceWindow seen_;     // of the other side's calls
};

}  // namespace braid::pnfs
