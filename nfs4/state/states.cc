#include "nfs4/state/states.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace braid::nfs4::state {

namespace {

constexpr auto bad_stateid = nfsstat4::NFS4ERR_BAD_STATEID;

bool is_of(const FileState* state, const vfs::FileHandle& file) {
  return state != nullptr && state->handle == file;
}

}  // namespace

// The order in which a client's states are revoked: locks before the opens that they rest on.
States::States(std::uint32_t epoch, const StateLimits& limits, std::span<Kind* const> more)
    : registry_(epoch, limits) {
  registry_.add(locks_);
  registry_.add(opens_);
  registry_.add(delegations_);
  for (Kind* const kind : more) registry_.add(*kind);
}

base::Result<IoGrant, Refusal> States::authorize(const StateUse& use, std::uint8_t access,
                                                 DeferredWork& work) {
  const SpecialStateId special = special_of(use.id, use.minor_version);
  if (special != SpecialStateId::none) return authorize_without_state(use, access, special, work);
  const auto found = registry_.find(use);
  if (!found) return state::refused(found.error());
  if ((*found)->kind == StateKind::delegation) {
    const auto& delegation = static_cast<const DelegationState&>(**found);
    if (!is_of(delegation.file, use.file)) return state::refused(bad_stateid);
    if (!delegation.write && (access & share_write) != 0) return state::refused(nfsstat4::NFS4ERR_OPENMODE);
    const bool fits = delegation.descriptor != nullptr &&
                      (static_cast<std::uint8_t>(delegation.descriptor->access()) & access) == access;
    return IoGrant{fits ? delegation.descriptor : nullptr, delegation.client,
                   delegation.opener != use.caller};
  }
  if ((*found)->kind != StateKind::open && (*found)->kind != StateKind::lock)
    return state::refused(bad_stateid);
  const OpenState& open = (*found)->kind == StateKind::open ? static_cast<const OpenState&>(**found)
                                                            : *static_cast<const LockState&>(**found).open;
  if (!is_of(open.file, use.file) || !open.owner->confirmed) return state::refused(bad_stateid);
  if ((open.share.access & access) != access) return state::refused(nfsstat4::NFS4ERR_OPENMODE);
  return IoGrant{open.descriptors.get(access), open.client, open.opener != use.caller};
}

base::Result<IoGrant, Refusal> States::authorize_without_state(const StateUse& use, std::uint8_t access,
                                                               SpecialStateId special, DeferredWork& work) {
  if (special != SpecialStateId::anonymous && special != SpecialStateId::read_bypass)
    return state::refused(bad_stateid);
  FileState* file = registry_.find_file(use.file);
  if (file == nullptr) return IoGrant{};
  Refusal refusal;
  const bool writes = (access & share_write) != 0;
  if (delegations_.recall_conflicting(*file, use.client.get(), writes, use.now, refusal.blockers, work)) {
    refusal.status = nfsstat4::NFS4ERR_DELAY;
    return base::Failure<Refusal>{std::move(refusal)};
  }
  // RFC 8881 8.2.3: only reading with all bits set passes by share reservations.
  if (special == SpecialStateId::read_bypass && !writes) return IoGrant{};
  if (!file->opens.shares().denies(access)) return IoGrant{};
  const StepCounter::Call call(registry_.steps());
  for (const OpenState* open : file->opens) {
    if (!refusal.blockers.empty() && call.over()) break;
    registry_.steps().add(1);
    if ((open->share.deny & access) != 0) refusal.blockers.push_back(open->client);
  }
  refusal.status = nfsstat4::NFS4ERR_LOCKED;
  return base::Failure<Refusal>{std::move(refusal)};
}

bool States::has(const stateid4& id) const {
  const auto found = registry_.ids().find(id, 1);
  return found && !(*found)->revoked;
}

