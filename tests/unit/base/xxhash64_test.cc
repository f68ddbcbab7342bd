#include "base/xxhash64.h"

#include <gtest/gtest.h>

namespace braid::base {
namespace {

// What libxxhash 0.8.1 says of bytes 0, 7, 14, ... (modulo 256).
struct Vector {
  std::size_t length;
  std::uint64_t seed, hash;
};
constexpr Vector vectors_of_xxhash64[] = {
    {0, 0, 0xef46db3751d8e999},   {1, 0, 0xe934a84adb052768},
    {3, 5, 0xd2c8306f8e36b5d3},   {4, 0, 0xae5acdc00a55ac41},
    {7, 0, 0xd734a6b26f3da63e},   {8, 1, 0xbef42115e14bdfb0},
    {31, 0, 0x0f187c62b1e722b7},  {32, 0, 0x91b0cb0931a8c629},
    {33, 9, 0x885d75aebd7e7d10},  {64, 0, 0xbf3052e3445775d0},
    {199, 0, 0xfa32fca67b79f940}, {100, std::uint64_t{1} << 63U, 0xbb1c1aeba6973a28},
};

TEST(Xxhash64, says_what_the_reference_says) {
  Bytes bytes(200);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
  for (const Vector& vector : vectors_of_xxhash64)
    EXPECT_EQ(xxhash64(BytesView(bytes).first(vector.length), vector.seed), vector.hash) << vector.length;
}

}  // namespace
}  // namespace braid::base
