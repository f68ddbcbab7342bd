// Files of which somebody wants what layouts stand in the way of.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "io/op.h"
#include "io/reactor.h"
#include "nfs4/state/registry.h"
#include "vfs/types.h"

namespace braid::pnfs_mds::layouts {

// Waits on one reactor, until it is woken from any thread or a time has come.
class Waiter : public std::enable_shared_from_this<Waiter> {
 public:
  explicit Waiter(io::Reactor& reactor) : reactor_(reactor), timer_(reactor) {}
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // Once, on its reactor; ends at once if it has been woken before.
  io::Op<> until(base::TimePoint deadline);
  // Any thread. There is a reference to it.
  void wake();

 private:
  io::Reactor& reactor_;
  io::Timer timer_;
  bool woken_ = false;
};

// Not thread-safe: behind the lock on all states.
class WaitingFiles {
 public:
  // A client is being shut out of the file: others wait as if it still had its layout.
  void add_bar(const vfs::FileHandle& file) { ++files_[file].bars; }
  void end_bar(const vfs::FileHandle& file);
  [[nodiscard]] bool barred(const vfs::FileHandle& file) const;
  // Nobody gets a layout.
  void add_pause(const vfs::FileHandle& file) { ++files_[file].pauses; }
  void end_pause(const vfs::FileHandle& file);
  [[nodiscard]] bool paused(const vfs::FileHandle& file) const;

  // To be woken once, when a layout of the file or a bar has ended.
  void add_waiter(const vfs::FileHandle& file, const std::shared_ptr<Waiter>& waiter) {
    files_[file].waiters.push_back(waiter);
  }
  void wake(const vfs::FileHandle& file);
  void wake_all();

 private:
  struct File {
    std::uint32_t bars = 0;
    std::uint32_t pauses = 0;
    std::vector<std::weak_ptr<Waiter>> waiters;
  };
  using Files = std::unordered_map<vfs::FileHandle, File, nfs4::state::FileHandleHash>;
  void forget_if_unused(Files::iterator file);
  static void wake(File& file);

  Files files_;
};

}  // namespace braid::pnfs_mds::layouts
