// Calls that must succeed: again, where the server wants that later; and the same work on many items.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "bench/load/outcome.h"
#include "io/for_each.h"
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

// Nothing, after a Fault.
template <class F>
io::Op<> run_item(io::Reactor& reactor, F& work, std::uint64_t item, std::optional<Fault>& fault) {
  if (fault) co_return;
  const auto done = co_await insist<void>(reactor, [&work, item] { return work(item); }).as_result();
  if (!done) fault = done.error();
}

}  // namespace detail

// Runs `work(i)`, a LoadOp<>, for every i below `count`, at most `width` at a time. Stops at the first Fault.
template <class F>
LoadOp<> for_each(io::Reactor& reactor, std::uint64_t count, unsigned width, F work) {
  std::optional<Fault> fault;
  const auto run_one = [&](std::size_t /*worker*/, std::size_t item) {
    return detail::run_item(reactor, work, item, fault);
  };
  (void)co_await io::for_each(width, count, run_one).as_result();
  if (fault) co_await base::fail(*fault);
}

}  // namespace braid::load
