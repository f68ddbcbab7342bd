#include "io/slab.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

namespace braid::io {
namespace {

TEST(SlabTest, slabs_are_aligned_to_their_size_and_do_not_overlap) {
  SlabPool pool({.bytes_max = 16 * base::MiB});
  std::vector<SlabRef> held;
  std::map<std::byte*, std::size_t> seen;
  for (SlabSize size : {SlabSize::small, SlabSize::large, SlabSize::small, SlabSize::large}) {
    held.push_back(pool.acquire(size).value());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(held.back().data()) % bytes_of(size), 0U);
    seen[held.back().data()] = bytes_of(size);
  }
  std::byte* end = nullptr;
  for (auto [start, bytes] : seen) {
    EXPECT_GE(start, end);
    end = start + bytes;
  }
}

TEST(SlabTest, the_last_slab_given_back_is_handed_out_first) {
  SlabPool pool({});
  SlabRef first = pool.acquire(SlabSize::large).value();
  SlabRef second = pool.acquire(SlabSize::large).value();
  std::byte* data = first.data();
  first = {};
  EXPECT_EQ(pool.acquire(SlabSize::large).value().data(), data);
}

TEST(SlabTest, a_pool_in_use_refuses_and_recovers) {
  SlabPool pool({.bytes_max = 2 * region_bytes});
  std::vector<SlabRef> held;
  for (;;) {
    auto slab = pool.acquire(SlabSize::large);
    if (!slab) {
      EXPECT_EQ(slab.error(), base::errno_of(ENOBUFS));
      break;
    }
    held.push_back(std::move(*slab));
  }
  EXPECT_EQ(held.size() * large_slab_bytes, 2 * region_bytes);
  EXPECT_EQ(pool.stats().exhausted, 1U);
  held.pop_back();
  EXPECT_TRUE(pool.acquire(SlabSize::large));
}

TEST(SlabTest, what_was_needed_in_one_size_is_there_in_the_other_once_it_is_free) {
  SlabPool pool({.bytes_max = 2 * region_bytes});
  const auto fill = [&](SlabSize size) {
    std::vector<SlabRef> held;
    while (auto slab = pool.acquire(size)) held.push_back(std::move(*slab));
    return held;
  };
  for (int round = 0; round < 2; ++round)
    for (const SlabSize size : {SlabSize::small, SlabSize::large})
      EXPECT_EQ(fill(size).size() * bytes_of(size), 2 * region_bytes);

  // A region that somebody has a part of stays as it is.
  std::vector<SlabRef> small = fill(SlabSize::small);
  SlabRef last = small.back();
  small.clear();
  std::vector<SlabRef> large = fill(SlabSize::large);
  EXPECT_EQ(large.size() * large_slab_bytes, region_bytes);
  for (const SlabRef& slab : large) EXPECT_NE(slab.region(), last.region());
  EXPECT_EQ(last.bytes(), small_slab_bytes);
  EXPECT_EQ(pool.stats().bytes_mapped, 2 * region_bytes);
}

TEST(SlabTest, a_shared_slab_returns_with_its_last_reference) {
  SlabPool pool({});
  SlabRef first = pool.acquire(SlabSize::small).value();
  {
    SlabRef second = first;
    EXPECT_FALSE(first.unique());
  }
  EXPECT_TRUE(first.unique());
  EXPECT_EQ(pool.stats().bytes_used, small_slab_bytes);
  first = {};
  EXPECT_EQ(pool.stats().bytes_used, 0U);
}

class CountingRegistrar final : public SlabRegistrar {
 public:
  base::Result<void> register_region(std::uint32_t index, base::MutableBytes region) override {
    if (refuse) return base::fail(ENOMEM);
    regions[index] = region;
    return {};
  }
  void unregister_region(std::uint32_t index) override { regions.erase(index); }
  std::map<std::uint32_t, base::MutableBytes> regions;
  bool refuse = false;
};

TEST(SlabTest, every_slab_lies_in_a_region_that_registrars_know) {
  SlabPool pool({});
  SlabRef early = pool.acquire(SlabSize::small).value();
  CountingRegistrar registrar;
  ASSERT_TRUE(pool.add_registrar(&registrar));
  SlabRef late = pool.acquire(SlabSize::large).value();
  for (const SlabRef* slab : {&early, &late}) {
    base::MutableBytes region = registrar.regions.at(slab->region());
    EXPECT_GE(slab->data(), region.data());
    EXPECT_LE(slab->data() + slab->bytes(), region.data() + region.size());
  }
  pool.remove_registrar(&registrar);
  EXPECT_TRUE(registrar.regions.empty());
}

TEST(SlabTest, a_region_that_cannot_be_registered_is_not_used) {
  SlabPool pool({});
  CountingRegistrar willing;
  CountingRegistrar refusing;
  ASSERT_TRUE(pool.add_registrar(&willing));
  ASSERT_TRUE(pool.add_registrar(&refusing));
  refusing.refuse = true;
  EXPECT_EQ(pool.acquire(SlabSize::large).error(), base::errno_of(ENOMEM));
  EXPECT_TRUE(willing.regions.empty());
  pool.remove_registrar(&refusing);
  pool.remove_registrar(&willing);
}

TEST(SlabTest, carved_ranges_are_adjacent_and_trimmed_tails_are_used_again) {
  SlabPool pool({});
  SlabCursor cursor(pool);
  SlabRange first = cursor.carve(1000).value();
  cursor.trim(first, 100);
  SlabRange second = cursor.carve(50).value();
  EXPECT_EQ(second.offset, first.offset + 100);
  EXPECT_EQ(second.slab.get(), first.slab.get());
}

TEST(SlabTest, a_cursor_refills_its_slab_once_nobody_uses_it) {
  SlabPool pool({});
  SlabCursor cursor(pool);
  for (int i = 0; i < 100; ++i) {
    SlabRange range = cursor.carve(40'000).value();
    EXPECT_EQ(range.offset, 0U);
  }
  EXPECT_EQ(pool.stats().bytes_used, small_slab_bytes);
}

TEST(SlabTest, several_threads_take_and_give_back_slabs_of_one_pool) {
  SlabPool pool({});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&pool, i] {
      for (int j = 0; j < 1000; ++j) {
        const auto slab = pool.acquire((i + j) % 2 == 0 ? SlabSize::small : SlabSize::large);
        ASSERT_TRUE(slab);
        *slab->data() = std::byte{1};
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool.stats().bytes_used, 0U);
}

TEST(SlabTest, references_may_be_dropped_on_any_thread) {
  SlabPool pool({});
  SlabRef slab = pool.acquire(SlabSize::small).value();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([copy = slab] {
      for (int j = 0; j < 1000; ++j) SlabRef again = copy;
    });
  slab = {};
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  EXPECT_EQ(pool.stats().bytes_used, 0U);
}

}  // namespace
}  // namespace braid::io
