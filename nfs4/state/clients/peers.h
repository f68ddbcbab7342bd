// Which clients come from which peer, so that one peer's do not take the place of all others'.
//
// The share of a peer is that of rpc/peer_account.h: it has more than that when it has half as many as are
// left for all, so one busy peer gets a third, n get 1 / (n + 2) each, and there is always room for others. A
// few it may have in any case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/state/clients/ids.h"
#include "rpc/peer_account.h"

namespace braid::nfs4::state {

inline rpc::PeerKey peer_of(const PeerBytes& address) { return rpc::peer_key({.bytes = address}); }

constexpr std::size_t always_of_peer = 16;

// Whether a peer that has `count` of `all`, of which there may be `max`, may have no more.
constexpr bool over_share(std::size_t count, std::size_t all, std::size_t max) {
  return count >= always_of_peer && count >= (max - (all < max ? all : max)) / 2;
}

// The clients of each peer in an order of their own (Key), and which peer has the most. Not thread-safe.
template <class Key>
class PeerOrder {
 public:
  using Order = std::set<std::pair<Key, clientid4>>;

  void add(const rpc::PeerKey& peer, const Key& key, clientid4 client) {
    Order& order = peers_[peer];
    order.emplace(key, client);
    rank(peer, order.size() - 1, order.size());
  }
  void remove(const rpc::PeerKey& peer, const Key& key, clientid4 client) {
    const auto found = peers_.find(peer);
    if (found == peers_.end() || found->second.erase({key, client}) == 0) return;
    rank(peer, found->second.size() + 1, found->second.size());
    if (found->second.empty()) peers_.erase(found);
  }
  // Null: it has none.
  [[nodiscard]] const Order* of(const rpc::PeerKey& peer) const {
    const auto found = peers_.find(peer);
    return found == peers_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] std::size_t count(const rpc::PeerKey& peer) const {
    const Order* const order = of(peer);
    return order == nullptr ? 0 : order->size();
  }
  // The peers by how many they have, the one with the most last.
  using Ranking = std::set<std::pair<std::size_t, rpc::PeerKey>>;
  [[nodiscard]] const Ranking& ranking() const { return ranking_; }

 private:
  void rank(const rpc::PeerKey& peer, std::size_t before, std::size_t now) {
    ranking_.erase({before, peer});
    if (now > 0) ranking_.emplace(now, peer);
  }

  std::map<rpc::PeerKey, Order> peers_;
  Ranking ranking_;
};

}  // namespace braid::nfs4::state
