// Calls that must succeed: again, where the server wants that later; and the same work on many items.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "bench/load/outcome.h"
#include "io/gate.h"
#include "io/reactor.h"

namespace braid::load {

// What `call()`, which returns a LoadOp<T>, ends with at last.
template <class T, class Call>
LoadOp<T> insist(io::Reactor& reactor, Call call) {
  auto outcome = co_await call().as_result();
  for (unsigned i = 0; i < repeats_max && !outcome && outcome.error().later; ++i) {
    (void)co_await reactor.sleep(later).as_result();
    outcome = co_await call().as_result();
  }
  co_return co_await std::move(outcome);
}

namespace detail {

// Shared by the lanes of one for_each; lives in its frame.
template <class F>
struct Lanes {
  io::Reactor& reactor;
  std::uint64_t next = 0;
  std::uint64_t count = 0;
  F& work;
  std::optional<Fault> fault;
};

template <class F>
io::Op<> run_lane(Lanes<F>& lanes) {
  while (!lanes.fault && lanes.next < lanes.count) {
    const std::uint64_t item = lanes.next++;
    const auto done =
        co_await insist<void>(lanes.reactor, [&lanes, item] { return lanes.work(item); }).as_result();
    if (!done) lanes.fault = done.error();
  }
}

}  // namespace detail

// Runs `work(i)`, a LoadOp<>, for every i below `count`, at most `width` at a time. Stops at the first Fault.
template <class F>
LoadOp<> for_each(io::Reactor& reactor, std::uint64_t count, unsigned width, F work) {
  detail::Lanes<F> lanes{.reactor = reactor, .count = count, .work = work, .fault = {}};
  io::Gate gate;
  for (unsigned i = 0; i < width; ++i) io::spawn(gate, detail::run_lane(lanes));
  co_await gate.drained();
  if (lanes.fault) co_await base::fail(*lanes.fault);
}

}  // namespace braid::load
