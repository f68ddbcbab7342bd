// A directory for a test, and a way to run what waits for nobody.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "tests/unit/rpc/loop.h"
#include "vfs/open_file.h"

namespace braid::pnfs_mds::test {

class ScratchTest : public testing::Test {
 protected:
  ScratchTest() {
    // Where a sync costs nothing.
    std::string name =
        (std::filesystem::exists("/dev/shm") ? "/dev/shm/" : testing::TempDir()) + "pnfs_mds_XXXXXX";
    path_ = ::mkdtemp(name.data());
    directory_ = base::UniqueFd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~ScratchTest() override { std::filesystem::remove_all(path_); }

  template <class T>
  static base::Result<T, vfs::Error> now(vfs::VfsOp<T> op) {
    op.start({});
    EXPECT_TRUE(op.done());
    return std::move(op.result());
  }
  // Runs a coroutine, which gives an io::Op<>, on a reactor.
  template <class F>
  void run(F body) {
    rpc::test::Loop loop(clock_);
    loop.run(body);
  }

  const base::SystemClock clock_;
  std::filesystem::path path_;
  base::UniqueFd directory_;
};

}  // namespace braid::pnfs_mds::test
