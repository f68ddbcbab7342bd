// Where calls run: on the reactor's thread when they will not block, else in the blocking pool.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/clock.h"
#include "io/blocking_pool.h"
#include "io/reactor.h"
#include "vfs/file_system.h"
#include "vfs/posix/calls.h"
#include "vfs/posix/kernel.h"
#include "vfs/posix/stall_governor.h"

namespace braid::vfs::posix {

enum class PlacementPolicy : std::uint8_t {
  inline_always,  // memory file systems: nothing blocks
  governed,       // local disks: inline as long as it is fast
  pool_always,    // network and unknown file systems
};

// Thread-safe. Work is a synchronous function that returns an Outcome<T>; whatever it refers to must live
// until the Op ends. On a thread without a reactor everything runs inline.
class Placement {
 public:
  // `name`: of the export, whose share of the pool's threads calls have.
  Placement(PlacementPolicy policy, io::BlockingPool* pool, std::string name, const base::Clock& clock)
      : policy_(policy), clock_(clock) {
    if (pool != nullptr) group_.emplace(*pool, std::move(name));
  }

  [[nodiscard]] PlacementPolicy policy() const { return policy_; }
  [[nodiscard]] const base::Clock& clock() const { return clock_; }
  [[nodiscard]] std::uint64_t stalls() const { return governor_.stalls(); }

  // By the policy. An inline run costs no coroutine.
  template <class F>
  auto run(Call call, F work) -> VfsOp<typename std::invoke_result_t<F&>::value_type> {
    io::Reactor* const reactor = reactor_if_pooled();
    if (reactor == nullptr) return work();
    if (policy_ == PlacementPolicy::governed) {
      const base::TimePoint start = clock_.now();
      if (governor_.may_run_inline(call, start)) {
        auto outcome = work();
        const base::TimePoint end = clock_.now();
        governor_.ran_inline(call, end - start, end);
        return outcome;
      }
    }
    return in_pool(*reactor, call, std::move(work));
  }

  // In the pool unless there is none to wait for.
  template <class F>
  auto run_blocking(Call call, F work) -> VfsOp<typename std::invoke_result_t<F&>::value_type> {
    io::Reactor* const reactor = reactor_if_pooled();
    if (reactor == nullptr) return work();
    return in_pool(*reactor, call, std::move(work));
  }

  // The same for what takes long on memory file systems, too.
  template <class F>
  auto run_long(Call call, F work) -> VfsOp<typename std::invoke_result_t<F&>::value_type> {
    io::Reactor* const reactor = io::Reactor::current();
    if (reactor == nullptr || !group_) return work();
    return in_pool(*reactor, call, std::move(work));
  }

 private:
  [[nodiscard]] io::Reactor* reactor_if_pooled() const {
    if (policy_ == PlacementPolicy::inline_always || !group_) return nullptr;
    return io::Reactor::current();
  }

  template <class F>
  auto in_pool(io::Reactor& reactor, Call call, F work)
      -> VfsOp<typename std::invoke_result_t<F&>::value_type> {
    auto outcome = co_await group_->run(reactor, reason_of(call), std::move(work));
    if (!outcome) co_await base::fail(Error::delay);
    if constexpr (std::is_void_v<typename std::invoke_result_t<F&>::value_type>)
      co_await std::move(*outcome);
    else
      co_return co_await std::move(*outcome);
  }

  const PlacementPolicy policy_;
  std::optional<io::BlockingGroup> group_;
  const base::Clock& clock_;
  StallGovernor governor_;
};

}  // namespace braid::vfs::posix
