// Copies in the background: their stateids, their end, and who hears of it.
#include "nfs4/copy_jobs.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "nfs4/state/state_id.h"
#include "vfs/faulty.h"
#include "vfs/posix/file_system.h"

namespace braid::nfs4 {
namespace {

constexpr clientid4 alice = 7;
constexpr clientid4 bob = 8;

class CopyJobsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/copies-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    std::ofstream(directory_ + "/from") << text_;
    std::ofstream(directory_ + "/to");
    vfs::posix::PosixOptions options;
    options.directory = directory_;
    options.slabs = &slabs_;
    options.tree.sync = false;
    fs_ = std::make_shared<vfs::FaultyFileSystem>(vfs::posix::PosixFileSystem::open(options, clock_).value());
    reactor_ = io::Reactor::create({.ring_entries = 16}, clock_).value();
    thread_ = std::jthread([this] { reactor_->run(); });
    make_jobs({});
  }
  void TearDown() override {
    close_jobs();
    jobs_.reset();
    reactor_->stop();
    thread_.join();
    fs_.reset();
    std::filesystem::remove_all(directory_);
  }
  void make_jobs(const CopyJobLimits& limits) {
    CopyCallbacks callbacks{.reachable = [this](clientid4 /*client*/) { return reachable_; },
                            .tell = [this](clientid4 client, CB_OFFLOAD4args args) -> io::Op<bool> {
                              told_.push_back({client, args.coa_stateid, args.coa_offload_info});
                              return answers_;
                            }};
    jobs_.emplace(*reactor_, std::move(callbacks), 5, limits);
  }
  template <class T>
  static T run(vfs::VfsOp<T> op) {
    op.start();
    return std::move(op.result()).value();
  }
  vfs::OpenFileRef open(std::string_view name, vfs::OpenAccess access) {
    const vfs::Credentials who;
    const vfs::FileRef root = fs_->root();
    const vfs::FileRef file = run(fs_->lookup(who, root, name)).file;
    return run(fs_->open(who, file, access, vfs::OpenRule::caller));
  }
  std::optional<stateid4> start(clientid4 client = alice) {
    return jobs_->start({.client = client,
                         .fs = fs_,
                         .who = {},
                         .from = open("from", vfs::OpenAccess::read),
                         .to = open("to", vfs::OpenAccess::write),
                         .from_offset = 0,
                         .to_offset = 0,
                         .length = text_.size()});
  }
  // Calls f on the reactor's thread, where nothing else runs meanwhile.
  template <class F>
  auto on_reactor(F f) {
    std::packaged_task<std::invoke_result_t<F>()> task(std::move(f));
    auto result = task.get_future();
    reactor_->post(std::function<void()>([&task] { task(); }));
    return result.get();
  }
  // Waits for `done`, asked on the reactor's thread.
  template <class F>
  void until(F done) {
    while (!on_reactor(done)) std::this_thread::yield();
  }
  void close_jobs() {
    std::optional<io::Op<>> closing;
    on_reactor([&] {
      closing.emplace(jobs_->close());
      closing->start();
    });
    until([&] { return closing->done(); });
  }
  [[nodiscard]] std::string copied() const {
    std::ostringstream out;
    out << std::ifstream(directory_ + "/to").rdbuf();
    return out.str();
  }

  struct Told {
    clientid4 client = 0;
    stateid4 id;
    offload_info4 info;
  };
  const std::string text_ = std::string(10 * base::MiB, 'x') + "end";
  base::SystemClock clock_;
  io::SlabPool slabs_{{.bytes_max = io::region_bytes, .huge_pages = false}};
  std::string directory_;
  std::shared_ptr<vfs::FaultyFileSystem> fs_;
  std::unique_ptr<io::Reactor> reactor_;
  std::jthread thread_;  // of the reactor
  std::optional<CopyJobs> jobs_;
  std::vector<Told> told_;
  bool reachable_ = true;
  bool answers_ = true;
};

