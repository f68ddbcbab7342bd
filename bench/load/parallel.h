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
  std::uint64_t next = 0;
  std::uint64_t count = 0;
  F& work;
  std::optional<Fault> fault;
};

template <class F>
io::Op<> run_lane(Lanes<F>& lanes) {
  while (!lanes.fault && lanes.next < lanes.count) {
    auto done = co_await lanes.work(lanes.next++).as_result();
    if (!done) lanes.fault = done.error();
  }
}

}  // namespace detail

// Runs `work(i)`, a LoadOp<>, for every i below `count`, at most `width` at a time; stops at the first Fault.
template <class F>
LoadOp<> for_each(std::uint64_t count, unsigned width, F work) {
  detail::Lanes<F> lanes{.count = count, .work = work, .fault = {}};
  io::Gate gate;
  for (unsigned i = 0; i < width; ++i) io::spawn(gate, detail::run_lane(lanes));
  co_await gate.drained();
  if (lanes.fault) co_await base::fail(*lanes.fault);
}

}  // namespace braid::load
