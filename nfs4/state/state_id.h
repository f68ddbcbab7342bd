// The stateid4 values of ours (RFC 7530 9.1.4, RFC 8881 8.2): what the twelve opaque bytes say, and the
// special values that name no state.
//
// Opaque bytes, big-endian:
//   0  epoch       24 bits  of this run of the server
//   3  kind         4 bits  StateKind
//      client      28 bits  the low bits of the clientid4 that the state belongs to
//   7  index       24 bits  place in the table
//   10 generation  16 bits  how often that place was used before
#pragma once

#include <cstdint>
#include <optional>

#include "nfs4/nfs4.x.h"

namespace braid::nfs4::state {

// What a stateid names.
enum class StateKind : std::uint8_t {
  open = 1,        // one open owner's opens of one file
  lock = 2,        // one lock owner's byte-range locks on one file
  delegation = 3,  // a client's delegation of one file
  layout = 4,      // a client's layouts of one file
  copy = 5,        // an asynchronous COPY
};
constexpr std::size_t state_kinds = 6;  // numbers that a StateKind may have

struct StateIdParts {
  static constexpr std::uint32_t epoch_mask = 0xff'ffff;
  static constexpr std::uint32_t client_mask = 0xfff'ffff;
  static constexpr std::uint32_t index_max = 0xff'ffff;

  std::uint32_t epoch = 0;
  StateKind kind = StateKind::open;
  std::uint32_t client = 0;
  std::uint32_t index = 0;
  std::uint16_t generation = 0;
  friend bool operator==(const StateIdParts&, const StateIdParts&) = default;
};

using StateIdOther = decltype(stateid4::other);

StateIdOther pack(const StateIdParts& parts);
std::uint32_t epoch_of(const StateIdOther& other);
// Nothing for a kind that does not exist.
std::optional<StateIdParts> unpack(const StateIdOther& other);

// RFC 8881 8.2.3. In 4.0 only the first three exist, and the seqid of the special values counts for nothing
// there (RFC 7530 9.1.4.3 looks at all bits; a client that sets other ones has a bad stateid).
enum class SpecialStateId : std::uint8_t {
  none,         // names state, or pretends to
  anonymous,    // all bits zero: no state
  read_bypass,  // all bits one: no state, and reads pass share reservations
  current,      // the current stateid of the COMPOUND (4.1)
  invalid,      // never valid: what CLOSE answers (4.1)
  reserved,     // `other` is all zeros or all ones, with a seqid that has no meaning
};
SpecialStateId special_of(const stateid4& id, std::uint32_t minor_version);

stateid4 anonymous_stateid();
stateid4 read_bypass_stateid();
stateid4 current_stateid();
stateid4 invalid_stateid();

// The seqid after `seqid`: zero is left out because it means "the current one" (RFC 8881 8.2.2).
constexpr std::uint32_t next_seqid(std::uint32_t seqid) { return seqid == 0xffff'ffff ? 1 : seqid + 1; }

}  // namespace braid::nfs4::state
