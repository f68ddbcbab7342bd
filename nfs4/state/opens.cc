// OPEN, OPEN_CONFIRM, OPEN_DOWNGRADE, CLOSE on FileStates.
#include <utility>

#include "nfs4/state/file_states.h"
#include "nfs4/state/records.h"

namespace braid::nfs4::state {

namespace {

// Whether `share` conflicts with opens of this file; whose they are, if not the client's own.
bool denied(const FileState& file, const OpenRequest& request, const Share& share,
            std::vector<ClientRef>& blockers) {
  bool any = false;
  for (const OpenState* open : file.opens) {
    const bool own = open->client == request.client && open->owner->name == request.owner;
    // RFC 7530 9.9, RFC 8881 9.7: the owner's own opens count as well. But what is reclaimed twice was one
    // open.
    if ((own && request.reclaim) || !open->share.conflicts(share)) continue;
    any = true;
    if (open->client != request.client) blockers.push_back(open->client);
  }
  return any;
}

// Reading in spite of a read delegation is what it is for; anything else changes the file, or keeps its
// holder from reading.
bool needs_all_back(const Share& share) {
  return (share.access & share_write) != 0 || (share.deny & share_read) != 0;
}

}  // namespace

OpenOwner* FileStates::open_owner_for(ClientStates& states, std::string_view name, base::TimePoint now) {
  auto found = states.open_owners.find(name);
  if (found == states.open_owners.end()) {
    if (!room_for_owner(states.open_owners.size(), owners_, limits_)) return nullptr;
    found = states.open_owners.emplace(std::string(name), std::make_unique<OpenOwner>(owners_)).first;
    found->second->name = name;
    found->second->confirmed = states.client->minor_version() > 0;
  }
  found->second->used = now;
  return found->second.get();
}

OpenState* FileStates::open_state_for(ClientStates& states, FileState& file, OpenOwner& owner, bool& fresh) {
  for (OpenState* open : file.opens)
    if (open->owner == &owner) return open;
  auto* open = make<OpenState>(states, file, owner);
  if (open == nullptr) return nullptr;
  fresh = true;
  open->made = owner.used;
  file.opens.push_back(open);
  ++owner.opens;
  if (!owner.confirmed) owner.latest = open;
  return open;
}

base::Result<void, nfsstat4> FileStates::admit_one_more(const Client& client, std::string_view owner) const {
  const ClientStates* states = find_client(client.id);
  const bool owner_fits =
      (states != nullptr && states->open_owners.contains(owner)) ||
      room_for_owner(states == nullptr ? 0 : states->open_owners.size(), owners_, limits_);
  const bool state_fits = !table_.full() && (states == nullptr || states->count < limits_.states_per_client);
  if (owner_fits && state_fits) return {};
  return base::fail(limit_status(client.minor_version()));
}

bool FileStates::opens_much(clientid4 client) const {
  const ClientStates* states = find_client(client);
  return states != nullptr && std::uint64_t{states->counts.opens} * (clients_.size() + 1) > counts_.opens;
}

base::Result<void, Refusal> FileStates::admit_open(const OpenRequest& request, Aftermath& after) {
  FileState* file = find_file(request.file);
  if (file == nullptr) return {};
  Share needed = request.share;
  if (request.also_writes) needed.access |= share_write;
  Refusal refusal{nfsstat4::NFS4ERR_SHARE_DENIED, {}};
  if (denied(*file, request, needed, refusal.blockers)) return base::Failure<Refusal>{std::move(refusal)};
  refusal.status = nfsstat4::NFS4ERR_DELAY;
  if (recall_conflicting(*file, request.client.get(), needs_all_back(needed), request.now, refusal.blockers,
                         after))
    return base::Failure<Refusal>{std::move(refusal)};
  return {};
}

base::Result<OpenAnswer, Refusal> FileStates::open(OpenRequest request, Aftermath& after) {
  // A client may be removed while its OPEN waits for the file system; state made now would stay for ever.
  if (request.client->gone()) return refused(nfsstat4::NFS4ERR_EXPIRED);
  if (auto admitted = admit_open(request, after); !admitted) {
    after.unused.push_back(std::move(request.descriptor));
    return base::Failure<Refusal>{std::move(admitted.error())};
  }
  ClientStates& states = states_of(request.client);
  OpenOwner* owner = open_owner_for(states, request.owner, request.now);
  if (owner == nullptr) return refused(limit_status(request.minor_version));
  FileState& file = file_of(request.file);
  bool fresh = false;
  OpenState* open = open_state_for(states, file, *owner, fresh);
  if (open == nullptr) {
    forget_if_unused(request.file);
    if (request.minor_version > 0 && owner->opens == 0)
      states.open_owners.erase(states.open_owners.find(request.owner));
    return refused(limit_status(request.minor_version));
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
  open->share = open->share.with(request.share);
  open->history.add(request.share);
  open->descriptors.add(std::move(request.descriptor), after.unused);
  answer.id = fresh ? open->id() : open->bump();
  if (request.reclaim) {
    answer.descriptor = open->descriptors.get(request.share.access);
  } else if (const auto type = offer(*open, request.wish, request.now)) {
    answer.delegation = *type;
    const bool writes = *type == open_delegation_type4::OPEN_DELEGATE_WRITE;
    answer.descriptor = open->descriptors.get(writes ? share_both : share_read);
  } else {
    answer.no_delegation = type.error();
  }
  return answer;
}

void FileStates::undo_open(const OpenAnswer& answer, Aftermath& after) {
  const auto found = table_.find(answer.id, 1);
  if (!found || (*found)->kind != StateKind::open) return;
  auto& open = static_cast<OpenState&>(**found);
  if (open.file == nullptr || open.seqid != answer.id.seqid) return;  // others have built on it
  if (answer.fresh) {
    end(open, after);
    return;
  }
  open.share = answer.former;
  open.history = answer.former_history;
  open.seqid = answer.former_seqid;
  open.descriptors.keep_only(open.share.access, after.unused);
}

base::Result<stateid4, nfsstat4> FileStates::confirm(const StateUse& use) {
  const auto open = find_open(use);
  if (!open) return base::fail(open.error());
  OpenOwner& owner = *(*open)->owner;
  if (owner.confirmed) return base::fail(nfsstat4::NFS4ERR_BAD_STATEID);
  owner.confirmed = true;
  owner.latest = nullptr;
  return (*open)->bump();
}

base::Result<stateid4, nfsstat4> FileStates::downgrade(const StateUse& use, const Share& share,
                                                       Aftermath& after) {
  const auto found = find_open(use);
  if (!found) return base::fail(found.error());
  OpenState& open = **found;
  if (!open.owner->confirmed) return base::fail(nfsstat4::NFS4ERR_BAD_STATEID);
  if (!open.share.covers(share) || !open.history.allows(share)) return base::fail(nfsstat4::NFS4ERR_INVAL);
  open.share = share;
  open.history.cut(share);
  open.descriptors.keep_only(share.access, after.unused);
  return open.bump();
}

base::Result<stateid4, nfsstat4> FileStates::close(const StateUse& use, Aftermath& after) {
  const auto found = find_open(use);
  if (!found) return base::fail(found.error());
  OpenState& open = **found;
  if (!open.owner->confirmed) return base::fail(nfsstat4::NFS4ERR_BAD_STATEID);
  if (use.minor_version > 0) {
    end(open, after);
    return invalid_stateid();  // RFC 8881 18.2.4
  }
  // RFC 7530 16.3.5: the stateid stays known until the owner's next operation, so that a repetition finds
  // the owner.
  drop_closed(*open.owner, after);
  detach(open, after);
  open.closed = true;
  open.owner->latest = &open;
  open.owner->used = use.now;
  return open.bump();
}

}  // namespace braid::nfs4::state
