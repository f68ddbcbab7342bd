// The same work on many items, some at a time.
#pragma once

#include <cstdint>
#include <optional>

#include "bench/load/session.h"
#include "io/gate.h"

namespace braid::load {

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
    auto done = co_await lanes.work(item).as_result();
    for (unsigned i = 0; i < repeats_max && !done && wants_later(done.error()); ++i) {
      co_await lanes.reactor.sleep(later);
      done = co_await lanes.work(item).as_result();
    }
    if (!done) lanes.fault = done.error();
  }
}

}  // namespace detail

// Runs `work(i)`, a LoadOp<>, for every i below `count`, at most `width` at a time; again, where the server
// wants that later. Stops at the first other Fault.
template <class F>
LoadOp<> for_each(io::Reactor& reactor, std::uint64_t count, unsigned width, F work) {
  detail::Lanes<F> lanes{.reactor = reactor, .count = count, .work = work, .fault = {}};
  io::Gate gate;
  for (unsigned i = 0; i < width; ++i) io::spawn(gate, detail::run_lane(lanes));
  co_await gate.drained();
  if (lanes.fault) co_await base::fail(*lanes.fault);
}

}  // namespace braid::load