nfsstat4 States::test(const stateid4& id, const Client& client) const {
  if (special_of(id, client.minor_version()) != SpecialStateId::none) return bad_stateid;
  const auto found = registry_.ids().find(id, client.minor_version());
  if (!found) return found.error();
  const State& state = **found;
  if (state.client.get() != &client) return bad_stateid;
  if (state.revoked) return registry_.kind_of(state).traits.when_revoked;
  const auto current = StateIdTable::check_seqid(state, id.seqid, client.minor_version());
  return current ? nfsstat4::NFS4_OK : current.error();
}

base::Result<void, nfsstat4> States::free(const stateid4& id, const Client& client, DeferredWork& work) {
  if (special_of(id, client.minor_version()) != SpecialStateId::none) return base::fail(bad_stateid);
  const auto found = registry_.ids().find(id, client.minor_version());
  if (!found) return base::fail(found.error());
  State& state = **found;
  if (state.client.get() != &client) return base::fail(bad_stateid);
  if (auto current = StateIdTable::check_seqid(state, id.seqid, client.minor_version()); !current)
    return current;
  Kind& kind = registry_.kind_of(state);
  if (state.revoked && kind.lessen(state, work)) return base::fail(nfsstat4::NFS4ERR_DELAY);
  if (!kind.freeable(state)) return base::fail(nfsstat4::NFS4ERR_LOCKS_HELD);
  kind.end(state, work);
  return {};
}

void States::drop_client(clientid4 client) {
  registry_.ids().remember_expired(client);
  for (Kind* const kind : registry_.kinds()) kind->client_leaves(client, left_);
  leaving_.push_back({.client = client, .gone = true});
  // Not if there is much already that nobody has taken: many may go at once.
  if (left_.gone.size() < Locks::states_at_once) go_on();
}

void States::revoke_client(clientid4 client) {
  const ClientStates* states = registry_.find_client(client);
  if (states == nullptr || states->client->minor_version() == 0) return;
  for (Kind* const kind : registry_.kinds()) kind->client_leaves(client, left_);
  leaving_.push_back({.client = client});
  go_on();
}

DeferredWork States::take_left() {
  if (!leaving_.empty()) go_on();
  return std::exchange(left_, {});
}

void States::go_on() {
  const StepCounter::Call call(registry_.steps());
  locks_.tell_some(left_);
  locks_.quietly([&] {
    for (std::size_t taken = 0; !leaving_.empty() && taken < Locks::states_at_once && !call.over();) {
      if (take_from(leaving_.front()))
        ++taken;
      else
        leaving_.pop_front();
    }
  });
  locks_.tell_some(left_);
}

bool States::take_from(Leaving& one) {
  ClientStates* const states = registry_.find_client(one.client);
  if (states == nullptr) return false;
  registry_.steps().add(1);
  if (!one.gone && !std::exchange(one.begun, true)) states->doomed = std::exchange(states->states, {});
  for (Kind* const kind : registry_.kinds()) {
    const auto number = static_cast<std::size_t>(kind->traits.kind);
    State* const doomed = states->doomed.at(number);
    State* const state = doomed == nullptr && one.gone ? states->states.at(number) : doomed;
    if (state == nullptr) continue;
    if (!one.gone && !state->revoked) kind->revoke(*state, left_);
    if (kind->lessen(*state, left_)) return true;
    if (one.gone) kind->end(*state, left_);
    if (!one.gone && states->doomed.at(number) == state) registry_.release(*state);
    return true;
  }
  if (!one.gone) return false;
  if (!states->lock_owners.empty()) {
    states->lock_owners.erase(states->lock_owners.begin());
  } else if (!states->open_owners.empty()) {
    states->open_owners.erase(states->open_owners.begin());
  } else {
    registry_.erase_client(one.client);
    return false;
  }
  return true;
}

States::ShareCheck States::check_share(clientid4 client, StateKind kind, base::TimePoint now) {
  if (!registry_.more_than_its_share(client, kind)) return {};
  ++over_share_;
  return {.over = true, .logged = share_lines_.due(now)};
}

bool States::holds_state(clientid4 client) const {
  const ClientStates* states = registry_.find_client(client);
  return states != nullptr && states->count > 0;
}

