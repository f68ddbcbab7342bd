// The clientid4 values of one run of the server (docs/nfs4-clients.md).
//
//   upper 32 bits  the epoch of the run: an id of another epoch is stale
//   lower 32 bits  which client, scrambled with a key of the run
//
// The key makes that half a random number to everybody else, so nobody can tell the id of another client from
// his own; the server can undo it, and so knows which ids it has given out without keeping them.
#pragma once

#include <array>
#include <cstdint>

#include "base/siphash.h"
#include "nfs4/nfs4.x.h"

namespace braid::nfs4::state {

// Clients of 4.0 and those with sessions know nothing of each other: an id of one kind is none of the other.
enum class ClientKind : std::uint8_t { v4_0 = 0, sessions = 1 };
constexpr ClientKind kind_of(std::uint32_t minor_version) {
  return minor_version == 0 ? ClientKind::v4_0 : ClientKind::sessions;
}

constexpr std::uint32_t epoch_of(clientid4 id) { return static_cast<std::uint32_t>(id >> 32); }

// What others learn of a client that is in their way: the same each time, and no id that opens anything.
// RFC 7530 16.10.4 and RFC 8881 18.10.4 have a lock_owner4 there, which contains one.
clientid4 alias_of(clientid4 id, const base::SipKey& key);

// Not thread-safe.
class ClientIds {
 public:
  // `key`: unpredictable, and another one in each run.
  ClientIds(std::uint32_t epoch, const base::SipKey& key) : epoch_(epoch), key_(key) {}

  // Not zero. After 2^31 of a kind they come again, in their order.
  clientid4 next(ClientKind kind);
  // Whether next(kind) has returned it.
  [[nodiscard]] bool given(clientid4 id, ClientKind kind) const;

 private:
  static constexpr std::uint64_t numbers = std::uint64_t{1} << 31;  // of a kind

  [[nodiscard]] std::uint32_t scramble(std::uint32_t number) const;
  [[nodiscard]] std::uint32_t unscramble(std::uint32_t scrambled) const;
  [[nodiscard]] std::uint16_t round(std::uint8_t number, std::uint16_t half) const;

  const std::uint32_t epoch_;
  const base::SipKey key_;
  std::array<std::uint64_t, 2> given_{};  // how many of each kind
};

}  // namespace braid::nfs4::state
