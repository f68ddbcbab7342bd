// Locks for many small things, which need no lock of their own each.
#pragma once

#include <array>
#include <cstddef>
#include <variant>

#include "base/guarded.h"
#include "pnfs/data_handle.h"

namespace braid::pnfs_mds {

// Each belongs to many objects: who has one takes no other one of these.
class SharedLocks {
 public:
  using Lock = base::Guarded<std::monostate>;

  [[nodiscard]] Lock& of(pnfs::ObjectId object) const { return locks_[object.value() % count]; }
  // Runs f(value) under the lock of the object, whose `value` is, and returns what it returns.
  template <class T, class F>
  static auto with(Lock& lock, T& value, F&& f) {
    return lock.with([&](std::monostate& /*none*/) { return f(value); });
  }

 private:
  static constexpr std::size_t count = 256;
  mutable std::array<Lock, count> locks_;
};

}  // namespace braid::pnfs_mds
