#include "store/chunks/verified.h"

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

bool has(Verified& verified, const ChunkRef& chunk) {
  VerifiedChunk asked{.lies = chunk};
  return verified.find(std::span(&asked, 1));
}

void add(Verified& verified, const ChunkRef& chunk) { verified.add({.lies = chunk}, verified.begin()); }

TEST(Verified, is_what_was_seen_at_its_place) {
  Verified verified;
  EXPECT_FALSE(has(verified, chunk(1, 64, 1)));
  for (unsigned i = 0; i < 500; ++i) add(verified, chunk(1, 64 + i * 2000, i));
  for (unsigned i = 0; i < 500; ++i) EXPECT_TRUE(has(verified, chunk(1, 64 + i * 2000, i)));
  EXPECT_FALSE(has(verified, chunk(1, 64, 501))) << "another chunk";
  EXPECT_FALSE(has(verified, chunk(1, 65, 0))) << "another place";
  EXPECT_FALSE(has(verified, chunk(2, 64, 0))) << "another container";
  ChunkRef longer = chunk(1, 64, 0);
  ++longer.bytes;
  EXPECT_FALSE(has(verified, longer));
  std::vector<VerifiedChunk> some{{.lies = chunk(1, 64, 0)}, {.lies = chunk(1, 2064, 1)}},
      wrong{{.lies = chunk(1, 64, 0)}, {.lies = chunk(1, 2064, 2)}};
  EXPECT_TRUE(verified.find(some));
  EXPECT_FALSE(verified.find(wrong));
  EXPECT_TRUE(verified.find({}));
}

TEST(Verified, tells_how_far_the_bytes_are_from_the_header) {
  Verified verified;
  std::vector<VerifiedChunk> asked;
  for (unsigned i = 0; i < 500; ++i) {
    verified.add({.lies = chunk(1, 64 + i * 56, i), .distance = i * 7}, verified.begin());
    asked.push_back({.lies = chunk(1, 64 + i * 56, i)});
  }
  ASSERT_TRUE(verified.find(asked));
  for (unsigned i = 0; i < 500; ++i) EXPECT_EQ(asked[i].distance, i * 7);
  verified.add({.lies = chunk(1, 64, 0), .distance = 3}, verified.begin());
  ASSERT_TRUE(verified.find(asked));
  EXPECT_EQ(asked[0].distance, 3U) << "as it was seen last";
}

TEST(Verified, what_was_being_read_when_a_container_was_forgotten_is_not_known) {
  Verified verified;
  add(verified, chunk(1, 64, 1));
  add(verified, chunk(2, 64, 2));
  const std::uint64_t begun = verified.begin();
  verified.forget(1);
  verified.add({.lies = chunk(1, 64, 1)}, begun);
  EXPECT_FALSE(has(verified, chunk(1, 64, 1)));
  EXPECT_TRUE(has(verified, chunk(2, 64, 2)));
  add(verified, chunk(1, 64, 1));
  EXPECT_TRUE(has(verified, chunk(1, 64, 1)));
}

TEST(Verified, has_a_bound_and_keeps_what_was_asked_for_last) {
  constexpr std::size_t bound = 16 * 1024;
  Verified verified(bound);
  for (unsigned container = 1; container <= 1000; ++container) {
    for (unsigned i = 0; i < 40; ++i) add(verified, chunk(container, 64 + i * 2000, i));
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
