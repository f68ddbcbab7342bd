#include "pnfs_mds/epoch_holders.h"

#include <algorithm>

namespace braid::pnfs_mds {

std::uint64_t EpochHolders::note(vfs::LeaseHolder client, std::uint64_t size, std::uint64_t since) {
  return state_.with([&](State& state) {
    const bool known = state.moment == since && since % 2 == 0;
    const std::uint64_t told = known ? size : 0;
    const bool first = state.one == vfs::LeaseHolder();
    if (client == vfs::LeaseHolder() || (!first && state.one != client)) state.others = true;
    if (first) state.one = client;
    state.told = std::max(state.told, told);
    return told;
  });
}

bool EpochHolders::only(vfs::LeaseHolder who, std::uint64_t size) const {
  return state_.with([&](const State& state) {
    if (state.others) return false;
    if (state.one == vfs::LeaseHolder()) return true;
    return state.one == who && state.told <= size;
  });
}

void EpochHolders::new_epoch() {
  state_.with([](State& state) {
    state.one = {};
    state.others = false;
    state.told = 0;
  });
}

}  // namespace braid::pnfs_mds
