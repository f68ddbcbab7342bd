// The same work on many items, some of them at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "io/gate.h"
#include "io/op.h"

namespace braid::io {
namespace detail {

// `next` and `work` live in the frame of in_lanes().
template <class F>
Op<> run_lane(std::size_t lane, std::size_t& next, std::size_t count, F& work) {
  while (next < count) {
    const std::size_t item = next++;
    co_await work(lane, item);
  }
}

}  // namespace detail

// `work(lane, item)`, an Op<> that does not fail, for each item below `count`, in order, and at most `lanes`
// at a time; one lane has one item at a time. On one reactor. For the peer of nobody.
template <class F>
Op<> in_lanes(std::size_t lanes, std::size_t count, F work) {
  std::size_t next = 0;
  Gate gate;
  for (std::size_t lane = 0; lane < std::min(lanes, count); ++lane)
    spawn(gate, detail::run_lane(lane, next, count, work));
  co_await gate.drained();
}

}  // namespace braid::io
