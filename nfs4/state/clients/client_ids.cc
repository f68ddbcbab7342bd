#include "nfs4/state/clients/client_ids.h"

#include <cstring>
#include <utility>

#include "base/bytes.h"

namespace braid::nfs4::state {

namespace {

// Of a Feistel network over two halves of 16 bits. Four are enough on paper; halves so short ask for more.
constexpr std::uint8_t feistel_rounds = 10;

std::uint32_t id_number(std::uint64_t count, ClientKind kind) {
  return static_cast<std::uint32_t>(count << 1 | static_cast<std::uint64_t>(kind));
}

}  // namespace

clientid4 alias_of(clientid4 id, const base::SipKey& key) {
  std::array<std::byte, 1 + sizeof id> text{std::byte{'a'}};
  std::memcpy(text.data() + 1, &id, sizeof id);
  return base::siphash24(key, text);
}

std::uint16_t ClientIds::round(std::uint8_t number, std::uint16_t half) const {
  // Other uses of the key hash texts of other lengths.
  const std::array text{std::byte{'i'}, std::byte{number}, static_cast<std::byte>(half >> 8),
                        static_cast<std::byte>(half & 0xff)};
  return static_cast<std::uint16_t>(base::siphash24(key_, text));
}

std::uint32_t ClientIds::scramble(std::uint32_t number) const {
  auto left = static_cast<std::uint16_t>(number >> 16);
  auto right = static_cast<std::uint16_t>(number);
  for (std::uint8_t i = 0; i < feistel_rounds; ++i)
    left = std::exchange(right, static_cast<std::uint16_t>(left ^ round(i, right)));
  return std::uint32_t{left} << 16 | right;
}

std::uint32_t ClientIds::unscramble(std::uint32_t scrambled) const {
  auto left = static_cast<std::uint16_t>(scrambled >> 16);
  auto right = static_cast<std::uint16_t>(scrambled);
  for (std::uint8_t i = feistel_rounds; i-- > 0;)
    right = std::exchange(left, static_cast<std::uint16_t>(right ^ round(i, left)));
  return std::uint32_t{left} << 16 | right;
}

clientid4 ClientIds::next(ClientKind kind) {
  std::uint64_t& given = given_.at(static_cast<std::size_t>(kind));
  while (true) {
    const std::uint32_t scrambled = scramble(id_number(given++ % numbers, kind));
    if (const clientid4 id = clientid4{epoch_} << 32 | scrambled; id != 0) return id;
  }
}

bool ClientIds::given(clientid4 id, ClientKind kind) const {
  if (epoch_of(id) != epoch_ || id == 0) return false;
  const std::uint32_t number = unscramble(static_cast<std::uint32_t>(id));
  return (number & 1U) == static_cast<std::uint32_t>(kind) &&
         number >> 1 < given_.at(static_cast<std::size_t>(kind));
}

}  // namespace braid::nfs4::state
