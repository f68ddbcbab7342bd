#include "vfs/faulty/faulty.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "io/gate.h"
#include "io/reactor.h"
#include "vfs/posix/file_system.h"

namespace braid::vfs {
namespace {

using namespace std::chrono_literals;

class FaultyTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/faulty-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    posix::PosixOptions options;
    options.directory = directory_;
    options.slabs = &slabs_;
    options.tree.sync = false;
    faulty_ = std::make_shared<FaultyFileSystem>(posix::PosixFileSystem::open(options, clock_).value());
    root_ = faulty_->root();
  }
  void TearDown() override {
    root_ = {};
    faulty_.reset();
    std::filesystem::remove_all(directory_);
  }
  template <class T>
  static base::Result<T, Error> run(VfsOp<T> op) {
    op.start({});
    return std::move(op.result());
  }
  [[nodiscard]] base::Result<Attributes, Error> getattr() const { return run(faulty_->getattr(root_)); }

  base::SystemClock clock_;
  io::SlabPool slabs_{{}};
  std::string directory_;
  std::shared_ptr<FaultyFileSystem> faulty_;
  FileRef root_;
  Credentials who_;
};

TEST_F(FaultyTest, without_faults_calls_go_through) {
  EXPECT_TRUE(getattr());
  EXPECT_EQ(faulty_->calls(Operation::getattr), 1U);
  EXPECT_EQ(faulty_->calls(Operation::lookup), 0U);
}

TEST_F(FaultyTest, a_fault_hits_the_chosen_calls_only) {
  faulty_->inject({.operation = Operation::getattr, .skip = 1, .times = 2, .error = Error::io});
  EXPECT_TRUE(getattr());
  EXPECT_EQ(getattr().error(), Error::io);
  EXPECT_EQ(run(faulty_->lookup(who_, root_, ".")).value().attributes.type, FileType::directory);
  EXPECT_EQ(getattr().error(), Error::io);
  EXPECT_TRUE(getattr());
}

TEST_F(FaultyTest, faults_of_one_operation_follow_each_other) {
  for (const Error error : {Error::nospc, Error::dquot, Error::rofs})
    faulty_->inject({.operation = Operation::getattr, .error = error});
  EXPECT_EQ(getattr().error(), Error::nospc);
  EXPECT_EQ(getattr().error(), Error::dquot);
  EXPECT_EQ(getattr().error(), Error::rofs);
  EXPECT_TRUE(getattr());
}

TEST_F(FaultyTest, an_error_may_come_before_or_after_the_effect) {
  Wcc wcc;
  SetAttributes set;
  set.mode = 0700;
  faulty_->inject({.operation = Operation::mkdir, .error = Error::io});
  EXPECT_EQ(run(faulty_->mkdir(who_, root_, "before", set, wcc)).error(), Error::io);
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/before"));
  faulty_->inject({.operation = Operation::mkdir, .error = Error::io, .after_effect = true});
  EXPECT_EQ(run(faulty_->mkdir(who_, root_, "after", set, wcc)).error(), Error::io);
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/after"));
}

TEST_F(FaultyTest, a_delayed_call_lets_others_pass) {
  auto reactor = io::Reactor::create({}, clock_).value();
  io::Gate gate;
  std::vector<int> order;
  faulty_->inject({.operation = Operation::getattr, .delay = 20ms});
  const auto call = [&](int number, std::size_t last) -> io::Op<> {
    (void)co_await faulty_->getattr(root_).as_result();
    order.push_back(number);
    if (order.size() == last) reactor->stop();
  };
  reactor->post([&] {
    io::spawn(gate, call(1, 2));
    io::spawn(gate, call(2, 2));
  });
  reactor->run();
  EXPECT_EQ(order, (std::vector{2, 1}));
}

TEST_F(FaultyTest, files_held_open_go_through_and_fail_on_demand) {
  Wcc wcc;
  const CreateHow how;
  const auto made = run(faulty_->open_create(who_, root_, "file", OpenAccess::both, how, wcc)).value();
  const LockOwnerId owner(1);
  faulty_->inject({.operation = Operation::lock, .error = Error::delay});
  EXPECT_EQ(run(faulty_->lock(made.open, owner, {}, LockType::write)).error(), Error::delay);
  EXPECT_EQ(run(faulty_->lock(made.open, owner, {}, LockType::write)).value(), std::nullopt);
  EXPECT_EQ(run(faulty_->test_lock(made.open->file(), LockOwnerId(2), {}, LockType::read)).value()->owner,
            owner);
  faulty_->inject({.operation = Operation::open, .error = Error::io, .after_effect = true});
  EXPECT_EQ(run(faulty_->open(who_, made.open->file(), OpenAccess::read, OpenRule::caller)).error(),
            Error::io);
  EXPECT_EQ(faulty_->calls(Operation::open_create), 1U);
}

}  // namespace
}  // namespace braid::vfs
