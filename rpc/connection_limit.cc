#include "rpc/connection_limit.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.h"
#include "rpc/tcp_worker.h"

namespace braid::rpc {
namespace {

// Sockets that wait until another one is closed for them.
constexpr std::size_t replacing_max = 16;
constexpr std::size_t share_min = 16;

}  // namespace

class ConnectionLimit::Counted {
 public:
  Counted(ConnectionLimit& limit, const PeerKey& key, Transport transport)
      : limit_(limit), key_(key), transport_(transport) {}
  ~Counted() { limit_.leave(key_, transport_); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  ConnectionLimit& limit_;
  const PeerKey key_;
  const Transport transport_;
};

ConnectionLimit::ConnectionLimit(std::size_t connections_max, std::vector<TcpWorker*> workers,
                                 std::function<std::size_t()> connections, const base::Clock& clock,
                                 base::MetricRegistry& registry)
    : connections_max_(connections_max),
      workers_(std::move(workers)),
      connections_(std::move(connections)),
      clock_(clock),
      refused_(registry.counter(
          "braid_connections_refused_total",
          "Connections that were not taken: there was no room, and their address had the most, or "
          "its share")),
      replaced_(registry.counter(
          "braid_connections_replaced_total",
          "Connections that were closed for one of an address with fewer, or of their own")) {}

ConnectionLimit::~ConnectionLimit() = default;

ConnectionLimit::Rank ConnectionLimit::rank_of(const PeerKey& key, const Peer& peer) {
  return {!peer.known, peer.all(), ~peer.changed, key};
}

template <class F>
void ConnectionLimit::Peers::change(const PeerKey& key, F how) {
  Peer& peer = by_key[key];
  ranks.erase(rank_of(key, peer));
  how(peer);
  peer.changed = ++changes;
  if (peer.all() == 0)
    by_key.erase(key);
  else if (peer.tcp > 0)
    ranks.insert(rank_of(key, peer));
}

ConnectionLimit::Decision ConnectionLimit::Peers::decide(const PeerKey& newcomer, bool known) const {
  using enum Decision::Verdict;
  if (ranks.empty()) return {refuse, {}};
  const Rank& most = *ranks.rbegin();
  const auto found = by_key.find(newcomer);
  const Peer own = found == by_key.end() ? Peer{} : found->second;
  const bool own_known = known || own.known;
  if (own_known && most.unknown) return {replace, {most.key, true}};
  const bool fewer = own_known == !most.unknown && own.all() < most.connections;
  // Among equals nobody is disturbed at work.
  if (fewer && most.key != newcomer) return {replace, {most.key, own.all() + 1 < most.connections}};
  if (own.tcp > 0) return {replace, {newcomer, false}};
  return {refuse, {}};
}

ConnectionLimit::Decision ConnectionLimit::decide(const PeerAddress& peer, bool known) {
  if (connections_() < connections_max_) return {};
  const PeerKey key = peer_key(peer);
  Decision decision = peers_.with([&](const Peers& peers) { return peers.decide(key, known); });
  tell();
  if (decision.verdict == Decision::Verdict::replace && replacing() >= replacing_max)
    decision.verdict = decision.victim.of == key ? Decision::Verdict::refuse : Decision::Verdict::wait;
  return decision;
}

void ConnectionLimit::tell() {
  if (!lines_.due(clock_.now())) return;
  peers_.with([&](const Peers& peers) {
    if (peers.ranks.empty()) return;
    const Rank& most = *peers.ranks.rbegin();
    base::log_event(base::Level::warning, "connections_short", "connections_max={} most_of={} connections={}",
                    connections_max_, text_of(most.key), most.connections);
  });
}

bool ConnectionLimit::over_share(const PeerAddress& peer, bool known, std::size_t room) const {
  const std::size_t now = connections_();
  const std::size_t left = std::min(room, connections_max_ > now ? connections_max_ - now : 0);
  const std::size_t has = peers_.with([&](const Peers& peers) {
    const auto found = peers.by_key.find(peer_key(peer));
    return found == peers.by_key.end() ? 0 : found->second.rdma;
  });
  return has >= std::max(share_min, share_of(left, known));
}

ConnectionLimit::Place ConnectionLimit::enter(const PeerAddress& peer, bool known, Transport transport) {
  const PeerKey key = peer_key(peer);
  peers_.with([&](Peers& peers) {
    peers.change(key, [&](Peer& changed) {
      ++(transport == Transport::rdma ? changed.rdma : changed.tcp);
      changed.known = changed.known || known;
    });
  });
  return std::make_shared<const Counted>(*this, key, transport);
}

void ConnectionLimit::leave(const PeerKey& key, Transport transport) {
  peers_.with([&](Peers& peers) {
    peers.change(key, [&](Peer& changed) { --(transport == Transport::rdma ? changed.rdma : changed.tcp); });
  });
}

void ConnectionLimit::replace(const Victim& victim, std::function<void(TcpWorker*)> then) {
  replacing_.fetch_add(1);
  try_next(victim, turn_.fetch_add(1), 0, std::move(then));
}

void ConnectionLimit::try_next(const Victim& victim, std::size_t first, std::size_t tried,
                               std::function<void(TcpWorker*)> then) {
  if (tried == workers_.size()) {
    // Another one of those that have as many is the next.
    peers_.with([&](Peers& peers) {
      if (peers.by_key.contains(victim.of)) peers.change(victim.of, [](Peer&) {});
    });
    then(nullptr);
    replacing_.fetch_sub(1);
    return;
  }
  TcpWorker& worker = *workers_[(first + tried) % workers_.size()];
  worker.reactor().post(
      std::function<void()>([this, &worker, victim, first, tried, next = std::move(then)]() mutable {
        if (!worker.close_one(victim.of, victim.busy_too))
          return try_next(victim, first, tried + 1, std::move(next));
        replaced_.add();
        next(&worker);
        replacing_.fetch_sub(1);
      }));
}

void ConnectionLimit::make_room() {
  const auto most = peers_.with([](const Peers& peers) {
    return peers.ranks.empty() ? std::nullopt : std::optional(peers.ranks.rbegin()->key);
  });
  if (most) replace({*most, false}, [](TcpWorker*) {});
}

}  // namespace braid::rpc
