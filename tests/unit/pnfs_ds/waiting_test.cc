#include "pnfs_ds/waiting.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "base/unique_fd.h"
#include "pnfs_ds/object_files.h"
#include "pnfs_ds/objects.h"
#include "tests/unit/rpc/loop.h"
#include "vfs/memory/file_system.h"
#include "vfs/memory/recorder.h"

namespace braid::pnfs_ds {
namespace {

class WaitingTest : public testing::Test {
 protected:
  template <class F>
  void run(F body) {
    loop_.run(body);
  }
  io::Op<> settle() {
    for (int i = 0; i < 5; ++i) co_await loop_.reactor().sleep(std::chrono::milliseconds(1));
  }
  base::SystemClock clock_;
  rpc::test::Loop loop_{clock_};
  io::Gate gate_;
  std::vector<int> order_;
};

TEST_F(WaitingTest, turns_are_taken_one_by_one_and_in_order) {
  Turn turn;
  const auto work = [&](int number) -> io::Op<> {
    const Turn::Hold hold = co_await turn.take();
    order_.push_back(number);
    co_await settle();
    order_.push_back(-number);
  };
  run([&]() -> io::Op<> {
    for (const int number : {1, 2, 3}) io::spawn(gate_, work(number));
    co_await gate_.drained();
  });
  EXPECT_THAT(order_, testing::ElementsAre(1, -1, 2, -2, 3, -3));
}

TEST_F(WaitingTest, what_had_begun_is_waited_for_and_what_comes_later_is_not) {
  RunningIo running;
  const auto wait = [&](int number) -> io::Op<> {
    co_await running.earlier_ended();
    order_.push_back(number);
  };
  run([&]() -> io::Op<> {
    co_await running.earlier_ended();  // there is nothing
    std::optional<RunningIo::Hold> first(std::in_place, running);
    io::spawn(gate_, wait(1));
    std::optional<RunningIo::Hold> second(std::in_place, running);
    io::spawn(gate_, wait(2));
    std::optional<RunningIo::Hold> third(std::in_place, running);
    co_await settle();
    EXPECT_THAT(order_, testing::IsEmpty());
    first.reset();
    co_await settle();
    EXPECT_THAT(order_, testing::ElementsAre(1));
    second.reset();
    third.reset();
    co_await settle();
    EXPECT_THAT(order_, testing::ElementsAre(1, 2));
    EXPECT_TRUE(running.idle());
    co_await gate_.drained();
  });
}

TEST_F(WaitingTest, objects_are_files_of_any_file_system) {
  io::SlabPool pool({.bytes_max = 8 * base::MiB, .huge_pages = false});
  io::SlabCursor cursor(pool);
  vfs::memory::Storage storage(vfs::ExportId(1));
  vfs::memory::Recorder recorder;
  ObjectFiles files(std::make_shared<vfs::memory::MemoryFileSystem>(storage, recorder), {}, true);
  const ObjectKey key{pnfs::ObjectId(0x1234), 2};
  EXPECT_EQ(shard_name(key), "34");
  EXPECT_EQ(object_name(key), "0000000000001234.0002");
  run([&]() -> io::Op<> {
    const auto none = co_await files.open(key).as_result();
    EXPECT_TRUE(none && !*none);
    const ObjectOwner owner{.uid = 5, .gid = 6};
    const auto made = co_await files.make(key, owner, pnfs::ClusterId()).as_result();
    EXPECT_TRUE(made);
    EXPECT_EQ(made->owner.uid, 5U);
    const auto there = co_await files.open(key).as_result();
    EXPECT_TRUE(there && *there);
    EXPECT_EQ((*there)->owner.gid, 6U);
    const auto removed = co_await files.remove(key).as_result();
    EXPECT_TRUE(removed);
    const auto again = co_await files.remove(key).as_result();
    EXPECT_TRUE(again);
    const auto gone = co_await files.open(key).as_result();
    EXPECT_TRUE(gone && !*gone);
  });
}

// A WRITE that was let in before a truncation must not land after it.
TEST_F(WaitingTest, a_truncation_waits_for_writes_that_are_under_way) {
  io::SlabPool pool({.bytes_max = 8 * base::MiB, .huge_pages = false});
  io::BlockingPool blocking({.threads_max = 1});
  io::SlabCursor cursor(pool);
  vfs::memory::Storage storage(vfs::ExportId(1));
  vfs::memory::Recorder recorder;
  std::string path = std::filesystem::temp_directory_path() / "braid-waiting-XXXXXX";
  ASSERT_NE(::mkdtemp(path.data()), nullptr);
  const base::UniqueFd state(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  FenceTable table;
  const auto log = FenceLog::open(state.get(), table, blocking).value();
  Objects objects({.files = std::make_shared<vfs::memory::MemoryFileSystem>(storage, recorder),
                   .server = {},
                   .sets_owner = true,
                   .objects_max = 4,
                   .fences = table,
                   .log = *log,
                   .cluster = [] { return pnfs::ClusterId{}; }});
  const ObjectKey key{pnfs::ObjectId(1), 0};
  io::SlabRange bytes = cursor.carve(8).value();
  std::ranges::fill(bytes.writable(), std::byte{'x'});
  const auto write = [&]() -> io::Op<> {
    Objects::Use use(objects, key);
    use.begin();
    auto made = co_await objects.make(use, ObjectOwner()).as_result();
    EXPECT_EQ(objects.calls(), 1U);
    Objects::Opened opened = made.value();
    recorder.park(true);
    const auto done =
        co_await objects.write(use, std::move(opened), 0, io::Payload(bytes), vfs::Stability::unstable)
            .as_result();
    EXPECT_TRUE(done);
    order_.push_back(1);
  };
  const auto truncate = [&]() -> io::Op<> {
    std::vector<FenceRecord> fences(1, EpochFence{key, pnfs::Epoch(2), pnfs::GrantNumber(9)});
    const auto fenced = co_await objects.fence(std::move(fences)).as_result();
    EXPECT_TRUE(fenced);
    order_.push_back(2);
    const auto cut = co_await objects.cut(key, 1, 3).as_result();
    EXPECT_TRUE(cut);
    order_.push_back(3);
  };
  run([&]() -> io::Op<> {
    io::spawn(gate_, write());
    co_await settle();
    io::spawn(gate_, truncate());
    while (table.size() == 0) co_await loop_.reactor().sleep(std::chrono::milliseconds(1));
    co_await settle();
    EXPECT_THAT(order_, testing::IsEmpty());
    recorder.park(false);
    recorder.resume_one();
    co_await gate_.drained();
    const auto now = co_await objects.stat(key, false).as_result();
    EXPECT_EQ(now->end, 3U);
  });
  EXPECT_THAT(order_, testing::ElementsAre(1, 2, 3));
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace braid::pnfs_ds
