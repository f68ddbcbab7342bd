// The kernel's files as a store's medium, and what keeps others out of them.
#pragma once

#include <memory>
#include <string>

#include "base/unique_fd.h"
#include "store/medium/medium.h"

namespace braid::store {

// Of a directory that exists. Errors: those of open(2).
base::Result<std::unique_ptr<Medium>> open_posix_medium(const std::string& directory);

// Nobody else has the file open, and who opens it waits (fcntl(2), F_SETLEASE), for
// /proc/sys/fs/lease-break-time seconds at most.
class FileLease {
 public:
  // EAGAIN: somebody has it open.
  static base::Result<FileLease> take(int fd);
  FileLease(FileLease&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileLease& operator=(FileLease&&) = delete;
  ~FileLease();
  // False: somebody waits for it, or the kernel has taken it.
  [[nodiscard]] bool held() const;

 private:
  explicit FileLease(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace braid::store
