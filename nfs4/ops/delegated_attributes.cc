#include "nfs4/ops/delegated_attributes.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "nfs4/callback/callbacks.h"
#include "nfs4/ops/state_access.h"
#include "nfs4/state/clients/session.h"

namespace braid::nfs4::ops {

namespace {

// What the holder of a write delegation may have changed without telling.
constexpr Bitmap behind_delegation{FATTR4_CHANGE, FATTR4_SIZE, FATTR4_SPACE_USED, FATTR4_TIME_METADATA,
                                   FATTR4_TIME_MODIFY};

// A 4.0 request does not say whose it is: one from the host of a 4.0 holder is taken for the holder's.
bool is_own(const Compound& compound, const state::WriteHolder& holder) {
  if (compound.minor_version() != 0 || holder.client->minor_version() != 0) return false;
  const auto host_of = [](std::string_view peer) { return peer.substr(0, peer.rfind(':')); };
  return host_of(compound.call().peer.text()) == host_of(holder.client->intro.peer);
}

std::optional<state::WriteHolder> holder_of(Compound& compound, const Place& at) {
  const state::Client* const by = compound.in_session ? compound.in_session->session->client.get() : nullptr;
  auto holder = compound.server().states.with(
      [&](const state::States& states) { return states.delegations().write_holder(at.file->handle(), by); });
  if (holder && is_own(compound, *holder)) holder.reset();
  return holder;
}

// Delegations of the file that are in the way of a change, or of looking at it, have to come back, or their
// holders have to go.
Op4<> recall(Compound& compound, const Place& at, bool changes) {
  const state::ClientRef by = compound.client();
  const vfs::FileHandle& file = at.file->handle();
  const auto attempt = [&](state::States& states,
                           state::DeferredWork& after) -> base::Result<bool, state::Refusal> {
    auto broken = states.delegations().break_for(file, by.get(), changes, compound.now(), after);
    if (!broken) return base::fail(std::move(broken.error()));
    return true;
  };
  const auto done = co_await with_states<bool, state::Refusal>(compound, attempt).as_result();
  if (!done) co_await refuse(done.error().status);
}

// What the file's times become: the present, or what a holder that keeps them has said.
Op4<vfs::SetAttributes> times_of_change(const Compound& compound, const Place& at,
                                        const state::WriteHolder& holder,
                                        const callback::CachedAttributes& told) {
  using How = vfs::SetTime::How;
  vfs::SetAttributes times;
  times.mtime.how = How::server;
  if (!holder.timestamps) co_return times;
  const auto known = co_await at.attributes().as_result();
  if (!known) co_await refuse(known.error());
  const base::WallTime now = compound.server().clock.wall();
  times.atime = delegated_time(told.atime, known->atime, now);
  if (told.mtime) times.mtime = delegated_time(told.mtime, known->mtime, now);
  // Setting it to what it is moves the change attribute.
  if (times.mtime.how == How::leave) times.mtime = {How::client, known->mtime};
  co_return times;
}

// The file has changed, and whoever looks must see that: every time, since nobody knows whether it went on.
Op4<> mark_changed(const Compound& compound, const Place& at, const state::WriteHolder& holder,
                   const callback::CachedAttributes& told) {
  vfs::Credentials server;
  server.holder = vfs::LeaseHolder(holder.client->id);
  const vfs::SetAttributes times = co_await times_of_change(compound, at, holder, told);
  const auto set = co_await at.fs().setattr(server, at.file, times, std::nullopt, nullptr).as_result();
  if (!set) co_await refuse(set.error());
}

Op4<std::optional<std::uint64_t>> ask(Compound& compound, const Place& at, state::WriteHolder holder) {
  callback::Callbacks* callbacks = compound.server().callbacks;
  const bool silent = holder.client->lease_over(compound.now(), compound.server().clients.lease());
  if (holder.recalled || silent || callbacks == nullptr) {
    co_await recall(compound, at, false);
    co_return std::nullopt;
  }
  const auto cached =
      co_await callbacks->getattr(holder.client->id, at.file->handle(), holder.timestamps).as_result();
  const auto still = holder_of(compound, at);
  // It came back meanwhile, and with it what was written.
  if (!still || still->id != holder.id) co_return std::nullopt;
  if (!cached) {
    if (cached.error() == callback::Failure::busy) co_return refuse(nfsstat4::NFS4ERR_DELAY);
    co_await recall(compound, at, false);
    co_return std::nullopt;
  }
  if (cached->change == holder.change) co_return std::nullopt;
  co_await mark_changed(compound, at, holder, *cached);
  co_return cached->size;
}

}  // namespace

vfs::SetTime delegated_time(const std::optional<vfs::Time>& said, const vfs::Time& known,
                            base::WallTime now) {
  if (!said) return {};
  const std::chrono::nanoseconds since_epoch = now.time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_epoch);
  const vfs::Time present{seconds.count(), static_cast<std::uint32_t>((since_epoch - seconds).count())};
  const vfs::Time allowed = std::min(*said, present);
  if (allowed <= known) return {};
  return {vfs::SetTime::How::client, allowed};
}

Op4<> break_delegations(Compound& compound, const Place& at) { return recall(compound, at, true); }

// Nobody has to wait, nor is memory taken, where there is no such delegation.
Op4<std::optional<std::uint64_t>> see_through_delegation(Compound& compound, const Place& at, Bitmap wanted) {
  if (!at.pseudo() && wanted.intersects(behind_delegation))
    if (auto holder = holder_of(compound, at)) {
      compound.seen().reset();
      return ask(compound, at, std::move(*holder));
    }
  return Result4<std::optional<std::uint64_t>>(std::nullopt);
}

}  // namespace braid::nfs4::ops
