#include "nfs4/state/opens/opens.h"

#include <algorithm>
#include <map>
#include <utility>

namespace braid::nfs4::state {

namespace {

// Whether `share` conflicts with opens of this file; whose they are, if not the client's own. Where many do
// the first ones are enough: when these have gone, others are found.
bool denied(const FileState& file, const OpenRequest& request, const Share& share, StepCounter& steps,
            std::vector<ClientRef>& blockers) {
  const StepCounter::Call call(steps);
  if (!file.opens.shares().conflict(share)) return false;
  bool any = false;
  for (const OpenState* open : file.opens) {
    if (any && call.over()) break;
    steps.add(1);
    const bool own = open->client == request.client && open->owner->name == request.owner;
    // RFC 7530 9.9, RFC 8881 9.7: the owner's own opens count as well. But what is reclaimed twice was one
    // open.
    if ((own && request.reclaim) || !open->share.conflicts(share)) continue;
    any = true;
    if (open->client != request.client) blockers.push_back(open->client);
  }
  return any;
}

}  // namespace

vfs::OpenFileRef Descriptors::get(std::uint8_t access) const {
  if (first_ == nullptr || (static_cast<std::uint8_t>(first_->access()) & access) == access) return first_;
  return others_ == nullptr ? nullptr : others_->get(access);
}

vfs::OpenFileRef Descriptors::any() const { return first_; }

void Descriptors::add(vfs::OpenFileRef open, std::vector<vfs::OpenFileRef>& unused) {
  if (open == nullptr) return;
  if (get(static_cast<std::uint8_t>(open->access())) != nullptr) {
    unused.push_back(std::move(open));
    return;
  }
  if (first_ == nullptr) {
    first_ = std::move(open);
    return;
  }
  if (others_ == nullptr) others_ = std::make_unique<Descriptors>();
  others_->add(std::move(open), unused);
}

void Descriptors::keep_only(std::uint8_t access, std::vector<vfs::OpenFileRef>& unused) {
  if (first_ == nullptr) return;
  if (others_ != nullptr) others_->keep_only(access, unused);
  if ((static_cast<std::uint8_t>(first_->access()) & access) == 0)
    unused.push_back(std::exchange(first_, nullptr));
  std::unique_ptr<Descriptors> rest = std::move(others_);
  if (first_ == nullptr && rest != nullptr)
    *this = std::move(*rest);
  else if (rest != nullptr && rest->first_ != nullptr)
    others_ = std::move(rest);
}

Opens::Opens(StateRegistry& registry)
    : Kind({.kind = StateKind::open,
            .name = "open",
            .when_revoked = nfsstat4::NFS4ERR_ADMIN_REVOKED,
            .sequence_flag = SEQ4_STATUS_ADMIN_STATE_REVOKED}),
      registry_(registry) {}

OpenOwner* Opens::owner_for(ClientStates& states, std::string_view name, base::TimePoint now, bool admitted) {
  auto found = states.open_owners.find(name);
  if (found == states.open_owners.end()) {
    if (!admitted && !registry_.room_for_owner(&states.peer, states.open_owners.size())) {
      registry_.note_refused();
      return nullptr;
    }
    auto owner = std::make_unique<OpenOwner>(registry_.owners(), states.peer.owners);
    found = states.open_owners.emplace(std::string(name), std::move(owner)).first;
    found->second->name = name;
    found->second->confirmed = states.client->minor_version() > 0;
  }
  found->second->used = now;
  return found->second.get();
}

OpenState* Opens::state_for(ClientStates& states, FileState& file, OpenOwner& owner, bool admitted,
                            bool& fresh) {
  if (OpenState* const known = file.opens.of(owner)) return known;
  auto* const open = admitted ? registry_.make_over_share<OpenState>(states, file, owner)
                              : registry_.make<OpenState>(states, file, owner);
  if (open == nullptr) return nullptr;
  fresh = true;
  open->made = owner.used;
  file.opens.add(*open);
  ++owner.opens;
  if (!owner.confirmed) owner.latest = open;
  return open;
}

base::Result<void, nfsstat4> Opens::admit_one_more(const Client& client, std::string_view owner) {
  const ClientStates* states = registry_.find_client(client.id);
  const PeerStates* peer = registry_.find_peer(client);
  const bool owner_fits = (states != nullptr && states->open_owners.contains(owner)) ||
                          registry_.room_for_owner(peer, states == nullptr ? 0 : states->open_owners.size());
  const bool state_fits = registry_.room_for_state(peer, states == nullptr ? 0 : states->count);
  if (owner_fits && state_fits) return {};
  registry_.note_refused();
  return base::fail(limit_status(client.minor_version()));
}

base::Result<void, Refusal> Opens::admit(const OpenRequest& request, DeferredWork& work) {
  // Also of a file that nobody has state on: a kind may know why it is not to be had now.
  FileState nobodys;
  nobodys.handle = request.file;
  FileState* const found = registry_.find_file(request.file);
  FileState* const file = found != nullptr ? found : &nobodys;
  Refusal refusal{nfsstat4::NFS4ERR_SHARE_DENIED, {}};
  if (denied(*file, request, request.needed(), registry_.steps(), refusal.blockers))
    return base::Failure<Refusal>{std::move(refusal)};
  refusal.status = nfsstat4::NFS4ERR_DELAY;
  bool waits = false;
  for (Kind* const kind : registry_.kinds())
    waits = kind->in_the_way(*file, request, refusal.blockers, work) || waits;
  if (waits) return base::Failure<Refusal>{std::move(refusal)};
  return {};
}

base::Result<OpenAnswer, Refusal> Opens::open(OpenRequest request, DeferredWork& work) {
  const StepCounter::Call call(registry_.steps());
  // A client may be removed while its OPEN waits for the file system; state made now would stay for ever.
  if (request.client->gone()) return refused(nfsstat4::NFS4ERR_EXPIRED);
  if (auto admitted = admit(request, work); !admitted) {
    work.unused.push_back(std::move(request.descriptor));
    return base::Failure<Refusal>{std::move(admitted.error())};
  }
  ClientStates& states = registry_.states_of(request.client);
  OpenOwner* owner = owner_for(states, request.owner, request.now, request.made);
  if (owner == nullptr) return refused(limit_status(request.minor_version));
  FileState& file = registry_.file_of(request.file);
  bool fresh = false;
  OpenState* open = state_for(states, file, *owner, request.made, fresh);
  if (open == nullptr) {
    registry_.forget_if_unused(request.file);
    if (request.minor_version > 0 && owner->opens == 0)
      states.open_owners.erase(states.open_owners.find(request.owner));
    // Who comes again would find the file that was made.
    return refused(request.made ? nfsstat4::NFS4ERR_SERVERFAULT : limit_status(request.minor_version));
  }
  if (request.reclaim) owner->confirmed = true;  // RFC 7530 9.1.11: who reclaims has been confirmed before
  OpenAnswer answer{.id = {},
                    .fresh = fresh,
                    .confirm = !owner->confirmed,
                    .delegation = std::nullopt,
                    .no_delegation = why_no_delegation4::WND4_NOT_WANTED,
                    .descriptor = nullptr,
                    .former = open->share,
                    .former_history = open->history,
                    .former_seqid = open->seqid};
  if (fresh) open->opener = request.opener;
  file.opens.set_share(*open, open->share.with(request.share));
  open->history.add(request.share);
  open->descriptors.add(std::move(request.descriptor), work.unused);
  answer.id = fresh ? open->id() : open->bump();
  for (const Kind* const kind : registry_.kinds()) kind->offer(*open, request, answer);
  return answer;
}

void Opens::undo(const OpenAnswer& answer, DeferredWork& work) {
  const auto found = registry_.ids().find(answer.id, 1);
  if (!found || (*found)->kind != StateKind::open) return;
  auto& open = static_cast<OpenState&>(**found);
  if (open.file == nullptr || open.seqid != answer.id.seqid) return;  // others have built on it
  if (answer.fresh) {
    end(open, work);
    return;
  }
  open.file->opens.set_share(open, answer.former);
  open.history = answer.former_history;
  open.seqid = answer.former_seqid;
  open.descriptors.keep_only(open.share.access, work.unused);
}

base::Result<stateid4, nfsstat4> Opens::confirm(const StateUse& use) {
  const auto open = registry_.find<OpenState>(use);
  if (!open) return base::fail(open.error());
  OpenOwner& owner = *(*open)->owner;
  if (owner.confirmed) return base::fail(nfsstat4::NFS4ERR_BAD_STATEID);
  owner.confirmed = true;
  owner.latest = nullptr;
  return (*open)->bump();
}

base::Result<stateid4, nfsstat4> Opens::downgrade(const StateUse& use, const Share& share,
                                                  DeferredWork& work) {
  const auto found = registry_.find<OpenState>(use);
  if (!found) return base::fail(found.error());
  OpenState& open = **found;
  if (!open.owner->confirmed) return base::fail(nfsstat4::NFS4ERR_BAD_STATEID);
  if (!open.share.covers(share) || !open.history.allows(share)) return base::fail(nfsstat4::NFS4ERR_INVAL);
  open.file->opens.set_share(open, share);
  open.history.cut(share);
  open.descriptors.keep_only(share.access, work.unused);
  return open.bump();
}

base::Result<stateid4, nfsstat4> Opens::close(const StateUse& use, DeferredWork& work) {
  const StepCounter::Call call(registry_.steps());
  const auto found = registry_.find<OpenState>(use);
  if (!found) return base::fail(found.error());
  OpenState& open = **found;
  if (!open.owner->confirmed) return base::fail(nfsstat4::NFS4ERR_BAD_STATEID);
  if (use.minor_version > 0) {
    end(open, work);
    return invalid_stateid();  // RFC 8881 18.2.4
  }
  // RFC 7530 16.3.5: the stateid stays known until the owner's next operation, so that a repetition finds
  // the owner.
  drop_closed(*open.owner, work);
  detach(open, work);
  open.closed = true;
  open.owner->latest = &open;
  open.owner->used = use.now;
  return open.bump();
}

void Opens::detach(OpenState& open, DeferredWork& work) {
  for (Kind* const kind : registry_.kinds()) kind->open_ends(open, work);
  open.descriptors.keep_only(0, work.unused);
  FileState& file = *std::exchange(open.file, nullptr);
  const bool last = file.opens.remove(open);
  --open.owner->opens;
  if (last)
    for (Kind* const kind : registry_.kinds()) kind->last_close(file, *open.client, work);
  const vfs::FileHandle handle = file.handle;
  registry_.forget_if_unused(handle);
}

void Opens::end(State& state, DeferredWork& work) {
  auto& open = static_cast<OpenState&>(state);
  if (open.revoked) {
    registry_.note_freed(open);
    registry_.erase(open, work);
    return;
  }
  if (open.file != nullptr) detach(open, work);
  OpenOwner& owner = *open.owner;
  ClientStates& states = *registry_.find_client(open.client->id);
  if (owner.latest == &open) owner.latest = nullptr;
  const bool sessions = open.client->minor_version() > 0;
  registry_.erase(open, work);
  if (sessions && owner.opens == 0) states.open_owners.erase(states.open_owners.find(owner.name));
}

// Its locks have been revoked before it.
void Opens::revoke(State& state, DeferredWork& work) {
  auto& open = static_cast<OpenState&>(state);
  ClientStates& states = *registry_.find_client(open.client->id);
  OpenOwner& owner = *open.owner;
  detach(open, work);
  open.owner = nullptr;
  registry_.note_revoked(open);
  if (owner.opens == 0) states.open_owners.erase(states.open_owners.find(owner.name));
}

bool Opens::describe(const State& state, StateLine& line) const {
  const auto& open = static_cast<const OpenState&>(state);
  if (open.file == nullptr) return false;
  line.file = open.file->handle;
  line.owner = open.owner->name;
  line.share = open.share;
  line.history = open.history;
  line.open = open.descriptors.any();
  return true;
}

void Opens::drop_closed(OpenOwner& owner, DeferredWork& work) {
  if (owner.latest == nullptr || !owner.latest->closed) return;
  OpenState& closed = *owner.latest;
  owner.latest = nullptr;
  registry_.erase(closed, work);
}

bool Opens::unused(OpenOwner& owner, base::TimePoint before, DeferredWork& work) {
  if (owner.sequence.busy() || owner.used > before) return false;
  if (!owner.confirmed && owner.latest != nullptr && !owner.latest->closed) end(*owner.latest, work);
  if (owner.opens > 0) return false;
  drop_closed(owner, work);
  return true;
}

}  // namespace braid::nfs4::state
