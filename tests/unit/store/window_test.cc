#include "store/content/window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "io/slab.h"

namespace braid::store {
namespace {

using Kind = WindowPiece::Kind;

class WindowTest : public testing::Test {
 protected:
  // Each has a slab of its own.
  io::Payload payload(const std::string& text) {
    io::SlabRange range{*pool_.acquire(io::SlabSize::small), 0, static_cast<std::uint32_t>(text.size())};
    std::ranges::copy(base::bytes_of(text), range.writable().begin());
    return io::Payload(std::move(range));
  }
  // Gaps are dots, zeros are noughts; of a chunk that is all of `chunked_`.
  std::string text(std::uint64_t begin, std::uint64_t end) const {
    std::string out(end - begin, '.');
    for (const WindowPiece& piece : window_.pieces(begin, end)) {
      std::string bytes(piece.end - piece.begin, '0');
      if (piece.kind == Kind::memory) bytes = base::text_of(*piece.bytes.memory());
      if (piece.kind == Kind::chunk) bytes = chunked_.substr(piece.slice, bytes.size());
      EXPECT_EQ(bytes.size(), piece.end - piece.begin);
      out.replace(piece.begin - begin, bytes.size(), bytes);
    }
    return out;
  }
  bool put(std::uint64_t offset, const std::string& text) { return window_.put(offset, payload(text)); }

