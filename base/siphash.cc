#include "base/siphash.h"

#include <sys/random.h>

#include <bit>

#include "base/assert.h"

namespace braid::base {
namespace {

struct State {
  std::uint64_t v0, v1, v2, v3;

  void round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
  void absorb(std::uint64_t word) {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
};

std::uint64_t little_endian_word(const std::byte* at, std::size_t count) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, count);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

}  // namespace

std::uint64_t siphash24(const SipKey& key, BytesView message) {
  State s{key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261,
          key[1] ^ 0x7465646279746573};
  const std::byte* at = message.data();
  const std::size_t whole = message.size() / 8;
  for (std::size_t i = 0; i < whole; ++i, at += 8) s.absorb(little_endian_word(at, 8));
  const std::size_t rest = message.size() % 8;
  std::uint64_t last = static_cast<std::uint64_t>(message.size()) << 56;
  if (rest != 0) last |= little_endian_word(at, rest);
  s.absorb(last);
  s.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) s.round();
  return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

SipKey random_sip_key() {
  SipKey key;
  check(::getrandom(key.data(), sizeof key, 0) == static_cast<ssize_t>(sizeof key), "getrandom");
  return key;
}

}  // namespace braid::base
