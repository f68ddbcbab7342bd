// Which calls leave the reactor's thread.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "io/gate.h"
#include "page_cache.h"
#include "posix_fixture.h"

namespace braid::vfs {
namespace {

class PlacementTest : public PosixFixture, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "mounts need root";
    const auto mount = mounted(GetParam());
    if (!mount) GTEST_SKIP() << mount.error();
    options_.pool = &pool_;
    clock_.stopped = true;  // how long a call takes is not to matter: StallGovernorTest has that
    start(*mount);
  }
  void TearDown() override {
    PosixFixture::TearDown();
    pool_.stop();
  }

  // Runs one operation on a reactor of this thread.
  template <class MakeOp>
  auto on_reactor(MakeOp make_op) {
    using T = typename std::invoke_result_t<MakeOp&>::value_type;
    std::optional<Outcome<T>> outcome;
    io::Gate gate;
    const auto reactor = io::Reactor::create({}, clock_).value();
    const auto drive = [&]() -> io::Op<> {
      outcome.emplace(co_await make_op().as_result());
      reactor->stop();
    };
    reactor->post([&] { io::spawn(gate, drive()); });
    reactor->run();
    return std::move(*outcome);
  }
  [[nodiscard]] std::uint64_t jobs(io::BlockingReason reason) const {
    return pool_.stats().jobs[static_cast<std::size_t>(reason)];
  }
  [[nodiscard]] std::uint64_t all_jobs() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : pool_.stats().jobs) sum += count;
    return sum;
  }
  Outcome<Found> create_on_reactor(const std::string& name) {
    const CreateHow how{CreateHow::Mode::guarded, with_mode(0644), {}};
    return on_reactor([&] { return fs_->create(who_, root_, name, how, wcc_); });
  }
  Outcome<ReadResult> read_on_reactor(const FileRef& file, std::uint32_t count) {
    const Borrowed lent = fs_->borrow(who_, file);
    return on_reactor([&] { return lent->read(0, count, *cursor_); });
  }
  Outcome<WriteResult> write_on_reactor(const FileRef& file, std::string_view text, Stability stability) {
    const io::Payload data = payload(text);
    const Borrowed lent = fs_->borrow(who_, file);
    return on_reactor([&] { return lent->write(who_, 0, data, stability, &wcc_); });
  }
  [[nodiscard]] bool on_disk() const { return GetParam() != "tmpfs"; }

  io::BlockingPool pool_{{}};
  Credentials who_;
};
BRAID_ON_EVERY_FILE_SYSTEM(PlacementTest);

// Callers write `std::nullopt` in the call, and await what it returns in a later statement.
TEST_P(PlacementTest, the_guard_of_setattr_need_not_outlive_the_call) {
  const FileRef file = create("file")->file;
  const SetAttributes set = with_mode(0600);
  std::optional<Time> guard;
  EXPECT_TRUE(on_reactor([&] {
    VfsOp<> setting = fs_->setattr(who_, file, set, guard, &wcc_);
    guard = Time{1, 1};
    return setting;
  }));
}

TEST_P(PlacementTest, attributes_and_cached_data_cost_no_thread_switch) {
  const test::ReadsNeverRefused cached;
  const FileRef file = create("file")->file;
  ASSERT_TRUE(write(file, "text"));
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(on_reactor([&] { return fs_->resolve(file->handle().view()); }));
    EXPECT_TRUE(on_reactor([&] { return fs_->getattr(file); }));
    EXPECT_EQ(read_on_reactor(file, 100)->data.size(), 4U);
  }
  EXPECT_EQ(jobs(io::BlockingReason::read), 0U);
  EXPECT_EQ(jobs(io::BlockingReason::open), 0U);
}

TEST_P(PlacementTest, data_of_a_file_held_open_costs_no_thread_switch) {
  const test::ReadsNeverRefused cached;
  const FileRef file = create("file")->file;
  const auto open = run(fs_->open(who_, file, OpenAccess::both, OpenRule::caller)).value();
  const io::Payload data = payload("text");
  const std::uint64_t before = all_jobs();
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(on_reactor([&] { return open->write(who_, 0, data, Stability::unstable); }));
    EXPECT_EQ(on_reactor([&] { return open->read(0, 100, *cursor_); })->data.size(), 4U);
  }
  EXPECT_EQ(all_jobs(), before);
  EXPECT_TRUE(on_reactor([&] { return open->write(who_, 0, data, Stability::file_sync); }));
  EXPECT_EQ(jobs(io::BlockingReason::sync), on_disk() ? 1U : 0U);
}

TEST_P(PlacementTest, what_takes_long_runs_in_the_pool_on_memory_file_systems_too) {
  const auto open = run(fs_->open(who_, create("file")->file, OpenAccess::both, OpenRule::caller)).value();
  const std::uint64_t before = jobs(io::BlockingReason::write);
  EXPECT_TRUE(on_reactor([&] { return open->allocate(who_, 0, base::MiB); }));
  EXPECT_EQ(on_reactor([&] { return open->copy_from(who_, *open, 0, base::MiB, base::MiB); }), base::MiB);
  EXPECT_EQ(jobs(io::BlockingReason::write), before + 2);
}

