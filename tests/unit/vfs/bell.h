// Waits for what a lease has to tell.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "vfs/open_file.h"

namespace braid::vfs {

// Tells when somebody waits for a lease.
class Bell {
 public:
  LeaseBreak ring() {
    return [this] {
      std::scoped_lock lock(mutex_);
      rung_ = true;
      changed_.notify_all();
    };
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [this] { return rung_; });
  }
  bool rung() {
    std::scoped_lock lock(mutex_);
    return rung_;
  }
  void reset() {
    std::scoped_lock lock(mutex_);
    rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool rung_ = false;
};

}  // namespace braid::vfs
