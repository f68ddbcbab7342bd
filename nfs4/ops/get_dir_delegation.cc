#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "nfs4/callback/callbacks.h"
#include "nfs4/ops/open_operations.h"
#include "nfs4/ops/open_support.h"
#include "nfs4/options.h"

namespace braid::nfs4::ops {
namespace {

using Answer = GET_DIR_DELEGATION4res_non_fatal;

// Nobody is told later that there is one to be had.
Answer none() { return Answer::with_gddrnf_will_signal_deleg_avail(false); }

// RFC 8881 18.39.3: the verifier is READDIR's. No notifications are sent: every change has it recalled.
Answer given(const stateid4& id) {
  return Answer::with_gddrnf_resok4({.gddr_cookieverf = {},
                                     .gddr_stateid = id,
                                     .gddr_notification = {},
                                     .gddr_child_attributes = {},
                                     .gddr_dir_attributes = {}});
}

// Clients ask in passing, before GETATTR: what would be an error of OPEN, the grace period for one, is no
// reason to fail that.
bool admitted(const Compound& compound, const Place& at) {
  const ServerState& server = compound.server();
  const state::ClientRef client = compound.client();
  if (server.options.delegations == Delegations::none) return false;
  if (server.callbacks == nullptr || !server.callbacks->reachable(client->id)) return false;
  if (!server.clients.admit_new(*client)) return false;
  return server.states.with([&](const state::States& states) {
    return states.delegations().admits_directory(*client, at.file->handle(), compound.now());
  });
}

// Whoever may not list it has nothing to keep.
Op4<bool> may_list(const Place& at) {
  std::optional<vfs::Attributes> now;
  const auto granted = co_await at.fs().access(at.who, at.file, vfs::AccessBits::read, now).as_result();
  if (!granted) co_await refuse(granted.error());
  co_return *granted == vfs::AccessBits::read;
}

// From the moment that the directory is watched its changes have the delegation recalled; those before it
// come before the client looks.
Op4<std::optional<stateid4>> take(Compound& compound, const Place& at) {
  const ServerState& server = compound.server();
  const state::ClientRef client = compound.client();
  const vfs::FileHandle directory = at.file->handle();
  const auto broken = std::make_shared<std::atomic<bool>>(false);
  vfs::LeaseBreak tell = [&server, directory, broken] {
    broken->store(true);
    recall_all(server, directory);
  };
  auto lease =
      co_await at.fs().lease_directory(at.file, vfs::LeaseHolder(client->id), std::move(tell)).as_result();
  if (!lease) co_return std::nullopt;
  state::DirectoryDelegationRequest request{
      .client = client, .directory = directory, .lease = std::move(*lease), .now = compound.now()};
  const auto id =
      server.states.with([&](state::States& states) { return states.delegations().give(request); });
  if (id && broken->load()) recall_all(server, directory);
  co_return id;
}

}  // namespace

Op4<Answer> get_dir_delegation(Compound& compound, const GET_DIR_DELEGATION4args& /*args*/) {
  const Place at = compound.current();
  if (at.pseudo()) co_return none();
  const auto attributes = co_await at.attributes().as_result();
  if (!attributes) co_return refuse(attributes.error());
  co_await compound.check_directory(attributes->type);
  if (!admitted(compound, at)) co_return none();
  const bool lists = co_await may_list(at);
  if (!lists) co_return none();
  const std::optional<stateid4> id = co_await take(compound, at);
  if (!id) co_return none();
  compound.set_current_stateid(*id);
  co_return given(*id);
}

}  // namespace braid::nfs4::ops
