#include "pnfs_mds/epoch_holders.h"

#include <algorithm>

namespace braid::pnfs_mds {

std::uint64_t EpochHolders::note(vfs::LeaseHolder client, std::optional<pnfs::GrantNumber> writing,
                                 std::uint64_t size, Moment since) const {
  return with([&](State& state) {
    const bool known = state.moment == since && since % 2 == 0;
    // Who may write can shorten the file, too, and goes on with the same handles.
    const std::uint64_t told = known && !writing ? size : 0;
    const bool first = state.one == vfs::LeaseHolder();
    if (client == vfs::LeaseHolder() || (!first && state.one != client)) state.others = true;
    if (first) state.one = client;
    const bool none = state.first == pnfs::GrantNumber();
    if (writing) state.first = none ? *writing : std::min(state.first, *writing);
    state.told = std::max(state.told, told);
    return told;
  });
}

void EpochHolders::note_in_band(vfs::LeaseHolder who, pnfs::GrantNumber last) const {
  with([&](State& state) {
    const bool none = state.last == pnfs::GrantNumber();
    if (none)
      state.in_band = who;
    else if (state.in_band != who)
      state.in_band = {};
    state.last = std::max(state.last, last);
  });
}

std::optional<Truncations::Keeps> EpochHolders::kept_by(
    vfs::LeaseHolder who, const std::optional<pnfs::KeptHandles>& handles) const {
  if (!handles) return std::nullopt;
  return with([&](const State& state) -> std::optional<Truncations::Keeps> {
    const bool meant = state.in_band == who || state.in_band == vfs::LeaseHolder();
    if (meant && handles->from <= state.last) return std::nullopt;
    return Truncations::Keeps{.holder = who, .handles = *handles};
  });
}

bool EpochHolders::only(vfs::LeaseHolder who, const std::optional<Truncations::Keeps>& kept,
                        std::uint64_t size) const {
  return with([&](const State& state) {
    if (state.others) return false;
    if (state.one == vfs::LeaseHolder()) return true;
    const bool ends_none = state.first == pnfs::GrantNumber() || (kept && state.first >= kept->handles.from);
    return state.one == who && ends_none && state.told <= size;
  });
}

void EpochHolders::new_epoch(const std::optional<Truncations::Keeps>& kept) const {
  with([&](State& state) {
    const Moment moment = state.moment;
    state = State(true);
    state.moment = moment;
    if (!kept) return;
    state.one = kept->holder;
    state.first = kept->handles.from;
  });
}

}  // namespace braid::pnfs_mds
