// Whether anybody opens a file (inotify(7)).
#pragma once

#include <utility>

#include "base/unique_fd.h"
#include "vfs/posix/kernel.h"

namespace braid::vfs::posix {

class OpenWatch {
 public:
  // Of the file behind `file`, from now on, by whatever name, and by this process, too. nospc and others: the
  // system has no more watches (/proc/sys/fs/inotify).
  static Outcome<OpenWatch> begin(int file);
  [[nodiscard]] bool seen() const;

 private:
  explicit OpenWatch(base::UniqueFd inotify) : inotify_(std::move(inotify)) {}

  base::UniqueFd inotify_;
};

}  // namespace braid::vfs::posix
