#include "nfs4/state/state_id.h"

#include <cstddef>
#include <cstring>

namespace braid::nfs4::state {

namespace {

constexpr std::uint32_t seqid_all_ones = 0xffff'ffff;

// Every byte is the same as the first.
bool uniform(const StateIdOther& other) {
  return std::memcmp(other.data(), other.data() + 1, other.size() - 1) == 0;
}

stateid4 special(std::uint32_t seqid, std::byte filling) {
  stateid4 id;
  id.seqid = seqid;
  id.other.fill(filling);
  return id;
}

void put(StateIdOther& other, std::size_t at, std::size_t bytes, std::uint32_t value) {
  for (std::size_t i = 0; i < bytes; ++i)
    other[at + i] = static_cast<std::byte>(value >> (8 * (bytes - 1 - i)) & 0xff);
}

std::uint32_t get(const StateIdOther& other, std::size_t at, std::size_t bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | std::to_integer<std::uint32_t>(other[at + i]);
  return value;
}

}  // namespace

StateIdOther pack(const StateIdParts& parts) {
  StateIdOther other{};
  put(other, 0, 3, parts.epoch);
  put(other, 3, 4, static_cast<std::uint32_t>(parts.kind) << 28 | (parts.client & StateIdParts::client_mask));
  put(other, 7, 3, parts.index);
  put(other, 10, 2, parts.generation);
  return other;
}

std::uint32_t epoch_of(const StateIdOther& other) { return get(other, 0, 3); }

std::optional<StateIdParts> unpack(const StateIdOther& other) {
  const std::uint32_t kind_and_client = get(other, 3, 4);
  const std::uint32_t kind = kind_and_client >> 28;
  if (kind < static_cast<std::uint32_t>(StateKind::open) ||
      kind > static_cast<std::uint32_t>(StateKind::copy))
    return std::nullopt;
  return StateIdParts{.epoch = epoch_of(other),
                      .kind = static_cast<StateKind>(kind),
                      .client = kind_and_client & StateIdParts::client_mask,
                      .index = get(other, 7, 3),
                      .generation = static_cast<std::uint16_t>(get(other, 10, 2))};
}

SpecialStateId special_of(const stateid4& id, std::uint32_t minor_version) {
  const bool ones = id.other.front() == std::byte{0xff};
  if ((!ones && id.other.front() != std::byte{0}) || !uniform(id.other)) return SpecialStateId::none;
  if (ones) return id.seqid == seqid_all_ones ? SpecialStateId::read_bypass : SpecialStateId::reserved;
  if (id.seqid == 0) return SpecialStateId::anonymous;
  if (minor_version == 0) return SpecialStateId::reserved;
  if (id.seqid == 1) return SpecialStateId::current;
  return id.seqid == seqid_all_ones ? SpecialStateId::invalid : SpecialStateId::reserved;
}

stateid4 anonymous_stateid() { return special(0, std::byte{0}); }
stateid4 read_bypass_stateid() { return special(seqid_all_ones, std::byte{0xff}); }
stateid4 current_stateid() { return special(1, std::byte{0}); }
stateid4 invalid_stateid() { return special(seqid_all_ones, std::byte{0}); }

}  // namespace braid::nfs4::state