TEST_F(CopyJobsTest, a_copy_goes_to_its_end_and_the_client_is_told) {
  const auto id = start();
  ASSERT_TRUE(id);
  EXPECT_EQ(state::unpack(id->other)->kind, state::StateKind::copy);
  until([&] { return !told_.empty(); });
  EXPECT_EQ(copied(), text_);
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].client, alice);
  EXPECT_EQ(told_[0].id.other, id->other);
  ASSERT_NE(told_[0].info.coa_resok4(), nullptr);
  EXPECT_EQ(told_[0].info.coa_resok4()->wr_count, text_.size());
  until([&] { return !jobs_->status(alice, *id); });
}

TEST_F(CopyJobsTest, only_the_client_that_began_it_may_ask_and_cancel) {
  on_reactor([&] {
    const auto id = start();
    EXPECT_TRUE(jobs_->status(alice, *id));
    EXPECT_FALSE(jobs_->status(alice, *id)->ended);
    EXPECT_FALSE(jobs_->status(bob, *id));
    EXPECT_FALSE(jobs_->cancel(bob, *id));
    stateid4 other = *id;
    other.seqid = 2;
    EXPECT_FALSE(jobs_->status(alice, other));
    EXPECT_TRUE(jobs_->cancel(alice, *id));
    EXPECT_FALSE(jobs_->status(alice, *id));
  });
}

TEST_F(CopyJobsTest, a_cancelled_copy_is_not_reported) {
  EXPECT_TRUE(on_reactor([&] { return jobs_->cancel(alice, start().value()); }));
  close_jobs();
  EXPECT_TRUE(told_.empty());
  EXPECT_LT(copied().size(), text_.size());
}

TEST_F(CopyJobsTest, the_copies_of_a_client_that_goes_end_and_those_of_others_go_on) {
  std::optional<stateid4> gone;
  std::optional<stateid4> stays;
  on_reactor([&] {
    gone = start(alice);
    stays = start(bob);
    jobs_->cancel_all(alice);
    EXPECT_FALSE(jobs_->status(alice, *gone));
    EXPECT_TRUE(jobs_->status(bob, *stays));
  });
  until([&] { return !told_.empty(); });
  close_jobs();
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].client, bob);
}

TEST_F(CopyJobsTest, a_failure_is_reported_with_what_was_copied) {
  fs_->inject({.operation = vfs::Operation::copy, .skip = 1, .times = 1, .error = vfs::Error::nospc});
  ASSERT_TRUE(start());
  until([&] { return !told_.empty(); });
  EXPECT_EQ(told_[0].info.coa_status, nfsstat4::NFS4ERR_NOSPC);
  ASSERT_NE(told_[0].info.coa_bytes_copied(), nullptr);
  EXPECT_EQ(*told_[0].info.coa_bytes_copied(), 4 * base::MiB);
}

TEST_F(CopyJobsTest, a_client_that_does_not_answer_may_still_ask) {
  answers_ = false;
  const auto id = start();
  until([&] { return !told_.empty(); });
  const auto status = jobs_->status(alice, *id);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->ended, nfsstat4::NFS4_OK);
  EXPECT_EQ(status->copied, text_.size());
}

TEST_F(CopyJobsTest, there_are_so_many_of_a_client_and_ended_ones_give_way) {
  make_jobs({.per_client = 2, .together = 3});
  answers_ = false;
  std::optional<stateid4> first;
  on_reactor([&] {
    first = start();
    EXPECT_TRUE(start());
    EXPECT_FALSE(start()) << "two are running";
    EXPECT_TRUE(start(bob));
    EXPECT_FALSE(start(9)) << "three are running";
  });
  until([&] { return told_.size() >= 3; });
  EXPECT_TRUE(start(9));
  EXPECT_FALSE(jobs_->status(alice, *first)) << "the oldest one that ended";
}

TEST_F(CopyJobsTest, without_a_way_to_the_client_nothing_begins) {
  reachable_ = false;
  EXPECT_FALSE(start());
  reachable_ = true;
  close_jobs();
  EXPECT_FALSE(start());
}

}  // namespace
}  // namespace braid::nfs4
