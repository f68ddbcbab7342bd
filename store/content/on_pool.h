// Where the work of a store on exported files runs: on threads that may block.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "io/blocking_pool.h"
#include "io/reactor.h"
#include "vfs/open_file.h"
#include "vfs/types.h"

namespace braid::store {

// Runs where it may block; where nobody has said where that is, on the calling thread. delay: not now.
template <class F>
vfs::VfsOp<std::invoke_result_t<F&>> on_pool(std::optional<io::BlockingGroup>& group,
                                             io::BlockingReason reason, F function) {
  io::Reactor* const reactor = io::Reactor::current();
  if (!group || reactor == nullptr) co_return function();
  auto ran = co_await group->run(*reactor, reason, std::move(function));
  if (!ran) co_await base::fail(vfs::Error::delay);
  co_return std::move(*ran);
}

}  // namespace braid::store
