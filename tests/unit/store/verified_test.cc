#include "store/verified.h"

#include <gtest/gtest.h>

#include <span>
#include <vector>

namespace braid::store::test {
namespace {

ChunkRef chunk(std::uint32_t container, std::uint32_t offset, unsigned id) {
  ChunkRef out{.id = {}, .at = {.volume = 0, .container = container, .offset = offset}, .bytes = 1000};
  out.id.bytes[0] = static_cast<std::byte>(id);
  out.id.bytes[5] = static_cast<std::byte>(id >> 8U);
  return out;
}

bool has(Verified& verified, const ChunkRef& chunk) { return verified.has(std::span(&chunk, 1)); }

TEST(Verified, is_what_was_seen_at_its_place) {
  Verified verified;
  EXPECT_FALSE(has(verified, chunk(1, 64, 1)));
  for (unsigned i = 0; i < 500; ++i) verified.add(chunk(1, 64 + i * 2000, i), verified.begin());
  for (unsigned i = 0; i < 500; ++i) EXPECT_TRUE(has(verified, chunk(1, 64 + i * 2000, i)));
  EXPECT_FALSE(has(verified, chunk(1, 64, 501))) << "another chunk";
  EXPECT_FALSE(has(verified, chunk(1, 65, 0))) << "another place";
  EXPECT_FALSE(has(verified, chunk(2, 64, 0))) << "another container";
  ChunkRef longer = chunk(1, 64, 0);
  ++longer.bytes;
  EXPECT_FALSE(has(verified, longer));
  const std::vector<ChunkRef> some{chunk(1, 64, 0), chunk(1, 2064, 1)},
      wrong{chunk(1, 64, 0), chunk(1, 2064, 2)};
  EXPECT_TRUE(verified.has(some));
  EXPECT_FALSE(verified.has(wrong));
  EXPECT_TRUE(verified.has({}));
}

TEST(Verified, what_was_being_read_when_a_container_was_forgotten_is_not_known) {
  Verified verified;
  verified.add(chunk(1, 64, 1), verified.begin());
  verified.add(chunk(2, 64, 2), verified.begin());
  const std::uint64_t begun = verified.begin();
  verified.forget(1);
  verified.add(chunk(1, 64, 1), begun);
  EXPECT_FALSE(has(verified, chunk(1, 64, 1)));
  EXPECT_TRUE(has(verified, chunk(2, 64, 2)));
  verified.add(chunk(1, 64, 1), verified.begin());
  EXPECT_TRUE(has(verified, chunk(1, 64, 1)));
}

TEST(Verified, has_a_bound_and_keeps_what_was_asked_for_last) {
  constexpr std::size_t bound = 16 * 1024;
  Verified verified(bound);
  for (unsigned container = 1; container <= 1000; ++container) {
    for (unsigned i = 0; i < 40; ++i) verified.add(chunk(container, 64 + i * 2000, i), verified.begin());
    EXPECT_TRUE(has(verified, chunk(1, 64, 0)));
    EXPECT_TRUE(has(verified, chunk(container, 64 + 39 * 2000, 39)));
    EXPECT_LE(verified.bytes(), bound);
  }
  EXPECT_FALSE(has(verified, chunk(2, 64, 0)));
  for (unsigned container = 1; container <= 1000; ++container) verified.forget(container);
  EXPECT_EQ(verified.bytes(), 0U);
}

}  // namespace
}  // namespace braid::store::test
