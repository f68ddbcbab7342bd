// The part of ClientTable that makes room for one more client: who goes, and who may not come.
#include <limits>
#include <utility>

#include "nfs4/state/clients/client_table.h"

namespace braid::nfs4::state {

using enum nfsstat4;

// From an address that has as many of them as the newcomer's, the newcomer's own goes.
void ClientTable::make_room_for_unconfirmed(const rpc::PeerKey& peer) {
  if (unconfirmed_.size() < options_.unconfirmed_max) return;
  const auto most = unconfirmed_peers_.ranking().rbegin();
  const bool own = unconfirmed_peers_.count(peer) >= most->first;
  drop(unconfirmed_peers_.of(own ? peer : most->second)->begin()->second, ExpiryReason::left);
}

// Who is in use, or may still be. A client may reclaim what it held before a restart of the server as long as
// it is known.
bool ClientTable::needed(const Record& record, base::TimePoint now) const {
  if (lease_over(record, now)) return false;
  return holds_state_(record.client->id) || (may_reclaim_ && may_reclaim_(*record.client));
}

// The order is of when they were looked at last: who has been heard of since, or is needed, goes behind. So
// each of them is passed once at most until all others have been.
std::optional<clientid4> ClientTable::dispensable(const rpc::PeerKey& peer, base::TimePoint now, int& looks) {
  while (looks-- > 0) {
    const auto* const order = confirmed_peers_.of(peer);
    if (order == nullptr || order->begin()->first >= now) return std::nullopt;
    const auto [looked_at, id] = *order->begin();
    Record& record = *by_id(id);
    const bool keep = needed(record, now);
    if (!keep && record.client->renewed() <= looked_at) return id;
    confirmed_peers_.remove(peer, looked_at, id);
    record.looked_at = keep ? now : record.client->renewed();
    confirmed_peers_.add(peer, record.looked_at, id);
  }
  return std::nullopt;
}

// Of the peer with the most first; where its own has as many, of that.
std::optional<clientid4> ClientTable::dispensable_of_all(const rpc::PeerKey& own, base::TimePoint now,
                                                         int& looks) {
  const auto& ranking = confirmed_peers_.ranking();
  const std::size_t owned = confirmed_peers_.count(own);
  if (!ranking.empty() && owned == ranking.rbegin()->first)
    if (const auto id = dispensable(own, now, looks)) return id;
  // A peer keeps its place in the ranking when its clients are looked at.
  auto behind = std::pair(std::numeric_limits<std::size_t>::max(), rpc::PeerKey());
  while (looks > 0) {
    auto peer = ranking.lower_bound(behind);
    if (peer == ranking.begin()) break;
    behind = *--peer;
    if (behind.first < owned) break;
    if (const auto id = dispensable(behind.second, now, looks)) return id;
  }
  return std::nullopt;
}

base::Result<void, nfsstat4> ClientTable::make_room(const rpc::PeerKey& peer, base::TimePoint now) {
  const bool over = over_share(confirmed_peers_.count(peer), confirmed_.size(), options_.clients_max);
  if (!over && confirmed_.size() < options_.clients_max) return {};
  int looks = looks_max;
  std::optional<clientid4> goes;
  if (over) {
    goes = dispensable(peer, now, looks);
  } else if (const ClientRef silent = longest_silent(now); silent != nullptr) {
    goes = silent->id;
  } else {
    goes = dispensable_of_all(peer, now, looks);
  }
  if (!goes) {
    ++refused_;
    return base::fail(NFS4ERR_DELAY);
  }
  drop(*goes, ExpiryReason::displaced);
  return {};
}

ClientRef ClientTable::longest_silent(base::TimePoint now) const {
  ClientRef out;
  for (const auto& [id, record] : records_) {
    const ClientRef& client = record.client;
    if (client->standing() == Standing::confirmed && lease_over(record, now) &&
        (out == nullptr || client->renewed() < out->renewed()))
      out = client;
  }
  return out;
}

}  // namespace braid::nfs4::state
