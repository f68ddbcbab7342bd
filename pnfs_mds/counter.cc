#include "pnfs_mds/counter.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "pnfs_mds/record_bytes.h"

namespace braid::pnfs_mds {
namespace {

base::Bytes reserved_record(std::uint64_t reserved) { return RecordWriter().number(reserved).take(); }

}  // namespace

base::Result<std::unique_ptr<Counter>> Counter::open(int directory, std::string name, std::uint64_t limit) {
  std::unique_ptr<Counter> out(new Counter(limit));
  std::uint64_t reserved = 0;
  bool damaged = false;
  const auto take = [&](base::BytesView record) {
    RecordReader in(record);
    const auto next = in.number<std::uint64_t>();
    damaged = damaged || !in.ended() || next < reserved || next >= limit;
    reserved = next;
  };
  const auto snapshot = [counter = out.get()] {
    const std::uint64_t wanted = counter->state_.with([](const State& state) { return state.wanted; });
    return std::vector<base::Bytes>{reserved_record(wanted)};
  };
  auto journal = Journal::open(directory, std::move(name), snapshot, take);
  if (!journal) return base::fail(journal.error());
  if (damaged) return base::fail(EBADMSG);
  out->journal_ = std::move(*journal);
  out->state_.with([&](State& state) { state = {reserved, reserved, reserved}; });
  return out;
}

std::uint64_t Counter::last() const {
  return state_.with([](const State& state) { return state.last; });
}

vfs::VfsOp<std::uint64_t> Counter::next(std::uint32_t count) {
  base::check(count > 0 && count <= block, "numbers of one block");
  for (;;) {
    const std::optional<std::uint64_t> first = state_.with([&](State& state) -> std::optional<std::uint64_t> {
      if (state.reserved - state.last < count) return std::nullopt;
      return std::exchange(state.last, state.last + count) + 1;
    });
    if (first) co_return *first;
    co_await reserving_.run([this, count] { return reserve(count); });
  }
}

// What was given out while this waited for its turn has left enough, perhaps.
vfs::VfsOp<> Counter::reserve(std::uint32_t count) {
  std::uint64_t wanted = 0;
  const bool enough = state_.with([&](State& state) {
    if (state.reserved - state.last >= count) return true;
    wanted = state.reserved + block;
    if (wanted < limit_) state.wanted = wanted;
    return false;
  });
  if (enough) co_return;
  if (wanted >= limit_) co_await base::fail(vfs::Error::nospc);
  co_await journal_->append(reserved_record(wanted));
  state_.with([&](State& state) { state.reserved = wanted; });
}

vfs::VfsOp<pnfs::GrantNumber> Grants::next(std::uint32_t count) {
  const std::uint64_t first = co_await counter_->next(count);
  co_return pnfs::GrantNumber(first);
}

}  // namespace braid::pnfs_mds
