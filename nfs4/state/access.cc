// What a stateid allows.
#include <utility>

#include "nfs4/state/file_states.h"
#include "nfs4/state/records.h"

namespace braid::nfs4::state {

namespace {

constexpr auto bad_stateid = nfsstat4::NFS4ERR_BAD_STATEID;

bool is_of(const FileState* state, const vfs::FileHandle& file) {
  return state != nullptr && state->handle == file;
}

}  // namespace

base::Result<State*, nfsstat4> FileStates::find(const StateUse& use) const {
  if (special_of(use.id, use.minor_version) != SpecialStateId::none) return base::fail(bad_stateid);
  const auto found = table_.find(use.id, use.minor_version);
  if (!found) return found;
  State& state = **found;
  // RFC 8881 8.2.4: a stateid belongs to the client of the session it is used in.
  if (use.client != nullptr ? state.client != use.client : state.client->minor_version() != 0)
    return base::fail(bad_stateid);
  // It is released when the client's record is off the disk.
  if (state.client->gone()) return base::fail(nfsstat4::NFS4ERR_EXPIRED);
  if (state.revoked) {
    const bool delegation = state.kind == StateKind::delegation;
    return base::fail(delegation ? nfsstat4::NFS4ERR_DELEG_REVOKED : nfsstat4::NFS4ERR_ADMIN_REVOKED);
  }
  if (auto current = StateIdTable::check_seqid(state, use.id.seqid, use.minor_version); !current)
    return base::fail(current.error());
  // RFC 7530 9.5: whoever uses a stateid renews the lease that it belongs to.
  if (use.minor_version == 0) state.client->renew(use.now);
  return &state;
}

base::Result<OpenState*, nfsstat4> FileStates::find_open(const StateUse& use) const {
  const auto found = find(use);
  if (!found) return base::fail(found.error());
  if ((*found)->kind != StateKind::open) return base::fail(bad_stateid);
  auto* open = static_cast<OpenState*>(*found);
  if (!is_of(open->file, use.file)) return base::fail(bad_stateid);
  return open;
}

base::Result<LockState*, nfsstat4> FileStates::find_lock(const StateUse& use) const {
  const auto found = find(use);
  if (!found) return base::fail(found.error());
  if ((*found)->kind != StateKind::lock) return base::fail(bad_stateid);
  auto* lock = static_cast<LockState*>(*found);
  if (!is_of(lock->file, use.file)) return base::fail(bad_stateid);
  return lock;
}

base::Result<DelegationState*, nfsstat4> FileStates::find_delegation(const StateUse& use) const {
  const auto found = find(use);
  if (!found) return base::fail(found.error());
  if ((*found)->kind != StateKind::delegation) return base::fail(bad_stateid);
  auto* delegation = static_cast<DelegationState*>(*found);
  if (!is_of(delegation->file, use.file)) return base::fail(bad_stateid);
  return delegation;
}

base::Result<IoGrant, Refusal> FileStates::authorize(const StateUse& use, std::uint8_t access,
                                                     Aftermath& after) {
  const SpecialStateId special = special_of(use.id, use.minor_version);
  if (special != SpecialStateId::none) return authorize_without_state(use, access, special, after);
  const auto found = find(use);
  if (!found) return refused(found.error());
  if ((*found)->kind == StateKind::delegation) {
    const auto& delegation = static_cast<const DelegationState&>(**found);
    if (!is_of(delegation.file, use.file)) return refused(bad_stateid);
    if (!delegation.write && (access & share_write) != 0) return refused(nfsstat4::NFS4ERR_OPENMODE);
    const bool fits = delegation.descriptor != nullptr &&
                      (static_cast<std::uint8_t>(delegation.descriptor->access()) & access) == access;
    return IoGrant{fits ? delegation.descriptor : nullptr, delegation.client,
                   delegation.opener != use.caller};
  }
  if ((*found)->kind != StateKind::open && (*found)->kind != StateKind::lock) return refused(bad_stateid);
  const OpenState& open = (*found)->kind == StateKind::open ? static_cast<const OpenState&>(**found)
                                                            : *static_cast<const LockState&>(**found).open;
  if (!is_of(open.file, use.file) || !open.owner->confirmed) return refused(bad_stateid);
  if ((open.share.access & access) != access) return refused(nfsstat4::NFS4ERR_OPENMODE);
  return IoGrant{open.descriptors.get(access), open.client, open.opener != use.caller};
}

base::Result<IoGrant, Refusal> FileStates::authorize_without_state(const StateUse& use, std::uint8_t access,
                                                                   SpecialStateId special, Aftermath& after) {
  if (special != SpecialStateId::anonymous && special != SpecialStateId::read_bypass)
    return refused(bad_stateid);
  FileState* file = find_file(use.file);
  if (file == nullptr) return IoGrant{};
  Refusal refusal;
  const bool writes = (access & share_write) != 0;
  if (recall_conflicting(*file, use.client.get(), writes, use.now, refusal.blockers, after)) {
    refusal.status = nfsstat4::NFS4ERR_DELAY;
    return base::Failure<Refusal>{std::move(refusal)};
  }
  // RFC 8881 8.2.3: only reading with all bits set passes by share reservations.
  if (special == SpecialStateId::read_bypass && !writes) return IoGrant{};
  for (const OpenState* open : file->opens)
    if ((open->share.deny & access) != 0) refusal.blockers.push_back(open->client);
  if (refusal.blockers.empty()) return IoGrant{};
  refusal.status = nfsstat4::NFS4ERR_LOCKED;
  return base::Failure<Refusal>{std::move(refusal)};
}

bool FileStates::has(const stateid4& id) const {
  const auto found = table_.find(id, 1);
  return found && !(*found)->revoked;
}

nfsstat4 FileStates::test(const stateid4& id, const Client& client) const {
  if (special_of(id, client.minor_version()) != SpecialStateId::none) return bad_stateid;
  const auto found = table_.find(id, client.minor_version());
  if (!found) return found.error();
  const State& state = **found;
  if (state.client.get() != &client) return bad_stateid;
  if (state.revoked)
    return state.kind == StateKind::delegation ? nfsstat4::NFS4ERR_DELEG_REVOKED
                                               : nfsstat4::NFS4ERR_ADMIN_REVOKED;
  const auto current = StateIdTable::check_seqid(state, id.seqid, client.minor_version());
  return current ? nfsstat4::NFS4_OK : current.error();
}

base::Result<void, nfsstat4> FileStates::free(const stateid4& id, const Client& client, Aftermath& after) {
  if (special_of(id, client.minor_version()) != SpecialStateId::none) return base::fail(bad_stateid);
  const auto found = table_.find(id, client.minor_version());
  if (!found) return base::fail(found.error());
  State& state = **found;
  if (state.client.get() != &client) return base::fail(bad_stateid);
  if (auto current = StateIdTable::check_seqid(state, id.seqid, client.minor_version()); !current)
    return current;
  if (state.kind == StateKind::delegation && state.revoked) {
    end(static_cast<DelegationState&>(state), after);
    return {};
  }
  if (state.kind == StateKind::open && state.revoked) {
    end(static_cast<OpenState&>(state), after);
    return {};
  }
  // RFC 8881 18.38.3: only locks that lock nothing are freed without having been revoked.
  if (state.kind == StateKind::lock && static_cast<LockState&>(state).ranges.empty()) {
    end(static_cast<LockState&>(state), after);
    return {};
  }
  return base::fail(nfsstat4::NFS4ERR_LOCKS_HELD);
}

std::optional<StateLine> line_of(const State& state) {
  StateLine line{.client = state.client->id,
                 .peer = state.client->intro.peer,
                 .minor_version = state.client->minor_version(),
                 .kind = state.kind,
                 .id = state.id(),
                 .made = state.made,
                 .owner = {},
                 .file = {},
                 .share = {},
                 .ranges = {},
                 .range_count = 0,
                 .write = false,
                 .directory = false,
                 .recalled = false,
                 .open = nullptr,
                 .watched = {}};
  if (state.revoked) return std::nullopt;
  if (state.kind == StateKind::open) {
    const auto& open = static_cast<const OpenState&>(state);
    if (open.file == nullptr) return std::nullopt;
    line.file = open.file->handle;
    line.owner = open.owner->name;
    line.share = open.share;
    line.open = open.descriptors.any();
  } else if (state.kind == StateKind::lock) {
    const auto& lock = static_cast<const LockState&>(state);
    line.file = lock.file->handle;
    line.owner = lock.owner->name;
    line.range_count = lock.ranges.size();
    lock.ranges.each([&](const HeldRange& held) {
      if (line.ranges.size() < StateLine::ranges_max) line.ranges.push_back(held);
    });
    line.open = lock.open->descriptors.any();
  } else if (state.kind == StateKind::delegation) {
    const auto& delegation = static_cast<const DelegationState&>(state);
    if (delegation.file == nullptr) return std::nullopt;
    line.file = delegation.file->handle;
    line.write = delegation.write;
    line.directory = delegation.directory;
    line.recalled = delegation.phase != DelegationPhase::granted;
    line.open = delegation.descriptor;
    if (delegation.directory && delegation.lease != nullptr) line.watched = delegation.lease->file();
  } else {
    return std::nullopt;
  }
  return line;
}

}  // namespace braid::nfs4::state
