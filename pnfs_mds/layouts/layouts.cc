#include "pnfs_mds/layouts/layouts.h"

#include <algorithm>
#include <span>

#include "nfs4/state/delegations/delegation_state.h"
#include "nfs4/state/opens/open_state.h"
#include "nfs4/state/states.h"
#include "vfs/wire_handle.h"

namespace braid::pnfs_mds::layouts {

using nfs4::nfsstat4;
using nfs4::stateid4;
using nfs4::state::Client;
using nfs4::state::DeferredWork;
using nfs4::state::FileState;
using nfs4::state::State;
using nfs4::state::StateKind;
using nfs4::state::StateLine;
using nfs4::state::States;
using nfs4::state::StateUse;

namespace {

constexpr std::uint32_t slot_mask = (1U << 30U) - 1;  // LayoutState::slot

// An open for writing, or a write delegation, which stands for one.
bool may_write(const FileState& file, const Client& client) {
  return std::ranges::any_of(file.opens,
                             [&](const nfs4::state::OpenState* open) {
                               return open->client.get() == &client &&
                                      (open->share.access & nfs4::state::share_write) != 0;
                             }) ||
         std::ranges::any_of(file.delegations, [&](const nfs4::state::DelegationState* delegation) {
           return delegation->client.get() == &client && delegation->write;
         });
}

// Where the states of a client begin, or would, among those of a file.
std::size_t place_of(nfs4::clientid4 client, const FileState& file) {
  const std::span<State* const> all = file.others.all();
  const auto id_of = [](const State* state) { return state->client->id; };
  return static_cast<std::size_t>(std::ranges::lower_bound(all, client, {}, id_of) - all.begin());
}

}  // namespace

LayoutState::~LayoutState() {
  if (writes) hold->end_writing();
}

// Linux never frees the stateid of a revoked layout, and as long as a flag in SEQUENCE is up it drops all its
// layouts again and again: so revoked ones end by themselves, and no flag is raised.
Layouts::Layouts(Cluster& cluster, std::vector<rpc::Transport> data_transport)
    : Kind({.kind = StateKind::layout,
            .name = "layout",
            .when_revoked = nfsstat4::NFS4ERR_BAD_STATEID,
            .sequence_flag = nfs4::SEQ4_STATUS_RECALLABLE_STATE_REVOKED}),
      cluster_(cluster),
      data_transport_(std::move(data_transport)),
      devices_(cluster.id()),
      client_tags_(cluster.id()),
      files_(cluster.source()),
      grants_(cluster.grants()),
      recalls_(*this, cluster),
      earlier_live_(cluster.grants().last() != pnfs::GrantNumber()) {
  cluster_.source().set_layout_recall(recalls_);
  cluster_.set_file_facts([this](pnfs::ObjectId object) { return files_.facts(object); });
  cluster_.set_drop_privileges([this](pnfs::ObjectId object) { return files_.drop_privileges(object); });
}

std::vector<Address> Layouts::addresses_for(rpc::Transport own, const DataServerInfo& server) const {
  std::vector<Address> out;
  // "rdma" for rdma and rdma6, "tcp" for tcp and tcp6.
  const auto add = [&](rpc::Transport transport) {
    const std::string_view netid = transport == rpc::Transport::rdma ? "rdma" : "tcp";
    std::ranges::copy_if(server.addresses, std::back_inserter(out),
                         [&](const Address& address) { return address.netid.starts_with(netid); });
  };
  for (const rpc::Transport transport : data_transport_) add(transport);
  if (!data_transport_.empty()) return out;
  add(own);
  if (out.empty()) add(rpc::Transport::tcp);
  return out;
}

Layouts* Layouts::among(std::span<Kind* const> kinds) {
  const auto found =
      std::ranges::find_if(kinds, [](const Kind* kind) { return kind->traits.kind == StateKind::layout; });
  return found == kinds.end() ? nullptr : static_cast<Layouts*>(*found);
}

// RFC 8881 12.5.3: LAYOUTGETs with one seqid may be under way at the same time.
base::Result<LayoutState*, nfsstat4> Layouts::find(const StateUse& use) const {
  StateUse any = use;
  any.id.seqid = 0;
  auto found = registry_->find<LayoutState>(any);
  if (!found) return found;
  const std::uint32_t ahead = use.id.seqid - (*found)->seqid;
  constexpr std::uint32_t half = 1U << 31U;
  if (use.id.seqid != 0 && ahead != 0 && ahead < half) return base::fail(nfsstat4::NFS4ERR_BAD_STATEID);
  return found;
}

LayoutState* Layouts::find(nfs4::clientid4 client, const FileState& file) {
  const std::span<State* const> all = file.others.all();
  for (std::size_t i = place_of(client, file); i < all.size() && all[i]->client->id == client; ++i)
    if (all[i]->kind == StateKind::layout) return static_cast<LayoutState*>(all[i]);
  return nullptr;
}

bool Layouts::holds(const vfs::FileHandle& file, nfs4::clientid4 client) const {
  const FileState* const found = registry_->find_file(file);
  return found != nullptr && find(client, *found) != nullptr;
}

std::optional<pnfs::KeptHandles> Layouts::handles(const vfs::FileHandle& file, nfs4::clientid4 client) const {
  const FileState* const found = registry_->find_file(file);
  const LayoutState* const layout = found == nullptr ? nullptr : find(client, *found);
  if (layout == nullptr || !layout->writes || layout->writes_from == pnfs::GrantNumber()) return std::nullopt;
  return pnfs::KeptHandles{.client = client_tags_.of(*layout->client), .from = layout->writes_from};
}

base::Result<void, nfsstat4> Layouts::admit(States& states, const StateUse& use, bool writes,
                                            DeferredWork& work) const {
  if (nfs4::state::special_of(use.id, use.minor_version) != nfs4::state::SpecialStateId::none)
    return base::fail(nfsstat4::NFS4ERR_BAD_STATEID);
  const auto named = registry_->ids().find(use.id, use.minor_version);
  if (!named) return base::fail(named.error());
  if ((*named)->kind == StateKind::layout) {
    const auto layout = find(use);
    if (!layout) return base::fail(layout.error());
    if (writes && !(*layout)->writes && !may_write(*(*layout)->file, *use.client))
      return base::fail(nfsstat4::NFS4ERR_OPENMODE);
    return check_recalls(use, *layout);
  }
  const auto granted =
      states.authorize(use, writes ? nfs4::state::share_write : nfs4::state::share_read, work);
  if (!granted) return base::fail(granted.error().status);
  return check_recalls(use, nullptr);
}

// RFC 8881 12.5.5.2: nothing is granted of what is being recalled.
base::Result<void, nfsstat4> Layouts::check_recalls(const StateUse& use, const LayoutState* layout) const {
  if (waiting_.paused(use.file) || (layout != nullptr && layout->is_recalled()))
    return base::fail(nfsstat4::NFS4ERR_RECALLCONFLICT);
  return {};
}

base::Result<stateid4, nfsstat4> Layouts::grant(States& states, const vfs::ExportTable& exports,
                                                LayoutRequest& request, DeferredWork& work) {
  if (auto admitted = admit(states, request.use, request.writes, work); !admitted)
    return base::fail(admitted.error());
  if (!permitted(exports, request.use.file, request.from.address, request.writes))
    return base::fail(nfsstat4::NFS4ERR_LAYOUTUNAVAILABLE);
  const pnfs::GrantNumber number = request.grant.number();
  FileState& file = registry_->file_of(request.use.file);
  const nfs4::state::ClientRef& client = request.use.client;
  LayoutState* layout = find(client->id, file);
  if (layout != nullptr && layout->other != request.use.id.other) {
    counters_.ended(LayoutEnd::replaced);
    finish(*layout, work);
    layout = nullptr;
  }
  nfs4::state::ClientStates& states_of_client = registry_->states_of(client);
  std::shared_ptr<const AskedFrom> from = shared(states_of_client, std::move(request.from));
  if (layout == nullptr) {
    layout = registry_->make<LayoutState>(states_of_client, file, request.file);
    if (layout == nullptr) {
      registry_->forget_if_unused(request.use.file);
      return base::fail(nfsstat4::NFS4ERR_LAYOUTTRYLATER);
    }
    layout->made = request.use.now;
    layout->grant = std::move(request.grant);
    file.others.insert(place_of(client->id, file), layout);
  } else {
    layout->bump();
  }
  if (request.writes && !layout->writes) {
    layout->hold->begin_writing();
    // LAYOUTGETs run beside each other: another one may have begun later, and brought what was returned
    // since.
    const bool is_last = number > layout->newest && ended_.all_before(client->id, number);
    layout->writes_from = is_last ? number : pnfs::GrantNumber();
  }
  layout->newest = std::max(layout->newest, number);
  if (request.writes)
    layout->writes = true;
  else
    layout->reads = true;
  layout->from = std::move(from);
  layout->slot = request.asked_in.slot & slot_mask;
  layout->sequence = request.asked_in.sequence;
  counters_.granted(request.writes);
  return layout->id();
}

std::optional<stateid4> Layouts::give_back(LayoutState& layout, bool reads, bool writes, DeferredWork& work) {
  if (writes && layout.writes) {
    layout.hold->end_writing();
    layout.writes = false;
  }
  if (reads) layout.reads = false;
  if (layout.reads || layout.writes) return layout.bump();
  finish_returned(layout, work);
  return std::nullopt;
}

void Layouts::give_back_all(nfs4::clientid4 client, std::optional<vfs::ExportId> only, DeferredWork& work) {
  for (LayoutState* const layout : all_of(client))
    if (!only || vfs::HandleCodec::export_of(layout->file->handle.view()) == *only)
      finish_returned(*layout, work);
}

std::vector<LayoutState*> Layouts::all_of(nfs4::clientid4 client) const {
  std::vector<LayoutState*> all;
  const nfs4::state::ClientStates* const states = registry_->find_client(client);
  if (states == nullptr) return all;
  constexpr auto number = static_cast<std::size_t>(StateKind::layout);
  for (State* first : {states->states.at(number), states->doomed.at(number)}) {
    for (State* state = first; state != nullptr; state = state->next) {
      auto* const layout = static_cast<LayoutState*>(state);
      if (layout->file != nullptr) all.push_back(layout);
    }
  }
  return all;
}

std::shared_ptr<const AskedFrom> Layouts::shared(const nfs4::state::ClientStates& states, AskedFrom&& from) {
  const State* const newest = states.states.at(static_cast<std::size_t>(StateKind::layout));
  if (newest != nullptr) {
    const auto& known = static_cast<const LayoutState*>(newest)->from;
    if (*known == from) return known;
  }
  return std::make_shared<const AskedFrom>(std::move(from));
}

void Layouts::finish_returned(LayoutState& layout, DeferredWork& work) {
  counters_.ended(LayoutEnd::returned);
  take_off(layout, work);
}

void Layouts::detach(LayoutState& layout) {
  ended_.note(layout.client->id, layout.newest);
  if (layout.is_recalled()) recalled_.erase({layout.recalled, &layout});
  waiting_.wake(layout.file->handle);
  layout.file->others.remove(&layout);
  layout.file = nullptr;
}

void Layouts::finish(LayoutState& layout, DeferredWork& work) {
  detach(layout);
  registry_->erase(layout, work);
}

void Layouts::end(State& state, DeferredWork& work) {
  auto& layout = static_cast<LayoutState&>(state);
  if (layout.file == nullptr) {
    std::erase(revoked_, &state);
    registry_->erase(state, work);
    return;
  }
  counters_.ended(LayoutEnd::gone);
  take_off(layout, work);
}

void Layouts::take_off(LayoutState& layout, DeferredWork& work) {
  const vfs::FileHandle handle = layout.file->handle;
  finish(layout, work);
  registry_->forget_if_unused(handle);
}

void Layouts::revoke(State& state, DeferredWork& /*work*/) {
  auto& layout = static_cast<LayoutState&>(state);
  const vfs::FileHandle handle = layout.file->handle;
  detach(layout);
  counters_.ended(LayoutEnd::revoked);
  layout.revoked = true;
  revoked_.push_back(&state);
  registry_->forget_if_unused(handle);
}

bool Layouts::describe(const State& state, StateLine& line) const {
  const auto& layout = static_cast<const LayoutState&>(state);
  if (layout.file == nullptr) return false;
  line.file = layout.file->handle;
  line.write = layout.writes;
  line.recalled = layout.is_recalled();
  const auto& opens = layout.file->opens;
  const auto own = std::ranges::find(opens, layout.client, &nfs4::state::OpenState::client);
  if (own != opens.end()) line.open = (*own)->descriptors.any();
  return true;
}

// A delegation stands for opens that the client does not tell of.
void Layouts::end_without_claim(FileState& file, const Client& client, DeferredWork& work) {
  LayoutState* const layout = find(client.id, file);
  if (layout == nullptr) return;
  const auto of_client = [&](const auto* state) { return state->client.get() == &client; };
  if (std::ranges::any_of(file.opens, of_client) || std::ranges::any_of(file.delegations, of_client)) return;
  counters_.ended(LayoutEnd::closed);
  finish(*layout, work);
}

void Layouts::last_close(FileState& file, const Client& client, DeferredWork& work) {
  end_without_claim(file, client, work);
}

void Layouts::delegation_ends(FileState& file, const Client& client, DeferredWork& work) {
  end_without_claim(file, client, work);
}

}  // namespace braid::pnfs_mds::layouts