bool States::tick(base::TimePoint lease_ago, base::TimePoint now, DeferredWork& work) {
  for (Kind* const kind : registry_.kinds()) kind->tick(lease_ago, now, work);
  if (now >= next_sweep_ && to_sweep_.empty() && next_bucket_ >= registry_.clients().bucket_count()) {
    next_sweep_ = now + sweep_pause;
    next_bucket_ = 0;
  }
  return tidy(lease_ago, now, work);
}

bool States::tidy(base::TimePoint lease_ago, base::TimePoint now, DeferredWork& work) {
  return locks_.tidy(now, work) || sweep(lease_ago, work);
}

// From next_owner_ on. False: there are more.
template <class Owners, class F>
bool States::sweep(Owners& owners, const StepCounter::Call& call, F unused) {
  for (auto it = owners.lower_bound(next_owner_); it != owners.end();) {
    if (call.taken() >= sweep_portion) {
      next_owner_ = it->first;
      return false;
    }
    registry_.steps().add(1);
    it = unused(*it->second) ? owners.erase(it) : std::next(it);
  }
  next_owner_.clear();
  return true;
}

// The clients of one bucket more; whom a table that grows has put elsewhere meanwhile, the next round finds.
// False: there is none.
bool States::next_to_sweep() {
  const StateRegistry::Clients& clients = registry_.clients();
  if (next_bucket_ >= clients.bucket_count()) return false;
  registry_.steps().add(1);
  for (auto it = clients.begin(next_bucket_); it != clients.end(next_bucket_); ++it)
    to_sweep_.push_back(it->first);
  ++next_bucket_;
  return true;
}

bool States::sweep(base::TimePoint lease_ago, DeferredWork& work) {
  const StepCounter::Call call(registry_.steps());
  while (!to_sweep_.empty() || next_to_sweep()) {
    if (call.taken() >= sweep_portion) return true;
    if (to_sweep_.empty()) continue;
    registry_.steps().add(1);
    ClientStates* const states = registry_.find_client(to_sweep_.back());
    // Those of clients with sessions go with the last state of theirs.
    if (states != nullptr && (states->client->minor_version() == 0 || states->count == 0)) {
      if (!sweeping_locks_) {
        sweeping_locks_ = sweep(states->open_owners, call,
                                [&](OpenOwner& owner) { return opens_.unused(owner, lease_ago, work); });
        if (!sweeping_locks_) return true;
      }
      if (!sweep(states->lock_owners, call,
                 [&](const LockOwner& owner) { return Locks::unused(owner, lease_ago); }))
        return true;
      registry_.forget_if_unused(to_sweep_.back());
    }
    sweeping_locks_ = false;
    next_owner_.clear();
    to_sweep_.pop_back();
  }
  return false;
}

StatePage States::list(const StateQuery& query) const {
  constexpr std::uint32_t places_max = 4096;
  StatePage page;
  if (query.from >= registry_.ids().places()) return page;
  const std::uint32_t end = query.from + std::min(places_max, registry_.ids().places() - query.from);
  for (std::uint32_t index = query.from; index < end; ++index) {
    const State* state = registry_.ids().at(index);
    if (state == nullptr || (query.kind && state->kind != *query.kind)) continue;
    if (query.client && state->client->id != *query.client) continue;
    if (page.lines.size() == query.lines_max) {
      page.next = index;
      return page;
    }
    if (auto line = line_of(*state)) page.lines.push_back(std::move(*line));
  }
  if (end < registry_.ids().places()) page.next = end;
  return page;
}

std::optional<StateLine> States::line_of(const State& state) const {
  if (state.revoked) return std::nullopt;
  StateLine line;
  line.client = state.client->id;
  line.peer = state.client->intro.peer;
  line.minor_version = state.client->minor_version();
  line.kind = state.kind;
  line.id = state.id();
  line.made = state.made;
  if (!registry_.kind_of(state).describe(state, line)) return std::nullopt;
  return line;
}

StateCounts States::count(clientid4 client) const {
  const ClientStates* states = registry_.find_client(client);
  return states == nullptr ? StateCounts() : states->counts;
}

}  // namespace braid::nfs4::state
