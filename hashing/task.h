// A job on its way through the engine.
#pragma once

#include <coroutine>
#include <span>

#include "base/clock.h"
#include "hashing/job.h"
#include "io/reactor.h"

namespace braid::hashing {

// Lives in the frame of the coroutine that submitted it, until complete(). Whoever has it in a queue or a
// slot is the only one to touch it.
struct Task {
  Job job;
  std::uint64_t bytes = 0;
  // Cutting may end where one of these begins; the workers do, cards are not asked.
  std::span<const Chunk> known{};
  base::TimePoint submitted{};
  Choice choice{};  // but for `where`, which is the result's
  base::Result<JobResult> result = base::fail(ECANCELED);
  io::Reactor* reactor = nullptr;
  std::coroutine_handle<> waiter;

  // Resumes the submitter on its reactor; the task may be gone when this returns.
  void complete() {
    io::Reactor& home = *reactor;
    home.post(waiter);
  }
};

}  // namespace braid::hashing