TEST_P(PlacementTest, directories_whose_listings_are_long_are_listed_in_the_pool) {
  const auto list = [this] {
    std::size_t listed = 0;
    const EntrySink sink = [&listed](const DirectoryEntry&) { return ++listed > 0; };
    const ReadDirectoryRequest all{.plus = true};
    EXPECT_TRUE(on_reactor([&] { return fs_->readdir(who_, root_, all, sink); }).value());
    return jobs(io::BlockingReason::directory);
  };
  for (int i = 0; i < 100; ++i) local_write("f" + std::to_string(i), "");
  EXPECT_EQ(list(), 0U) << "nothing is known yet";
  EXPECT_EQ(list(), 1U);
  for (int i = 0; i < 90; ++i) std::filesystem::remove(local("f" + std::to_string(i)));
  EXPECT_EQ(list(), 2U);
  EXPECT_EQ(list(), 2U) << "short again";
}

TEST_P(PlacementTest, what_waits_for_the_medium_goes_to_the_pool) {
  const auto file = create_on_reactor("file");
  ASSERT_TRUE(file);
  ASSERT_TRUE(wcc_.before && wcc_.after);
  EXPECT_EQ(jobs(io::BlockingReason::sync), on_disk() ? 1U : 0U);
  EXPECT_EQ(write_on_reactor(file->file, "text", Stability::file_sync)->count, 4U);
  EXPECT_EQ(jobs(io::BlockingReason::sync), on_disk() ? 2U : 0U);
  const Borrowed lent = fs_->borrow(who_, file->file);
  EXPECT_TRUE(on_reactor([&] { return lent->commit(who_, 0, 0, &wcc_); }));
  EXPECT_EQ(jobs(io::BlockingReason::sync), on_disk() ? 3U : 0U);
}

TEST_P(PlacementTest, data_outside_the_page_cache_is_read_in_the_pool) {
  const std::string text(300000, 'x');
  const FileRef file = create("file")->file;
  ASSERT_TRUE(write(file, text));
  const base::UniqueFd local(::open(this->local("file").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::fsync(local.get()), 0);
  // Some file systems keep pages, and the medium may be so quick that nobody has to wait for it: tried often.
  for (int tries = 0; tries < (on_disk() ? 1000 : 10) && jobs(io::BlockingReason::read) == 0; ++tries) {
    ASSERT_EQ(::posix_fadvise(local.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
    const auto got = read_on_reactor(file, 300000);
    ASSERT_TRUE(got);
    EXPECT_TRUE(got->eof);
    std::string read(got->data.size(), '\0');
    got->data.in_memory().value().copy_to(0, std::as_writable_bytes(std::span(read)));
    EXPECT_EQ(read, text);
  }
  EXPECT_EQ(jobs(io::BlockingReason::read), on_disk() ? 1U : 0U);
}

TEST_P(PlacementTest, without_sync_changes_stay_inline_while_they_are_fast) {
  options_.tree.sync = false;
  restart();
  EXPECT_TRUE(create_on_reactor("file"));
  EXPECT_EQ(jobs(io::BlockingReason::sync), 0U);
}

TEST_P(PlacementTest, an_unknown_file_system_never_runs_on_the_reactor) {
  options_.placement = posix::PlacementPolicy::pool_always;
  restart();
  const auto file = create_on_reactor("file");
  ASSERT_TRUE(file);
  EXPECT_EQ(write_on_reactor(file->file, "text", Stability::unstable)->count, 4U);
  EXPECT_EQ(read_on_reactor(file->file, 3)->data.size(), 3U);
  EXPECT_TRUE(on_reactor([&] { return fs_->getattr(file->file); }));
  EXPECT_EQ(on_reactor([&] { return fs_->lookup(who_, root_, "none"); }).error(), Error::noent);
  EXPECT_GE(all_jobs(), 6U);
  const auto open =
      on_reactor([&] { return fs_->open(who_, file->file, OpenAccess::read, OpenRule::caller); });
  ASSERT_TRUE(open);
  EXPECT_EQ(on_reactor([&] { return (*open)->read(1, 100, *cursor_); })->data.size(), 3U);
  EXPECT_GE(all_jobs(), 8U);
}

TEST_P(PlacementTest, the_caller_s_identity_goes_along_into_the_pool) {
  options_.placement = posix::PlacementPolicy::pool_always;
  restart();
  who_ = user(1001, 1001);
  EXPECT_EQ(create_on_reactor("file").error(), Error::acces);
}

TEST_P(PlacementTest, a_pool_that_takes_no_more_answers_delay) {
  options_.placement = posix::PlacementPolicy::pool_always;
  restart();
  pool_.stop();
  EXPECT_EQ(create_on_reactor("file").error(), Error::delay);
  EXPECT_EQ(read_on_reactor(root_, 1).error(), Error::delay);
}

}  // namespace
}  // namespace braid::vfs
