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
// bits along, as the kernel does where it sees the writing.
template <class F>
auto FileIo::changing(const Credentials& who, Wcc* wcc, SetId set_id, F work) -> std::invoke_result_t<F&> {
  using T = typename std::invoke_result_t<F&>::value_type;
  std::optional<Change> change;
  std::uint32_t mode = 0;
  const auto begin = [&]() -> Outcome<> {
    if (auto begun = data_.begin_change(who, wcc, change); !begun) return begun;
    if (set_id == SetId::kept) return {};
    const auto now = fs_.tree().observe(data_.node());
    if (now) mode = now->mode;
    return now ? Outcome<>() : base::fail(now.error());
  };
  const base::Result<void, Error> begun = co_await fs_.placement().run(Call::getattr, begin).as_result();
  base::Result<T, Error> result = base::fail(Error::server_fault);
  if (begun)
    result = co_await work().as_result();
  else
    result = base::fail(begun.error());
  const auto end = [&]() -> Outcome<> {
    Outcome<> done;
    if (result && set_id == SetId::dropped) done = fs_.tree().drop_set_id(who, data_.node(), mode);
    if (result && done && set_id == SetId::dropped) done = Tree::drop_capabilities(data_.node());
    if (begun) data_.node().changes().changed();
    change.reset();
    return done;
  };
  const base::Result<void, Error> ended = co_await fs_.placement().run(Call::getattr, end).as_result();
  if (result && !ended) co_await base::Result<void, Error>(late(ended.error()));
  if constexpr (std::is_void_v<T>)
    co_await std::move(result);
  else
    co_return co_await std::move(result);
}

}  // namespace braid::vfs::posix
