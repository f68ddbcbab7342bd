#include "nfs4/state/state_table.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace braid::nfs4::state {

namespace {

std::uint32_t low_bits(clientid4 client) {
  return static_cast<std::uint32_t>(client & StateIdParts::client_mask);
}

}  // namespace

StateIdTable::StateIdTable(std::uint32_t epoch, std::uint32_t states_max)
    : epoch_(epoch & StateIdParts::epoch_mask), states_max_(std::min(states_max, StateIdParts::index_max)) {}

bool StateIdTable::full() const { return free_.empty() && slots_.size() >= states_max_; }

std::optional<std::uint32_t> StateIdTable::free_index() {
  const bool full = slots_.size() >= states_max_;
  if (!free_.empty() && (full || free_.size() > resting_min)) {
    const std::uint32_t index = free_.front();
    free_.pop_front();
    return index;
  }
  if (full) return std::nullopt;
  slots_.emplace_back();
  return static_cast<std::uint32_t>(slots_.size() - 1);
}

bool StateIdTable::place(std::unique_ptr<State> state) {
  const auto index = free_index();
  if (!index) return false;
  Slot& slot = slots_[*index];
  ++slot.generation;
  state->index = *index;
  state->other = pack({.epoch = epoch_,
                       .kind = state->kind,
                       .client = low_bits(state->client->id),
                       .index = *index,
                       .generation = slot.generation});
  slot.state = std::move(state);
  ++size_;
  return true;
}

std::unique_ptr<State> StateIdTable::erase(State& state) {
  Slot& slot = slots_.at(state.index);
  base::check(slot.state.get() == &state, "the state is in its table");
  free_.push_back(state.index);
  --size_;
  return std::move(slot.state);
}

base::Result<State*, nfsstat4> StateIdTable::find(const stateid4& id, std::uint32_t minor_version) const {
  if (epoch_of(id.other) != epoch_)
    return base::fail(minor_version == 0 ? nfsstat4::NFS4ERR_STALE_STATEID : nfsstat4::NFS4ERR_BAD_STATEID);
  const auto parts = unpack(id.other);
  if (!parts) return base::fail(nfsstat4::NFS4ERR_BAD_STATEID);
  if (parts->index < slots_.size()) {
    State* state = slots_[parts->index].state.get();
    if (state != nullptr && state->other == id.other) return state;
  }
  return base::fail(expired_.contains(parts->client) ? nfsstat4::NFS4ERR_EXPIRED
                                                     : nfsstat4::NFS4ERR_BAD_STATEID);
}

base::Result<void, nfsstat4> StateIdTable::check_seqid(const State& state, std::uint32_t seqid,
                                                       std::uint32_t minor_version) {
  if (seqid == state.seqid || (seqid == 0 && minor_version > 0)) return {};
  // Half of all numbers are ahead, half behind, as they wrap.
  const bool ahead = static_cast<std::int32_t>(seqid - state.seqid) > 0;
  return base::fail(ahead ? nfsstat4::NFS4ERR_BAD_STATEID : nfsstat4::NFS4ERR_OLD_STATEID);
}

void StateIdTable::remember_expired(clientid4 client) {
  if (!expired_.insert(low_bits(client)).second) return;
  expired_order_.push_back(low_bits(client));
  if (expired_order_.size() <= remembered_clients) return;
  expired_.erase(expired_order_.front());
  expired_order_.pop_front();
}

}  // namespace braid::nfs4::state
