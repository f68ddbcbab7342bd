// How many connections clients have, which address has how many, and whose goes when there are too many.
//
// An address may have all that others do not want. Beyond `connections_max` one more takes the place of one
// of the address that has the most, and addresses that the server has nothing for come before all others; so
// who has the most gains nothing by one more, and displaces its own only.
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/log_limiter.h"
#include "base/metrics.h"
#include "rpc/peer_account.h"
#include "rpc/transport.h"

namespace braid::rpc {

class TcpWorker;

// Thread-safe. One for all listeners of a server and every transport. Outlives the places that it gives out.
class ConnectionLimit {
 public:
  // `workers`: whose connections make room. `connections`: how many clients have; those that the server has
  // made are not among them.
  ConnectionLimit(std::size_t connections_max, std::vector<TcpWorker*> workers,
                  std::function<std::size_t()> connections, const base::Clock& clock,
                  base::MetricRegistry& registry);
  ~ConnectionLimit();
  ConnectionLimit(const ConnectionLimit&) = delete;
  ConnectionLimit& operator=(const ConnectionLimit&) = delete;

  // Counts as a connection of its address until it is destroyed, on any thread.
  class Counted;
  using Place = std::shared_ptr<const Counted>;

  // Of which address one is to be closed; whether one with calls under way, if none is idle.
  struct Victim {
    PeerKey of{};
    bool busy_too = false;
  };
  struct Decision {
    enum class Verdict : std::uint8_t {
      take,     // there is room
      replace,  // for the victim's
      wait,     // for others that are replaced now; ask again
      refuse,   // its address has the most, and none to close, or has its share
    };
    Verdict verdict = Verdict::take;
    Victim victim{};
  };
  // About one more connection of this peer, whom the server `knows` (Acceptor::knows).
  [[nodiscard]] Decision decide(const PeerAddress& peer, bool known);
  // The same of one by RDMA, which can not be closed for others afterwards. Its address has 16, or half as
  // many as are left; one that nothing is for an eighth of that. `room`: for so many there is memory.
  [[nodiscard]] bool over_share(const PeerAddress& peer, bool known, std::size_t room) const;
  [[nodiscard]] Place enter(const PeerAddress& peer, bool known, Transport transport);

  // Closes one of the victim, and tells `then` which worker had it, on that worker's thread; null: none of
  // them.
  void replace(const Victim& victim, std::function<void(TcpWorker*)> then);
  // Closes an idle one of the address with the most.
  void make_room();
  // Replacements under way.
  [[nodiscard]] std::size_t replacing() const { return replacing_.load(); }
  // Of one that was not taken.
  void note_refused() { refused_.add(); }

 private:
  struct Peer {
    std::size_t tcp = 0;
    std::size_t rdma = 0;
    bool known = false;
    std::uint64_t changed = 0;  // when, in changes of all
    [[nodiscard]] std::size_t all() const { return tcp + rdma; }
  };
  // The greatest is the first to lose a connection; of equal ones that which has not changed for longest.
  struct Rank {
    bool unknown;
    std::size_t connections;
    std::uint64_t unchanged;
    PeerKey key;
    friend auto operator<=>(const Rank&, const Rank&) = default;
  };
  // Of those that have connections; `ranks` of those that have some of TCP.
  struct Peers {
    std::map<PeerKey, Peer> by_key;
    std::set<Rank> ranks;
    std::uint64_t changes = 0;
    template <class F>
    void change(const PeerKey& key, F how);
    [[nodiscard]] Decision decide(const PeerKey& newcomer, bool known) const;
  };
  static Rank rank_of(const PeerKey& key, const Peer& peer);
  void leave(const PeerKey& key, Transport transport);
  // The workers in turn, `tried` of them have none.
  void try_next(const Victim& victim, std::size_t first, std::size_t tried,
                std::function<void(TcpWorker*)> then);
  void tell();

  const std::size_t connections_max_;
  const std::vector<TcpWorker*> workers_;
  const std::function<std::size_t()> connections_;
  const base::Clock& clock_;
  base::Counter& refused_;
  base::Counter& replaced_;
  base::Guarded<Peers> peers_;
  std::atomic<std::size_t> turn_{0};
  std::atomic<std::size_t> replacing_{0};
  base::LogLimiter lines_;
};

}  // namespace braid::rpc
