#include "io/payload.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace braid::io {
namespace {

std::string text_of(const Payload& payload) {
  std::string out(payload.size(), '\0');
  payload.in_memory().value().copy_to(0, std::as_writable_bytes(std::span(out)));
  return out;
}

class PayloadTest : public testing::Test {
 protected:
  SlabRange range(std::string_view text, std::size_t gap = 4) {
    auto carved = cursor_.carve(text.size()).value();
    std::memcpy(carved.writable().data(), text.data(), text.size());
    if (gap != 0) (void)cursor_.carve(gap);
    return carved;
  }
  SlabPool pool_{{}};
  SlabCursor cursor_{pool_};
};

TEST_F(PayloadTest, ranges_that_touch_are_merged) {
  Payload payload;
  payload.append(range("abcd", 0));
  payload.append(range("efgh", 0));
  EXPECT_EQ(payload.ranges().size(), 1U);
  EXPECT_EQ(text_of(payload), "abcdefgh");
}

TEST_F(PayloadTest, order_and_bytes_survive_any_number_of_ranges) {
  Payload payload;
  std::string expected;
  for (int i = 0; i < 20; ++i) {
    const std::string piece = "piece" + std::to_string(i) + ";";
    payload.append(range(piece));
    expected += piece;
  }
  EXPECT_EQ(payload.ranges().size(), 20U);
  EXPECT_EQ(text_of(payload), expected);
}

TEST_F(PayloadTest, copies_and_moves_keep_the_bytes_and_every_slab_comes_back) {
  SlabPool pool{{}};
  constexpr std::size_t most = 6;  // some of them have more ranges than fit without an allocation
  const auto made = [&](std::size_t ranges) {
    Payload payload;
    // None of them touches the one before.
    for (std::size_t i = 0; i < ranges; ++i) {
      SlabRange one{pool.acquire(SlabSize::small).value(), 0, 4};
      std::memcpy(one.writable().data(), "abcd", 4);
      payload.append(std::move(one));
    }
    return payload;
  };
  for (std::size_t from = 0; from < most; ++from)
    for (std::size_t over = 0; over < most; ++over) {
      SCOPED_TRACE(testing::Message() << from << " ranges over " << over);
      Payload source = made(from);
      const std::string text = text_of(source);
      const Payload copy = source;
      Payload assigned = made(over);
      assigned = source;
      Payload moved = made(over);
      moved = std::move(source);
      EXPECT_TRUE(source.empty());  // NOLINT(bugprone-use-after-move): what is promised
      EXPECT_EQ(source.ranges().size(), 0U);
      source = Payload(std::move(moved));
      for (const Payload* same : {&copy, &std::as_const(assigned), &std::as_const(source)}) {
        EXPECT_EQ(text_of(*same), text);
        EXPECT_EQ(same->ranges().size(), from);
      }
    }
  EXPECT_EQ(pool.stats().bytes_used, 0U);
}

TEST_F(PayloadTest, every_slice_has_the_bytes_of_its_interval) {
  Payload payload;
  for (std::string_view piece : {"ab", "cdefg", "h", "ijkl", "mnopqrstu"}) payload.append(range(piece));
  const std::string all = text_of(payload);
  for (std::size_t from = 0; from <= all.size(); ++from)
    for (std::size_t count = 0; from + count <= all.size(); ++count)
      ASSERT_EQ(text_of(payload.slice(from, count)), all.substr(from, count));
}

TEST_F(PayloadTest, iovecs_skip_what_was_sent) {
  Payload payload;
  for (std::string_view piece : {"abc", "defg", "hi", "jklmn"}) payload.append(range(piece));
  const std::string all = text_of(payload);
  for (std::size_t skip = 0; skip <= all.size(); ++skip) {
    std::array<iovec, 8> vectors;
    std::string got;
    const std::size_t used = to_iovecs(payload, skip, vectors);
    for (std::size_t i = 0; i < used; ++i)
      got.append(static_cast<char*>(vectors[i].iov_base), vectors[i].iov_len);
    ASSERT_EQ(got, all.substr(skip));
  }
}

TEST_F(PayloadTest, dropping_the_front_gives_slabs_back) {
  Payload payload;
  payload.append({pool_.acquire(SlabSize::large).value(), 0, 100});
  payload.append({pool_.acquire(SlabSize::large).value(), 0, 100});
  const auto before = pool_.stats().bytes_used;
  payload.drop_front(150);
  EXPECT_EQ(pool_.stats().bytes_used, before - large_slab_bytes);
  EXPECT_EQ(payload.size(), 50U);
}

}  // namespace
}  // namespace braid::io
