// Descriptors that are kept open so that one can be had when the system gives no more.
#pragma once

#include <fcntl.h>

#include <utility>
#include <vector>

#include "base/guarded.h"
#include "base/unique_fd.h"
#include "vfs/posix/kernel.h"

namespace braid::vfs::posix {

// Whoever will have to open something after an effect takes one before it, and closes it when the open fails
// for want of descriptors. Thread-safe.
class SpareDescriptors {
 public:
  // delay: the system gives none, and nothing has happened yet.
  Outcome<base::UniqueFd> take(int directory) {
    auto kept = kept_.with([](std::vector<base::UniqueFd>& all) {
      base::UniqueFd out;
      if (!all.empty()) {
        out = std::move(all.back());
        all.pop_back();
      }
      return out;
    });
    if (!kept) kept = base::UniqueFd(::openat(directory, ".", O_PATH | O_CLOEXEC));
    if (!kept) return failed_call();
    return kept;
  }
  // Nothing, where it was used up.
  void give_back(base::UniqueFd spare) {
    if (!spare) return;
    kept_.with([&](std::vector<base::UniqueFd>& kept) {
      if (kept.size() < kept_max) kept.push_back(std::move(spare));
    });
  }

 private:
  static constexpr std::size_t kept_max = 16;  // as many as threads make something at a time
  base::Guarded<std::vector<base::UniqueFd>> kept_;
};

}  // namespace braid::vfs::posix
