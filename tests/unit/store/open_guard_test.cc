// Other programs that open sealed files.
#include "store/content/open_guard.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "tests/unit/store/seal_fixture.h"
#include "tests/unit/vfs/posix_fixture.h"

namespace braid::store::test {
namespace {

class OpenGuardTest : public SealFixture, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    const std::string why = begin(GetParam());
    if (!why.empty()) GTEST_SKIP() << why;
    write("sealed", noise(100'000, 1));
    write("plain", noise(100'000, 2));
    ASSERT_EQ(seal({"sealed"}), SealOutcome::sealed);
    auto started = OpenGuard::start();
    ASSERT_TRUE(started) << base::message_of(started.error());
    guard_ = std::move(*started);
    ASSERT_TRUE(guard_->watch(tree_));
  }
  void TearDown() override { guard_.reset(); }
  // Whether another program can read the file.
  [[nodiscard]] bool others_read(const std::string& name) const {
    return ::system(("cat '" + path(name) + "' > /dev/null 2>&1").c_str()) == 0;
  }
  // Errno of open() in a process of this program; 0: it can.
  [[nodiscard]] int child_opens(const std::string& name) const {
    const std::string file = path(name);
    const pid_t child = ::fork();
    if (child == 0) ::_exit(::open(file.c_str(), O_RDONLY | O_CLOEXEC) >= 0 ? 0 : errno);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
  }

  std::unique_ptr<OpenGuard> guard_;
};

TEST_P(OpenGuardTest, another_program_opens_no_sealed_file) {
  EXPECT_FALSE(others_read("sealed"));
  EXPECT_TRUE(others_read("plain"));
  EXPECT_EQ(guard_->counts().refused, 1U);
  const std::vector<OpenGuard::Refusal> refusals = guard_->take_refusals();
  ASSERT_EQ(refusals.size(), 1U);
  EXPECT_EQ(refusals[0].program, "cat");
  EXPECT_GT(refusals[0].process, 0);
  EXPECT_EQ(refusals[0].fileid, status("sealed").st_ino);
  EXPECT_TRUE(guard_->take_refusals().empty());
  ASSERT_EQ(unsealed("sealed"), true);
  EXPECT_TRUE(others_read("sealed")) << "it has its bytes";
}

TEST_P(OpenGuardTest, this_program_opens_all) {
  EXPECT_TRUE(opened("sealed"));
  EXPECT_EQ(child_opens("sealed"), 0);
  EXPECT_EQ(read("sealed"), noise(100'000, 1));
  EXPECT_EQ(guard_->counts().refused, 0U);
  EXPECT_GT(guard_->counts().asked, 0U);
}

TEST_P(OpenGuardTest, names_and_attributes_are_everybodys) {
  EXPECT_EQ(::system(("ls -l '" + tree_.string() + "' > /dev/null && mv '" + path("sealed") + "' '" +
                      path("moved") + "' && rm '" + path("moved") + "'")
                         .c_str()),
            0);
  EXPECT_EQ(guard_->counts().refused, 0U);
}

TEST_P(OpenGuardTest, with_its_end_all_is_as_it_was) {
  ASSERT_FALSE(others_read("sealed"));
  guard_.reset();
  EXPECT_TRUE(others_read("sealed"));
}

TEST_P(OpenGuardTest, so_many_refusals_are_kept) {
  for (std::size_t i = 0; i < OpenGuard::refusals_max + 3; ++i) EXPECT_FALSE(others_read("sealed"));
  EXPECT_EQ(guard_->counts().refused, OpenGuard::refusals_max + 3);
  EXPECT_EQ(guard_->take_refusals().size(), OpenGuard::refusals_max);
}

TEST_P(OpenGuardTest, many_who_open_are_all_answered) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([this] {
      for (int k = 0; k < 100; ++k) EXPECT_TRUE(opened(k % 2 == 0 ? "sealed" : "plain"));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(guard_->counts().asked, 800U);
}

TEST_P(OpenGuardTest, what_is_not_there_is_not_watched) {
  EXPECT_EQ(guard_->watch(path("nothing")).error(), base::errno_of(ENOENT));
}

BRAID_ON_EVERY_FILE_SYSTEM(OpenGuardTest);

}  // namespace
}  // namespace braid::store::test
