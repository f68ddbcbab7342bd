// FileIo::changing(): what those who change files that may have a content include.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/result.h"
#include "vfs/posix/file_io.h"
#include "vfs/posix/file_system.h"

namespace braid::vfs::posix {

// Between the looks before and after, for who may write. What is written by others than root takes the set-id
// bits along, as the kernel does where it sees the writing: before the first byte changes, so that whatever
// fails later leaves nobody's bytes with somebody's privileges.
template <class F>
auto FileIo::changing(const Credentials& who, Wcc* wcc, Changes what, F work) -> std::invoke_result_t<F&> {
  using T = typename std::invoke_result_t<F&>::value_type;
  std::optional<Change> change;
  const auto begin = [&]() -> Outcome<> {
    if (auto begun = data_.begin_change(who, wcc, what, change); !begun) return begun;
    if (what == Changes::nothing) return {};
    const auto now = fs_.tree().observe(data_.node());
    if (!now) return base::fail(now.error());
    if (auto done = fs_.tree().drop_set_id(who, data_.node(), now->mode); !done) return done;
    return Tree::drop_capabilities(data_.node());
  };
  const base::Result<void, Error> begun = co_await fs_.placement().run(Call::getattr, begin).as_result();
  base::Result<T, Error> result = base::fail(Error::server_fault);
  if (begun)
    result = co_await work().as_result();
  else
    result = base::fail(begun.error());
  const auto end = [&]() -> Outcome<> {
    if (begun && what != Changes::nothing) data_.node().changes().changed();
    change.reset();
    return {};
  };
  const base::Result<void, Error> ended = co_await fs_.placement().run(Call::getattr, end).as_result();
  // The pool refuses: what is done stays done, and the look after it is taken here.
  if (!ended) (void)end();
  if constexpr (std::is_void_v<T>)
    co_await std::move(result);
  else
    co_return co_await std::move(result);
}

}  // namespace braid::vfs::posix
