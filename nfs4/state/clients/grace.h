// The grace period after a start (RFC 8881 8.4.2, RFC 7530 9.6.2): clients that held state before reclaim it,
// and nobody else gets any.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/state/clients/client.h"

namespace braid::nfs4::state {

// All that a client of 4.0 holds, so that what it has reclaimed can be compared with it (held_sums.h).
struct Held {
  std::uint32_t states = 0;  // opens and locks
  std::uint64_t sum = 0;     // of a hash of each
  friend bool operator==(const Held&, const Held&) = default;
};

// A client of an earlier run, by what it calls itself.
struct KnownClient {
  std::uint32_t minor_version = 0;  // 0, or 1 for all with sessions
  base::Bytes owner;
  // Of its life at that time, and no part of its name; nothing: not known.
  std::optional<Verifier> verifier{};
  // What it held when that run ended, and no part of its name either; nothing: not known.
  std::optional<Held> held{};
  friend std::strong_ordering operator<=>(const KnownClient& a, const KnownClient& b) {
    return std::tie(a.minor_version, a.owner) <=> std::tie(b.minor_version, b.owner);
  }
  friend bool operator==(const KnownClient& a, const KnownClient& b) { return std::is_eq(a <=> b); }
};

KnownClient known_as(const Client& client);

// It lasts for its length, and on while somebody reclaims: as long as reclaims come, for its length again at
// most. A client of 4.0 does not say when it is done: it is when it holds what it held, and has paused since.
//
// Not thread-safe: Clients guards it. Life: with known clients it begins active; once due(), the end is made
// durable (recovery/client_store.h) and then end() called.
class Grace {
 public:
  // Without known clients there is nothing to wait for.
  Grace(std::vector<KnownClient> known, base::TimePoint now, base::Duration length);

  [[nodiscard]] bool active() const { return active_; }
  // Whether this client may still reclaim. Errors: NO_GRACE: the period is over, or the client has said that
  // it is done, or it held nothing when the server went down (RFC 8881 8.4.3: an edge condition).
  base::Result<void, nfsstat4> admit_reclaim(const Client& client) const;
  // It does so now, and may have more to reclaim.
  void note_reclaim(const Client& client, base::TimePoint now);
  // Clients that are to be looked at, whether they hold all that they held: they have reclaimed something,
  // and then nothing more for a while. Each is handed out once in such a pause.
  struct Paused {
    KnownClient name;
    clientid4 client = 0;
    Held held;
  };
  std::vector<Paused> take_paused(base::TimePoint now);
  // Whether this client may get state that conflicts with what others may reclaim. Errors: GRACE: not yet,
  // or the client has not said RECLAIM_COMPLETE (RFC 8881 18.51.3).
  base::Result<void, nfsstat4> admit_new(const Client& client) const;
  // A client of 4.0 is there again. With another verifier it has begun anew, so what it held is gone (RFC
  // 7530 9.1.1), and nobody has to wait for it.
  void came_back(const Client& client);
  // The client has said that it is done, or is known to be.
  void completed(const KnownClient& name);
  // The client is gone for good (evicted, DESTROY_CLIENTID): nobody has to wait for it, and it may not come
  // back and reclaim.
  void forget(const Client& client);

  // Time is up, or all have reclaimed.
  [[nodiscard]] bool due(base::TimePoint now) const;
  void end();
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  // Some of these clients.
  [[nodiscard]] std::vector<KnownClient> waiting_for(std::size_t most) const;
  // Until then, or a little longer than the last reclaim.
  [[nodiscard]] base::TimePoint until() const { return until_; }

 private:
  struct Reclaiming {
    clientid4 client = 0;
    base::TimePoint last{};
    bool looked_at = false;  // since then
  };

  std::set<KnownClient> known_;
  std::set<KnownClient> waiting_;                   // of the known ones, who may still come
  std::map<KnownClient, Reclaiming> reclaiming_{};  // of these, who can be compared with what they held
  const base::Duration length_;
  const base::TimePoint prolonged_max_;
  base::TimePoint until_;
  bool active_;
};

}  // namespace braid::nfs4::state
