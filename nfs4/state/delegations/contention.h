// Files that were wanted by others while somebody held a delegation of them.
#pragma once

#include <cstddef>
#include <vector>

#include "base/clock.h"

namespace braid::nfs4::state {

// A delegation of such a file would just be recalled again. Files share places by their hash, so one that
// nobody wanted may have to wait too; that costs it nothing but a delegation. Not thread-safe.
class Contention {
 public:
  void note(std::size_t hash, base::TimePoint until) { until_[hash % places] = until; }
  [[nodiscard]] bool lasts(std::size_t hash, base::TimePoint now) const {
    return now < until_[hash % places];
  }

 private:
  static constexpr std::size_t places = 8192;
  std::vector<base::TimePoint> until_ = std::vector<base::TimePoint>(places);
};

}  // namespace braid::nfs4::state
