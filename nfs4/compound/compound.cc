#include "nfs4/compound/compound.h"

#include <algorithm>
#include <utility>

#include "nfs/caller.h"
#include "nfs4/handle_resolver.h"
#include "nfs4/pseudo/pseudo_tree.h"
#include "nfs4/state/clients/session.h"
#include "nfs4/state/state_id.h"
#include "rpc/usage.h"
#include "vfs/wire_handle.h"

namespace braid::nfs4 {
namespace {

vfs::Protocol protocol_of(std::uint32_t minor_version) {
  switch (minor_version) {
    case 0:
      return vfs::Protocol::nfs40;
    case 1:
      return vfs::Protocol::nfs41;
    default:
      return vfs::Protocol::nfs42;
  }
}

}  // namespace

Compound::Compound(const ServerState& server, rpc::Call& call, std::uint32_t minor_version,
                   std::uint32_t operation_count)
    : server_(server),
      call_(call),
      minor_version_(minor_version),
      operation_count_(operation_count),
      began_(call.arrived),
      exports_(server.exports.current()) {}

base::TimePoint Compound::now() const { return std::max(began_, server_.clock.recently()); }

std::optional<std::string_view> Compound::keep(base::BytesView text) {
  bool fits = false;
  const std::span<char> copy = call_.arena.make<char>(text.size(), fits);
  if (!fits) return std::nullopt;
  std::ranges::copy(base::text_of(text), copy.begin());
  return std::string_view(copy.data(), copy.size());
}

const PseudoTree& Compound::pseudo_tree() const {
  if (!pseudo_) pseudo_ = server_.pseudo.tree_of(exports_);
  return *pseudo_;
}

void Compound::set_current(Place place, std::optional<vfs::Attributes> seen) {
  current_ = std::move(place);
  seen_ = seen;
  current_stateid_ = state::anonymous_stateid();
}

void Compound::save_current() {
  saved_ = current_;
  saved_stateid_ = current_stateid_;
}

Result4<void> Compound::restore_saved() {
  if (!saved_)
    return refuse(minor_version_ == 0 ? nfsstat4::NFS4ERR_RESTOREFH : nfsstat4::NFS4ERR_NOFILEHANDLE);
  current_ = saved_;
  current_stateid_ = saved_stateid_;
  return {};
}

void Compound::read(std::uint64_t bytes) const {
  if (call_.usage != nullptr) call_.usage->read(current_.export_number(), bytes);
}

void Compound::wrote(std::uint64_t bytes) const {
  if (call_.usage != nullptr) call_.usage->wrote(current_.export_number(), bytes);
}

vfs::LeaseHolder Compound::holder() const {
  return in_session ? vfs::LeaseHolder(in_session->session->client->id) : vfs::LeaseHolder();
}

vfs::Credentials Compound::credentials_by(const vfs::ExportRule& rule) const {
  vfs::Credentials who = nfs::credentials_of(call_.auth, rule);
  who.protocol = protocol_of(minor_version_);
  who.holder = holder();
  who.peer = call_.peer_id;
  return who;
}

Result4<Place> Compound::place_of(const PseudoNode& node) const {
  const vfs::Address client = nfs::address_of(call_.peer);
  if (node.from == nullptr) {
    // Other clients' exports are nothing to know about; the root is there for everybody.
    if (node.parent != nullptr && !node.visible_to(client)) return refuse(nfsstat4::NFS4ERR_NOENT);
    return Place{.node = &node};
  }
  const vfs::ExportRule* const rule = node.from->rule_of(client);
  if (rule == nullptr)
    return refuse(node.parent == nullptr ? nfsstat4::NFS4ERR_ACCESS : nfsstat4::NFS4ERR_NOENT);
  return Place{node.from, credentials_by(*rule), node.from->file_system->root(), nullptr};
}

Result4<Place> Compound::root() const {
  auto root = place_of(pseudo_tree().root());
  if (!root) tell_of_refused("/", root.error());
  return root;
}

void Compound::tell_of_refused(const std::string& path, nfsstat4 status) const {
  const vfs::Network client{.base = nfs::address_of(call_.peer)};
  server_.pseudo.refused().tell(client.text(), path, minor_version_, status, now());
}

Op4<Place> Compound::resolve(base::BytesView handle) const {
  if (server_.handles != nullptr) return server_.handles->resolve(*this, handle);
  if (PseudoTree::owns(handle)) {
    const PseudoNode* node = pseudo_tree().find(handle);
    // Anybody can make up the handle of a directory whose path he guesses: it is not to tell what there is.
    const bool hidden =
        node != nullptr && node->parent != nullptr && !node->visible_to(nfs::address_of(call_.peer));
    if (node == nullptr || hidden) return refuse(nfsstat4::NFS4ERR_STALE);
    // Where an export has come since, it is what the name leads to; the handle stays that of the directory.
    return Place{.node = node};
  }
  const vfs::Export* from = exports_->by_handle(handle);
  if (from == nullptr) {
    const bool ours = vfs::HandleCodec::export_of(handle).has_value();
    return refuse(ours ? nfsstat4::NFS4ERR_STALE : nfsstat4::NFS4ERR_BADHANDLE);
  }
  const vfs::ExportRule* const rule = from->rule_of(nfs::address_of(call_.peer));
  if (rule == nullptr) return refuse(nfsstat4::NFS4ERR_ACCESS);
  return resolve_in({*from, *rule}, handle);
}

// A handle that is known needs no waiting, and so no coroutine.
Op4<Place> Compound::resolve_in(Admitted by, base::BytesView handle) const {
  vfs::VfsOp<vfs::FileRef> resolving = by.from.file_system->resolve(handle);
  resolving.start(call_.peer_id);
  if (resolving.done()) return place_in(by, std::move(resolving.result()));
  return resolve_later(by, std::move(resolving));
}

Op4<Place> Compound::resolve_later(Admitted by, vfs::VfsOp<vfs::FileRef> resolving) const {
  auto file = co_await std::move(resolving).as_result();
  co_return co_await place_in(by, std::move(file));
}

Result4<Place> Compound::place_in(Admitted by, base::Result<vfs::FileRef, vfs::Error> file) const {
  if (!file) return refuse(file.error());
  return Place{&by.from, credentials_by(by.rule), std::move(*file), nullptr};
}

const PseudoNode* Compound::junction_at(const Place& at, std::string_view name) const {
  if (at.pseudo()) return at.node->child(name);
  // A single export has nothing below it.
  if (exports_->all().size() < 2 || !at.export_root()) return nullptr;
  const PseudoNode* node = pseudo_tree().node_of(*at.from);
  return node == nullptr ? nullptr : node->child(name);
}

Result4<void> Compound::check_no_junction(const Place& at, std::string_view name, nfsstat4 there,
                                          nfsstat4 hidden) const {
  const PseudoNode* const node = junction_at(at, name);
  if (node == nullptr) return {};
  return refuse(place_of(*node) ? there : hidden);
}

Op4<LookedUp> Compound::look_up(Place at, std::string_view name) const {
  if (const PseudoNode* node = junction_at(at, name); node != nullptr) {
    auto found = place_of(*node);
    if (!found) tell_of_refused(node->path, found.error());
    Place there = co_await std::move(found);
    co_return LookedUp{std::move(there), std::nullopt};
  }
  if (at.pseudo()) {
    const bool root = at.node->parent == nullptr;
    tell_of_refused((root ? "/" : at.node->path + "/") + std::string(name), nfsstat4::NFS4ERR_NOENT);
    co_return refuse(nfsstat4::NFS4ERR_NOENT);
  }
  auto found = co_await at.fs().lookup(at.who, at.file, name).as_result();
  if (!found) co_return refuse(found.error());
  co_return LookedUp{Place{at.from, at.who, std::move(found->file), nullptr}, found->attributes};
}

Op4<LookedUp> Compound::look_up_parent(Place at) const {
  const bool border = at.pseudo() || at.export_root();
  if (border) {
    const PseudoNode* node = at.pseudo() ? at.node : pseudo_tree().node_of(*at.from);
    // RFC 8881 18.14.3: above the root there is nothing.
    if (node == nullptr || node->parent == nullptr) co_return refuse(nfsstat4::NFS4ERR_NOENT);
    Place there = co_await place_of(*node->parent);
    co_return LookedUp{std::move(there), std::nullopt};
  }
  auto found = co_await at.fs().lookup(at.who, at.file, "..").as_result();
  if (!found) co_return refuse(found.error());
  co_return LookedUp{Place{at.from, at.who, std::move(found->file), nullptr}, found->attributes};
}

Result4<const Place*> Compound::current_in_export(nfsstat4 otherwise) const {
  if (current_.pseudo()) return refuse(otherwise);
  return &current_;
}

Result4<void> Compound::check_regular(vfs::FileType type) const {
  switch (type) {
    case vfs::FileType::regular:
      return {};
    case vfs::FileType::directory:
      return refuse(nfsstat4::NFS4ERR_ISDIR);
    case vfs::FileType::symlink:
      // RFC 8881 15.1.2.9; RFC 7530 16.23.4 has INVAL for whatever is neither file nor directory.
      return refuse(minor_version_ == 0 ? nfsstat4::NFS4ERR_INVAL : nfsstat4::NFS4ERR_SYMLINK);
    default:
      return refuse(minor_version_ == 0 ? nfsstat4::NFS4ERR_INVAL : nfsstat4::NFS4ERR_WRONG_TYPE);
  }
}

Result4<void> Compound::check_directory(vfs::FileType type) const {
  if (type == vfs::FileType::directory) return {};
  return refuse(type == vfs::FileType::symlink ? nfsstat4::NFS4ERR_SYMLINK : nfsstat4::NFS4ERR_NOTDIR);
}

Result4<stateid4> Compound::named(const stateid4& id) const {
  if (minor_version_ == 0 || state::special_of(id, minor_version_) != state::SpecialStateId::current)
    return id;
  // RFC 8881 16.2.3.1.2: the anonymous one says that there is no current stateid.
  if (current_stateid_ == state::anonymous_stateid()) return refuse(nfsstat4::NFS4ERR_BAD_STATEID);
  return current_stateid_;
}

state::ClientRef Compound::client() const {
  return in_session ? in_session->session->client : state::ClientRef();
}

vfs::ReadMemory Compound::read_memory() {
  // A reply that is kept is copied, which the bytes in pipes cannot be.
  const bool by_reference = payloads_++ < xdr::Message::items_max && !reply_is_kept_;
  vfs::ReadMemory out{call_.cursor, by_reference ? call_.pipes : nullptr};
  out.protocol = protocol_of(minor_version_);
  out.holder = holder();
  return out;
}

}  // namespace braid::nfs4
