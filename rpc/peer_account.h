// What each peer holds of a server's memory, so that one that takes much, or never takes its replies, keeps
// nobody else from being served.
//
// The rule is that of dynamic thresholds (Choudhury and Hahne, "Dynamic queue length thresholds for
// shared-memory packet switches", 1998): a peer is over its share while it holds half as much as is left for
// all. One busy peer gets a third of the memory, n get 1 / (n + 2) each, and twice as much is always left.
#pragma once

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "base/guarded.h"
#include "base/log_limiter.h"
#include "base/log_source.h"
#include "io/peer_id.h"
#include "rpc/call.h"

namespace braid::rpc {

// All connections of one address; of one /64 network for IPv6, whose hosts choose the rest themselves.
using PeerKey = std::array<std::uint8_t, 16>;
PeerKey peer_key(const PeerAddress& peer);
// "192.0.2.1", "2001:db8::/64".
std::string text_of(const PeerKey& key);
// The same as a number.
io::PeerId peer_id(const PeerAddress& peer);
// Whose share of the log's lines one is.
base::LogSource log_source(const PeerAddress& peer);

// What one peer may hold while `left` is left for all: half as much, or a sixteenth if no export is
// for its address.
template <std::integral Number>
constexpr Number share_of(Number left, bool known) {
  return left / (known ? 2 : 16);
}

// Thread-safe.
class PeerAccount {
 public:
  // Who waits for its peer to hold less.
  class Waiter {
   public:
    virtual ~Waiter() = default;
    // On any thread, with a lock held: takes note, and looks again on its own thread. Not called any more
    // after leave() has returned.
    virtual void look_again() = 0;
  };

  // In one order with wait() and the look at held() that follows it: so nobody waits for what was given back
  // just before.
  void add(std::int64_t bytes) {
    held_.fetch_add(bytes);
    if (bytes < 0 && waited_for()) wake_one();
  }
  [[nodiscard]] std::int64_t held() const { return held_.load(); }

  // The waiter that has waited longest is told of each decrease. Whoever finds that there is room tells the
  // next one, by wake_one().
  void wait(Waiter& waiter);
  void leave(Waiter& waiter);
  void wake_one();
  [[nodiscard]] bool waited_for() const { return waiting_.load() > 0; }

  [[nodiscard]] base::LogLimiter& lines() { return lines_; }

 private:
  std::atomic<std::int64_t> held_{0};
  std::atomic<std::size_t> waiting_{0};
  base::Guarded<std::deque<Waiter*>> waiters_;
  base::LogLimiter lines_;
};

// The accounts of the peers that are connected. Thread-safe; outlives what it gives out.
class PeerAccounts {
 public:
  PeerAccounts() = default;
  PeerAccounts(const PeerAccounts&) = delete;
  PeerAccounts& operator=(const PeerAccounts&) = delete;

  [[nodiscard]] std::shared_ptr<PeerAccount> of(const PeerAddress& peer);

 private:
  void forget(const PeerKey& key);
  base::Guarded<std::map<PeerKey, std::weak_ptr<PeerAccount>>> accounts_;
};

}  // namespace braid::rpc
