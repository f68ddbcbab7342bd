// An index on a file system that is full for a while.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/big_endian.h"
#include "store/chunks/index.h"
#include "tests/unit/vfs/sandbox.h"

namespace braid::store::test {
namespace {

hashing::Digest id_of(std::uint32_t number) {
  hashing::Digest out;
  base::store_be<std::uint32_t>(out.bytes, 0, number * 2654435761U);  // in no order
  return out;
}

class FullIndexTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto mounted = vfs::mount_tmpfs("size=32m");
    if (!mounted) GTEST_SKIP() << mounted.error();
    place_ = *mounted;
  }
  [[nodiscard]] std::unique_ptr<Index> opened() const {
    auto out = Index::open(place_ + "/index", {.cache_bytes = base::MiB, .buffer_bytes = 256 * base::KiB});
    return out ? std::move(*out) : nullptr;
  }
  void fill() const {
    std::ofstream full(place_ + "/filler", std::ios::binary);
    const std::string page(4096, 'x');
    while (full.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) {
    }
  }
  void make_room() const { std::filesystem::remove(place_ + "/filler"); }
  // As long as it takes: it does not try again and again.
  static void put_until_found(Index& index, std::uint32_t number) {
    while (!index.find(id_of(number))) {
      ::usleep(1000);
      index.put(id_of(number), {0, 2, number});
    }
  }

  std::string place_;
};

TEST_F(FullIndexTest, goes_on_when_there_is_room_again) {
  constexpr std::uint32_t many = 100'000;
  {
    const auto index = opened();
    fill();
    for (std::uint32_t i = 0; i < many; ++i) index->put(id_of(i), {0, 1, i});
    EXPECT_TRUE(index->has_lost()) << "it was never full";
    make_room();
    put_until_found(*index, many);
  }
  EXPECT_EQ(opened()->find(id_of(many)), (Location{0, 2, many})) << "it was made anew";
}

TEST_F(FullIndexTest, is_read_where_there_is_no_room_to_open_it) {
  opened()->put(id_of(1), {0, 1, 64});
  fill();
  {
    const auto index = opened();
    ASSERT_NE(index, nullptr);
    EXPECT_EQ(index->find(id_of(1)), (Location{0, 1, 64}));
    index->put(id_of(2), {0, 1, 64});
    EXPECT_FALSE(index->find(id_of(2)));
    index->flush();
    make_room();
    put_until_found(*index, 3);
    EXPECT_EQ(index->find(id_of(1)), (Location{0, 1, 64}));
  }
  EXPECT_EQ(opened()->find(id_of(3)), (Location{0, 2, 3}));
}

TEST_F(FullIndexTest, is_not_filled_where_there_is_no_room) {
  const auto index = opened();
  fill();
  std::vector<Index::Entry> entries;
  for (std::uint32_t i = 0; i < 20'000; ++i) entries.push_back({id_of(i), {0, 1, i}});
  EXPECT_FALSE(index->put_many(entries));
  EXPECT_FALSE(index->find(id_of(7)));
  EXPECT_FALSE(index->has_lost()) << "whoever puts so many knows it";
  make_room();
  EXPECT_TRUE(index->put_many(entries));
  EXPECT_EQ(index->find(id_of(7)), (Location{0, 1, 7}));
}

}  // namespace
}  // namespace braid::store::test
