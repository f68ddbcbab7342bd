// All that a server knows of its clients, for many threads: the table, the grace period, and what is kept
// across restarts.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/log_limiter.h"
#include "base/metrics.h"
#include "base/result.h"
#include "io/blocking_pool.h"
#include "io/op.h"
#include "nfs4/op4.h"
#include "nfs4/recovery/client_records.h"
#include "nfs4/state/clients/client_observer.h"
#include "nfs4/state/clients/client_table.h"
#include "nfs4/state/clients/grace.h"
#include "nfs4/state/held_sums.h"
#include "vfs/shared_rounds.h"

namespace braid::nfs4 {

// Thread-safe. Outlives every request. Lock order: the table's lock before those of sessions and of open
// state; nothing here may be called under the latter.
class Clients {
 public:
  // `records`, `pool` and `observers`, which are called in this order, outlive this. Grace begins now if the
  // records have clients; it lasts a lease time, or until all of them have reclaimed.
  Clients(const state::ClientOptions& options, recovery::ClientRecords& records, const base::SipKey& key,
          io::BlockingPool& pool, std::vector<state::ClientObserver*> observers, base::TimePoint now);
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;

  [[nodiscard]] const state::ClientOptions& options() const { return options_; }
  [[nodiscard]] base::Duration lease() const { return options_.lease; }
  // Of this run of the server: part of client ids and stateids.
  [[nodiscard]] std::uint32_t epoch() const { return epoch_; }
  // so_major_id and the scope (RFC 8881 2.10.4): the same after every restart, and no other server's.
  [[nodiscard]] const std::string& server_owner() const { return server_owner_; }
  // For fingerprints of requests.
  [[nodiscard]] const base::SipKey& hash_key() const { return key_; }

  // Calls f(ClientTable&) under the lock. Clients that it removes lose their state before this returns; those
  // with a record of their own do when that has been removed, within a second.
  template <class F>
  auto with(F&& f) {
    std::vector<state::ClientTable::Gone> gone;
    std::vector<state::ClientRef> arrived;
    auto result = table_.with([&](state::ClientTable& table) {
      auto value = std::forward<F>(f)(table);
      gone = table.take_gone();
      arrived = table.take_arrived();
      return value;
    });
    dismiss(gone);
    tell_of_arrived(arrived);
    return result;
  }

  [[nodiscard]] state::SessionRef find_session(const state::SessionId& id) const {
    return table_.with([&](const state::ClientTable& table) { return table.find_session(id); });
  }
  // The confirmed client that a 4.0 request names; this renews its lease. STALE_CLIENTID (of a client with
  // sessions, too), EXPIRED.
  [[nodiscard]] Result4<state::ClientRef> find_and_renew_40(clientid4 id, base::TimePoint now) const;
  [[nodiscard]] state::SessionRef back_channel_of(clientid4 id) const {
    return table_.with([&](const state::ClientTable& table) { return table.back_channel_of(id); });
  }
  [[nodiscard]] std::optional<state::CallbackAddress> callback_of(clientid4 id) const {
    return table_.with([&](const state::ClientTable& table) { return table.callback_of(id); });
  }
  // SEQ4_STATUS_* of a reply in this session (RFC 8881 18.46.3).
  [[nodiscard]] std::uint32_t status_flags(const state::Session& session) const;

  // Somebody wants what this client holds. True: it is gone, or its lease was over and it has been evicted;
  // its state is released, and it will not reclaim it: try again. False: it lives.
  Op4<bool> evict_if_silent(clientid4 id, base::TimePoint now);
  // Memory is short: evicts the client that has been silent longest. False: every client's lease is good.
  Op4<bool> evict_longest_silent(base::TimePoint now);
  // By an administrator. False: there is no such client. DELAY, SERVERFAULT: it is gone, but its record is
  // still there, and with it its state, for a second or more.
  Op4<bool> evict(clientid4 id);
  // This client has left (ClientTable::destroy_client()): when that ends, no grace period will wait for it.
  // Should the disk refuse, that is a matter of seconds.
  Op4<> see_off(clientid4 id);
  // An administrator takes back what a client with sessions holds; the client lives, and learns of it from
  // SEQUENCE. It may not reclaim any of it after a restart. STALE_CLIENTID, EXPIRED: no such client;
  // MINOR_VERS_MISMATCH: 4.0 has no way to tell a client; DELAY, SERVERFAULT: nothing has happened.
  Op4<> revoke(clientid4 id);

