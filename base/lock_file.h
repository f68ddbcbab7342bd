// The lock of a directory that one process uses at a time.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace braid::base {

// Held until it goes, or the process ends however it ends (flock(2)).
class LockFile {
 public:
  // Asked while another process has the lock: whether it is tried again. `holder` is what that process wrote,
  // the first 256 bytes of it, or nothing.
  using Wait = std::function<bool(std::string_view holder)>;
  // Makes the file `path`, of that directory (openat(2)), if there is none, and writes there `who` has it,
  // for people. EBUSY: another process
  // has it, who `holder` is then; without `wait` it is tried once.
  static Result<LockFile> take(int directory, const std::string& path, std::string_view who, const Wait& wait,
                               std::string& holder);

 private:
  explicit LockFile(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

}  // namespace braid::base
