#include "pnfs_ds/file_system_id.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "base/unique_fd.h"

namespace braid::pnfs_ds {
namespace {

class TwoDirectories {
 public:
  explicit TwoDirectories(const std::string& below) {
    std::string pattern = below + "/braid-fsid-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
    std::filesystem::create_directory(path_ / "other");
  }
  ~TwoDirectories() { std::filesystem::remove_all(path_); }
  TwoDirectories(const TwoDirectories&) = delete;
  TwoDirectories& operator=(const TwoDirectories&) = delete;
  [[nodiscard]] FileSystemId id(const char* name = ".") const {
    const base::UniqueFd directory(::open((path_ / name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return file_system_id(directory.get());
  }

 private:
  std::filesystem::path path_;
};

TEST(FileSystemIdTest, directories_of_one_file_system_have_it_in_common) {
  const TwoDirectories in_memory("/dev/shm");
  EXPECT_NE(in_memory.id(), FileSystemId{});
  EXPECT_EQ(in_memory.id(), in_memory.id("other"));
  const base::UniqueFd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_NE(in_memory.id(), file_system_id(proc.get()));
  EXPECT_EQ(file_system_id(-1), FileSystemId{}) << "nobody knows";
}

}  // namespace
}  // namespace braid::pnfs_ds
