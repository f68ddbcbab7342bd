// What an open answers when its parked file cannot be opened again.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "posix_fixture.h"
#include "system_faults.h"

namespace braid::vfs {
namespace {

using test::SystemCall;
using test::SystemFaults;

class ParkingFaultsTest : public PosixTest {
 protected:
  void SetUp() override {
    PosixTest::SetUp();
    if (IsSkipped()) return;
    if (::geteuid() != 0) GTEST_SKIP() << "files are opened by handle by root alone";
    options_.tree.sync = false;
    options_.tree.cache.descriptors_max = 32;
    restart();
    local_write("file", "text");
    open_ = run(fs_->open({}, find("file"), OpenAccess::both, OpenRule::caller)).value();
  }
  void TearDown() override {
    open_.reset();
    PosixTest::TearDown();
  }
  void park() {
    for (int i = 0; i < 300; ++i) ASSERT_TRUE(create("other" + std::to_string(++others_)));
    ASSERT_EQ(fs_->stats().cache.parked, 1U);
  }
  Outcome<std::size_t> read_open() {
    auto got = run(open_->read(0, 4, *cursor_));
    if (!got) return base::fail(got.error());
    return got->data.size();
  }
  Outcome<WriteResult> write_open() {
    const io::Payload data = payload("text");
    return run(open_->write({}, 0, data, Stability::unstable));
  }

  OpenFileRef open_;
  int others_ = 0;
};
BRAID_ON_EVERY_FILE_SYSTEM(ParkingFaultsTest);

struct Case {
  int error;
  Error answer;
};

TEST_P(ParkingFaultsTest, a_handle_that_cannot_be_opened_is_told_and_opened_when_it_can) {
  constexpr std::array cases{Case{EMFILE, Error::delay}, Case{ENFILE, Error::delay},
                             Case{ENOMEM, Error::delay}, Case{ESTALE, Error::stale}, Case{EIO, Error::io}};
  for (const auto& [error, answer] : cases) {
    park();
    {
      SystemFaults faults;
      faults.add({.call = SystemCall::open_by_handle_at, .error = error, .nth = test::every});
      EXPECT_EQ(read_open().error(), answer) << ::strerror(error);
      EXPECT_EQ(write_open().error(), answer) << ::strerror(error);
    }
    EXPECT_EQ(read_open(), 4U) << ::strerror(error);
    EXPECT_TRUE(write_open()) << ::strerror(error);
  }
}

// The first call opens the object, the second one what is shared by opens.
TEST_P(ParkingFaultsTest, a_file_that_may_not_be_written_now_is_opened_when_it_may) {
  constexpr std::array cases{Case{ETXTBSY, Error::delay}, Case{EACCES, Error::delay},
                             Case{EAGAIN, Error::delay},  Case{EPERM, Error::perm},
                             Case{EROFS, Error::rofs},    Case{EIO, Error::io}};
  for (const auto& [error, answer] : cases) {
    park();
    ASSERT_TRUE(run(fs_->resolve(open_->file()->handle().view())));
    {
      SystemFaults faults;
      faults.add({.call = SystemCall::open_by_handle_at, .error = error, .nth = test::every});
      EXPECT_EQ(write_open().error(), answer) << ::strerror(error);
      EXPECT_EQ(run(open_->commit({}, 0, 0)).error(), answer) << ::strerror(error);
    }
    EXPECT_TRUE(write_open()) << ::strerror(error);
  }
}

}  // namespace
}  // namespace braid::vfs
