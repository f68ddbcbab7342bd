// The same work on many items, some of them at a time.
#pragma once

#include <algorithm>
#include <cstddef>

#include "io/gate.h"
#include "io/op.h"

namespace braid::io {
namespace detail {

// `next` and `work` live in the frame of for_each().
template <class F>
Op<> work_on_items(std::size_t worker, std::size_t& next, std::size_t count, F& work) {
  while (next < count) {
    const std::size_t item = next++;
    co_await work(worker, item);
  }
}

}  // namespace detail

// `work(worker, item)`, an Op<> that does not fail, for each item below `count`, in order, by at most
// `workers` at a time; each has one item at a time. On one reactor. For the peer of nobody.
template <class F>
Op<> for_each(std::size_t workers, std::size_t count, F work) {
  std::size_t next = 0;
  Gate gate;
  for (std::size_t worker = 0; worker < std::min(workers, count); ++worker)
    spawn(gate, detail::work_on_items(worker, next, count, work));
  co_await gate.drained();
}

}  // namespace braid::io