  io::SlabPool pool_{{.bytes_max = 64 * base::MiB, .huge_pages = false}};
  Window window_;
  std::string chunked_;
  const ChunkRef chunk_{.id = {}, .at = {.volume = 0, .container = 1, .offset = 64}, .bytes = 100};
};

TEST_F(WindowTest, what_is_put_last_is_there) {
  EXPECT_TRUE(window_.empty());
  EXPECT_EQ(window_.span(), std::nullopt);
  EXPECT_TRUE(put(10, "abcdef"));
  EXPECT_TRUE(put(30, "xyz"));
  EXPECT_TRUE(put(12, "CD"));
  EXPECT_TRUE(put(5, "12345678"));
  EXPECT_EQ(text(0, 35), ".....12345678Def..............xyz..");
  EXPECT_EQ(text(6, 12), "234567");
  EXPECT_EQ(window_.span(), (Extent{5, 33}));
  EXPECT_EQ(window_.bytes(), 14U);
  EXPECT_TRUE(window_.touches(32, 40));
  EXPECT_FALSE(window_.touches(16, 30));
  EXPECT_FALSE(window_.touches(33, 40));
  EXPECT_FALSE(window_.touches(31, 31));
}

TEST_F(WindowTest, it_is_known_when_bytes_took_the_place_of_others_last) {
  EXPECT_TRUE(put(10, "abc"));
  EXPECT_TRUE(put(13, "def"));
  EXPECT_EQ(window_.last_overlay(), 0U);
  EXPECT_TRUE(put(12, "X"));
  EXPECT_EQ(window_.last_overlay(), 3U);
  EXPECT_TRUE(put(20, "y"));
  EXPECT_EQ(window_.last_number(), 4U);
  EXPECT_EQ(window_.last_overlay(), 3U);
}

TEST_F(WindowTest, what_is_erased_is_gone_and_its_slabs_are_free) {
  put(0, "abcdef");
  put(6, "ghijkl");
  window_.erase(2, 4);
  window_.erase(5, 5);
  EXPECT_EQ(text(0, 12), "ab..efghijkl");
  EXPECT_EQ(window_.slab_bytes(), 2 * io::small_slab_bytes);
  window_.erase(4, 12);
  EXPECT_EQ(text(0, 12), "ab..........");
  EXPECT_EQ(window_.slab_bytes(), io::small_slab_bytes);
  EXPECT_EQ(pool_.stats().bytes_used, io::small_slab_bytes);
  window_.erase(0, 2);
  EXPECT_EQ(pool_.stats().bytes_used, 0U);
  EXPECT_EQ(window_.slab_bytes() + window_.bytes() + window_.bytes_in_memory(), 0U);
}

TEST_F(WindowTest, a_slab_counts_once) {
  io::SlabRange whole{*pool_.acquire(io::SlabSize::small), 0, 1000};
  window_.put(0, io::Payload({whole.slab, 0, 500}));
  window_.put(600, io::Payload({whole.slab, 500, 500}));
  EXPECT_EQ(window_.slab_bytes(), io::small_slab_bytes);
  EXPECT_EQ(window_.bytes_in_memory(), 1000U);
  window_.erase(0, 600);
  EXPECT_EQ(window_.slab_bytes(), io::small_slab_bytes);
}

TEST_F(WindowTest, a_chunk_takes_the_place_of_the_bytes_that_it_was_made_of_and_of_no_others) {
  put(0, "abcdefgh");
  put(8, "ijklmnop");
  chunked_ = "abcdefghijklmnop";
  const std::uint64_t then = window_.last_number();
  put(3, "D");
  window_.erase(9, 10);
  window_.put_chunk(0, 16, &chunk_, then);
  EXPECT_EQ(text(0, 16), "abcDefghi.klmnop");
  EXPECT_EQ(window_.bytes_in_memory(), 1U);
  EXPECT_EQ(window_.slab_bytes(), io::small_slab_bytes);
  EXPECT_EQ(window_.pieces(4, 5).front().slice, 4U);
  EXPECT_EQ(window_.next_in_memory(0), (Extent{3, 4}));
  window_.put_chunk(3, 4, nullptr, window_.last_number());
  EXPECT_EQ(text(0, 5), "abc0e");
  EXPECT_EQ(window_.next_in_memory(0), std::nullopt);
  window_.erase_up_to(then);
  EXPECT_EQ(text(0, 16), "...0............") << "what came later stays";
}

TEST_F(WindowTest, a_run_in_memory_ends_at_a_gap_and_at_a_chunk) {
  put(0, "ab");
  put(2, "cd");
  put(10, "ef");
  EXPECT_EQ(window_.next_in_memory(0), (Extent{0, 4}));
  EXPECT_EQ(window_.next_in_memory(1), (Extent{1, 4}));
  EXPECT_EQ(window_.next_in_memory(4), (Extent{10, 12}));
  window_.put_chunk(0, 2, &chunk_, window_.last_number());
  EXPECT_EQ(window_.next_in_memory(0), (Extent{2, 4}));
  EXPECT_EQ(window_.next_in_memory(12), std::nullopt);
}

TEST_F(WindowTest, a_stream_goes_on_nearby) {
  EXPECT_TRUE(window_.continues(1'000'000'000, 1'000'000'001));
  put(100 * base::MiB, "x");
  const std::uint64_t end = 100 * base::MiB + 1;
  EXPECT_TRUE(window_.continues(end + Window::gap_bytes_max, end + 2 * Window::gap_bytes_max));
  EXPECT_FALSE(window_.continues(end + Window::gap_bytes_max + 1, end + 2 * Window::gap_bytes_max));
  EXPECT_TRUE(window_.continues(0, end - 1 - Window::gap_bytes_max));
  EXPECT_FALSE(window_.continues(0, end - 2 - Window::gap_bytes_max));
}

TEST_F(WindowTest, offsets_go_to_the_largest_number) {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  put(most - 3, "abc");
  put(most - 2, "B");
  EXPECT_TRUE(window_.continues(most - Window::gap_bytes_max, most));
  EXPECT_FALSE(window_.continues(0, 1));
  window_.erase(most - 1, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(text(most - 4, most), ".aB.");
}

// Whoever writes single bytes that lie apart does not take all memory, nor all time.
TEST_F(WindowTest, of_a_million_intervals_as_many_are_taken_as_there_is_room_for) {
  constexpr std::size_t all = 1'000'000;
  const io::Payload byte = payload("x");
  std::size_t taken = 0;
  for (std::size_t i = 0; i < all; ++i)
    if (window_.put(2 * i, byte)) ++taken;
  EXPECT_EQ(taken, Window::pieces_max - 1);
  EXPECT_EQ(window_.count(), taken);
  EXPECT_FALSE(window_.put(0, byte)) << "there might be one more afterwards";
  EXPECT_EQ(window_.slab_bytes(), io::small_slab_bytes);
  window_.erase(1, 2 * all);
  EXPECT_EQ(window_.count(), 1U);
  EXPECT_TRUE(window_.put(10, byte));
}

// Against a file of as many bytes, of which each has the number of its put.
TEST_F(WindowTest, it_is_like_an_array) {
  constexpr std::size_t size = 300;
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    window_.clear();
    std::string model(size, '.');
    chunked_ = std::string(size, '#');
    for (int step = 0; step < 30; ++step) {
      const std::uint64_t begin = random() % size, end = begin + 1 + random() % (size - begin);
      const std::string bytes(end - begin, static_cast<char>('a' + step % 26));
      switch (random() % 4) {
        case 0:
          window_.erase(begin, end);
          model.replace(begin, end - begin, std::string(end - begin, '.'));
          break;
        case 1:
          window_.put_chunk(begin, end, &chunk_, window_.last_number());
          for (std::uint64_t i = begin; i < end; ++i)
            if (model[i] != '.' && model[i] != '#') model[i] = '#';
          break;
        default:
          EXPECT_TRUE(window_.put(begin, payload(bytes)));
          model.replace(begin, end - begin, bytes);
      }
      ASSERT_EQ(text(0, size), model) << round << " " << step;
      const auto count = [&](char wanted) {
        return static_cast<std::uint64_t>(std::ranges::count(model, wanted));
      };
      const std::uint64_t held = size - count('.');
      ASSERT_EQ(window_.bytes(), held);
      ASSERT_EQ(window_.bytes_in_memory(), held - count('#'));
    }
  }
  window_.clear();
  EXPECT_EQ(pool_.stats().bytes_used, 0U);
}

}  // namespace
}  // namespace braid::store
