// What a WRITE and a COMMIT answer when the medium fails.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "posix_fixture.h"
#include "system_faults.h"

namespace braid::vfs {
namespace {

using test::SystemCall;
using test::SystemFaults;

// What fsync(2) says in its manual page, and what else kernels say.
constexpr int sync_errors[] = {EIO, ENOSPC, EDQUOT, EROFS, EINTR, ENOMEM, EAGAIN, EINVAL, ETIMEDOUT, ENOBUFS};

class WriteFaultsTest : public PosixTest {
 protected:
  void SetUp() override {
    PosixTest::SetUp();
    if (GetParam() == "tmpfs") GTEST_SKIP() << "nothing is synced there";
  }
  // The text of a large WRITE as it comes from a socket.
  [[nodiscard]] io::Payload piped(io::PipePool& pipes, const std::string& text) const {
    const base::UniqueFd source(::memfd_create("source", MFD_CLOEXEC));
    EXPECT_EQ(::pwrite(source.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    io::SlabRef pipe = pipes.take().value();
    EXPECT_EQ(pipe.pipe()->fill(source.get(), 0, text.size()).value(), text.size());
    return io::Payload(io::SlabRange{std::move(pipe), 0, static_cast<std::uint32_t>(text.size())});
  }
};
BRAID_ON_EVERY_FILE_SYSTEM(WriteFaultsTest);

TEST_P(WriteFaultsTest, a_stable_write_from_a_pipe_is_never_to_be_repeated) {
  const auto file = create("file")->file;
  const std::string text(100'000, 'x');
  for (const auto& [stability, call] : {std::pair{Stability::file_sync, SystemCall::fsync},
                                        std::pair{Stability::data_sync, SystemCall::fdatasync}})
    for (const int error : sync_errors) {
      io::PipePool pipes;
      const io::Payload data = piped(pipes, text);
      SystemFaults faults;
      faults.add({.call = call, .error = error});
      const auto written = run(fs_->write({}, file, 0, data, stability, wcc_));
      ASSERT_FALSE(written) << ::strerror(error);
      EXPECT_NE(written.error(), Error::delay) << ::strerror(error);
      EXPECT_EQ(faults.calls(call), 1U);
    }
}

TEST_P(WriteFaultsTest, what_a_pipe_could_not_give_is_given_when_the_write_is_repeated) {
  const auto file = create("file")->file;
  const std::string text(100'000, 'x');
  for (const int error : {EAGAIN, ENOMEM}) {
    io::PipePool pipes;
    const io::Payload data = piped(pipes, text);
    SystemFaults faults;
    faults.add({.call = SystemCall::splice, .error = error});
    EXPECT_EQ(run(fs_->write({}, file, 0, data, Stability::unstable, wcc_)).error(), Error::delay);
    EXPECT_EQ(run(fs_->write({}, file, 0, data, Stability::unstable, wcc_))->count, text.size());
    EXPECT_EQ(local_read("file"), text);
  }
}

}  // namespace
}  // namespace braid::vfs