  // The grace period. Cheap, any thread.
  [[nodiscard]] bool in_grace() const { return in_grace_.load(std::memory_order_acquire); }
  // A client of 4.0 is confirmed.
  void came_back(const state::Client& client);
  [[nodiscard]] Result4<void> admit_reclaim(const state::Client& client) const;
  // The same, for a client that does so now: the grace period goes on for those who are at it.
  [[nodiscard]] Result4<void> begin_reclaim(state::Client& client, base::TimePoint now);
  // Some of those that it waits for.
  [[nodiscard]] std::vector<state::KnownClient> reclaiming(std::size_t most) const;
  // Clients of 4.0 that may be done, to be compared with what they held; and one that is.
  [[nodiscard]] std::vector<state::Grace::Paused> take_paused(base::TimePoint now);
  void has_all_again(const state::Grace::Paused& client);
  // At the end of the run, when no call runs any more, and with all states looked at: what clients of 4.0
  // hold is kept for the next run. Blocks. Does nothing in the grace period: who still reclaims held more.
  base::Result<void> note_held(const state::HeldSums& held);
  // By an administrator, or when it is over: what has not been reclaimed may be given to others. Does nothing
  // without a grace period. DELAY, SERVERFAULT: it goes on.
  Op4<> end_grace();
  // For what is not a reclaim and may conflict with one: OPEN, LOCK, delegations.
  [[nodiscard]] Result4<void> admit_new(const state::Client& client) const;
  // RECLAIM_COMPLETE for the whole server; the client's record is durable afterwards. COMPLETE_ALREADY,
  // DELAY, SERVERFAULT.
  Op4<> reclaim_complete(state::ClientRef client);
  // Makes sure that the client may reclaim after a restart: to be awaited before a 4.0 client gets its first
  // state, and once more before it is told so, since the record of a client without state may go. Costs
  // nothing when that has been done. DELAY, SERVERFAULT.
  Op4<> ensure_recorded(state::ClientRef client);

  // Files with delegations are being watched, and nobody minds these now: what changes from now on is
  // noticed, in this run or as a change that comes later than this. Does nothing in the grace period.
  Op4<> note_watching();
  // Whether a file that was changed then, by the clock of the file system, has been watched ever since.
  [[nodiscard]] bool watched_since(const vfs::Time& change) const;

  // Once a second, on a reactor's thread: removes who is due, ends the grace period when it is over, removes
  // records of clients that are gone.
  io::Op<> tick(base::TimePoint now);

  // Pages, so that nobody waits long for the table: see ClientTable::report().
  [[nodiscard]] std::vector<state::ClientReport> report(base::TimePoint now, clientid4 after,
                                                        std::size_t lines_max) const;
  [[nodiscard]] std::vector<state::SessionReport> report_sessions(const state::SessionId& after,
                                                                  std::size_t lines_max) const;
  struct Summary {
    std::size_t confirmed = 0;
    std::size_t courteous = 0;  // of them, those whose lease is over
    std::size_t sessions = 0;
    std::size_t reclaiming = 0;   // clients that the grace period waits for
    base::Duration grace_left{};  // none: there is no grace period
  };
  [[nodiscard]] Summary summary(base::TimePoint now) const;
  void register_metrics(base::MetricRegistry& registry);

 private:
  [[nodiscard]] std::uint32_t back_channel_flags(const state::Session& session) const;
  void tell_of_refused(std::uint64_t refused, base::TimePoint now);
  static void tell_of_arrived(const std::vector<state::ClientRef>& arrived);
  void dismiss(const std::vector<state::ClientTable::Gone>& gone);
  // What the observers have to say, or to be told.
  [[nodiscard]] bool holds_state(clientid4 client) const;
  [[nodiscard]] bool stopping(state::Client& client) const;
  // The client is barred from changes of bytes, until whoever calls this admits them.
  void stop(state::Client& client) const;
  io::Op<> stopped(state::ClientRef client) const;
  void release(clientid4 client) const;
  struct Departing {
    state::ClientRef client;
    bool on_record = false;  // by a record that is its own
  };
  // Waits for what the client has going on, removes its record, then releases its state: RFC 8881 8.4.3. May
  // run twice at a time.
  Op4<> depart(Departing one);
  Op4<> depart_all(std::optional<clientid4> only);
  // Calls f() on the blocking pool. DELAY when the pool is full, SERVERFAULT when f fails.
  template <class F>
  Op4<> on_disk(F f);
  // Its change of the records is on stable storage. What comes while others are being synced is synced
  // together.
  template <class F>
  Op4<> change_record_if(recovery::RecordChange change, F still_wanted);
  Op4<> change_record(recovery::RecordChange change);
  vfs::VfsOp<> apply_changes();
  Op4<> judge_record(state::ClientTable::Silence one, base::TimePoint now);
  io::Op<> put_back_on_record(base::TimePoint now);
  // It has nothing to reclaim, unless it gets something meanwhile.
  Op4<> forget_idle(state::ClientRef client);
  Op4<> forget_record(state::ClientRef client);

  const state::ClientOptions options_;
  recovery::ClientRecords& records_;
  io::BlockingPool& pool_;
  const std::uint32_t epoch_;
  const base::SipKey key_;
  const std::string server_owner_;
  const std::vector<state::ClientObserver*> observers_;
  base::Guarded<state::ClientTable> table_;
  base::Guarded<state::Grace> grace_;
  std::atomic<bool> in_grace_;
  // Gone from the table; what they did, and their records, and therefore their state, are not gone yet.
  base::Guarded<std::vector<Departing>> departing_;
  std::array<std::atomic<std::uint64_t>, state::expiry_reasons> gone_{};
  // Of who waits in change_record().
  struct Changing {
    recovery::RecordChange change;
    Result4<void> outcome{};
  };
  base::Guarded<std::vector<Changing*>> changing_;
  vfs::SharedRounds change_rounds_;
  // Of tick().
  base::LogLimiter lines_of_refused_;
  std::vector<state::ClientRef> off_record_;  // heard of again, and not yet back on record; of tick()
};

}  // namespace braid::nfs4
