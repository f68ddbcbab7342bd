#include "vfs/posix/handle_memo.h"

#include <gtest/gtest.h>

namespace braid::vfs::posix {
namespace {

constexpr base::WallTime now{std::chrono::seconds(1000)};

Stat born(std::uint64_t fileid, std::int64_t second, std::uint32_t nanosecond = 0) {
  Stat stat{};
  stat.stx_mask = STATX_BTIME;
  stat.stx_ino = fileid;
  stat.stx_mnt_id = 7;
  stat.stx_btime.tv_sec = second;
  stat.stx_btime.tv_nsec = nanosecond;
  return stat;
}

FileHandle handle(std::uint8_t text) {
  FileHandle out;
  out.size = 20;
  out.bytes.fill(static_cast<std::byte>(text));
  return out;
}

TEST(HandleMemoTest, what_was_remembered_is_known_by_number_mount_and_birth) {
  HandleMemo memo;
  EXPECT_FALSE(memo.find(5));
  memo.remember(born(5, 10, 3), handle('a'), 77, now);
  const auto known = memo.find(5);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->handle, handle('a'));
  EXPECT_EQ(known->fsid, 77U);
  EXPECT_TRUE(known->is(born(5, 10, 3)));
  EXPECT_FALSE(known->is(born(5, 10, 4)));
  EXPECT_FALSE(known->is(born(5, 11, 3)));
  Stat elsewhere = born(5, 10, 3);
  elsewhere.stx_mnt_id = 8;
  EXPECT_FALSE(known->is(elsewhere));
  Stat unknown = born(5, 10, 3);
  unknown.stx_mask = 0;
  EXPECT_FALSE(known->is(unknown));
}

TEST(HandleMemoTest, the_young_and_those_without_a_birth_are_not_remembered) {
  HandleMemo memo;
  memo.remember(born(5, 999), handle('a'), 0, now);
  EXPECT_FALSE(memo.find(5));
  Stat without = born(6, 10);
  without.stx_mask = 0;
  memo.remember(without, handle('a'), 0, now);
  EXPECT_FALSE(memo.find(6));
  memo.remember(born(7, 998), handle('a'), 0, now);
  EXPECT_TRUE(memo.find(7));
}

TEST(HandleMemoTest, a_later_incarnation_takes_the_place) {
  HandleMemo memo;
  memo.remember(born(5, 10), handle('a'), 0, now);
  memo.remember(born(5, 20), handle('b'), 0, now);
  EXPECT_EQ(memo.find(5)->handle, handle('b'));
}

TEST(HandleMemoTest, many_are_remembered_and_memory_is_bounded) {
  HandleMemo memo;
  constexpr std::uint64_t many = 10'000;
  for (std::uint64_t i = 1; i <= many; ++i) memo.remember(born(i, 10), handle('a'), i, now);
  std::uint64_t known = 0;
  for (std::uint64_t i = 1; i <= many; ++i) {
    const auto found = memo.find(i);
    if (!found) continue;
    EXPECT_EQ(found->fsid, i);
    ++known;
  }
  EXPECT_GT(known, many / 2);
  constexpr std::uint64_t more = 3 * HandleMemo::shards_max * HandleMemo::entries_max;
  for (std::uint64_t i = 1; i <= more; ++i) memo.remember(born(i, 10), handle('a'), i, now);
  known = 0;
  for (std::uint64_t i = 1; i <= more; ++i) known += memo.find(i).has_value() ? 1U : 0U;
  EXPECT_LE(known, HandleMemo::shards_max * HandleMemo::entries_max);
}

}  // namespace
}  // namespace braid::vfs::posix
