#include "nfs4/clients.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "io/reactor.h"
#include "rpc/peer_account.h"

namespace braid::nfs4 {

using enum nfsstat4;
using recovery::RecordChange;
using state::Client;
using state::ClientRef;
using state::ClientTable;
using state::ExpiryReason;
using state::Grace;

namespace {

std::int64_t seconds_of(base::Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

base::LogSource source_of(const Client& client) { return rpc::log_source({.bytes = client.intro.address}); }

void log_silence(const ClientTable::Silence& one, base::TimePoint now) {
  const Client& client = *one.client;
  if (one.over)
    base::log_event(source_of(client), base::Level::info, "client_returned", "client={:#x} peer={}",
                    client.id, client.intro.peer);
  else
    base::log_event(source_of(client), base::Level::info, "client_courteous",
                    "client={:#x} peer={} silent_seconds={}: its lease is over, it keeps its state until "
                    "somebody wants it",
                    client.id, client.intro.peer, seconds_of(now - client.renewed()));
}

}  // namespace

Clients::Clients(const state::ClientOptions& options, recovery::ClientRecords& records,
                 const base::SipKey& key, io::BlockingPool& pool,
                 std::vector<state::ClientObserver*> observers, base::TimePoint now)
    : options_(options),
      records_(records),
      pool_(pool),
      epoch_(records.epoch()),
      key_(key),
      server_owner_(records.server_id()),
      observers_(std::move(observers)),
      table_(
          std::in_place, options, epoch_, key, [this](clientid4 client) { return holds_state(client); },
          [this](const Client& client) { return in_grace() && admit_reclaim(client).has_value(); }),
      grace_(std::in_place, records.known(), now, options.lease),
      in_grace_(!records.known().empty()) {
  if (in_grace())
    base::log_event(base::Level::info, "grace_began", "clients={} seconds={}", records.known().size(),
                    seconds_of(options.lease));
}

bool Clients::holds_state(clientid4 client) const {
  return std::ranges::any_of(observers_, [&](const auto* observer) { return observer->holds_state(client); });
}

bool Clients::stopping(Client& client) const {
  return client.changes().any() ||
         std::ranges::any_of(observers_, [&](const auto* observer) { return observer->stopping(client.id); });
}

void Clients::stop(Client& client) const {
  client.changes().bar();
  for (state::ClientObserver* const observer : observers_) observer->stop(client.id);
}

io::Op<> Clients::stopped(ClientRef client) const {
  for (state::ClientObserver* const observer : observers_)
    (void)co_await observer->stopped(client->id).as_result();
  co_await client->changes().ended();
}

void Clients::release(clientid4 client) const {
  for (state::ClientObserver* const observer : observers_) observer->release(client);
}

void Clients::tell_of_arrived(const std::vector<ClientRef>& arrived) {
  for (const ClientRef& client : arrived)
    base::log_event(source_of(*client), base::Level::info, "client_arrived",
                    "client={:#x} peer={} minor_version={} name=\"{}\"", client->id, client->intro.peer,
                    client->minor_version(), state::printable(client->intro.owner));
}

void Clients::dismiss(const std::vector<ClientTable::Gone>& gone) {
  for (const auto& [client, why] : gone) {
    const bool replaced = why == ExpiryReason::replaced;
    gone_.at(static_cast<std::size_t>(why)).fetch_add(1, std::memory_order_relaxed);
    base::log_event(source_of(*client), base::Level::info, "client_gone",
                    "client={:#x} peer={} minor_version={} reason={}", client->id, client->intro.peer,
                    client->minor_version(), name_of(why));
    stop(*client);
    if (!replaced) grace_.with([&](Grace& grace) { grace.forget(*client); });
    const bool on_record = client->recorded() && !replaced;
    if (on_record || stopping(*client))
      departing_.with([&](auto& all) { all.push_back({client, on_record}); });
    else
      release(client->id);
  }
}

Result4<ClientRef> Clients::find_and_renew_40(clientid4 id, base::TimePoint now) const {
  auto client = table_.with([&](const ClientTable& table) { return table.find(id, 0); });
  if (client) (void)(*client)->renew_40(now);
  return client;
}

// EXPIRED_ALL_STATE_REVOKED and EXPIRED_SOME_STATE_REVOKED never appear: a client whose lease ran out loses
// its sessions with its state, and learns from BADSESSION. LEASE_MOVED: nothing moves.
std::uint32_t Clients::status_flags(const state::Session& session) const {
  const Client& client = *session.client;
  std::uint32_t flags = client.status();
  if (client.had_back_channel()) flags |= back_channel_flags(session);
  if (in_grace() && admit_reclaim(client)) flags |= SEQ4_STATUS_RESTART_RECLAIM_NEEDED;
  return flags;
}

std::uint32_t Clients::back_channel_flags(const state::Session& session) const {
  std::uint32_t flags = 0;
  const state::Session::BackHealth health = session.back_health();
  if (health.fault) flags |= SEQ4_STATUS_BACKCHANNEL_FAULT;
  if (health.down()) flags |= SEQ4_STATUS_CB_PATH_DOWN_SESSION;
  const auto lost = [&](const ClientTable& table) { return table.callbacks_lost(session.client->id); };
  if ((!health.usable() || health.down()) && table_.with(lost)) flags |= SEQ4_STATUS_CB_PATH_DOWN;
  return flags;
}

void Clients::came_back(const Client& client) {
  if (in_grace()) grace_.with([&](Grace& grace) { grace.came_back(client); });
}

Result4<void> Clients::admit_reclaim(const Client& client) const {
  return grace_.with([&](const Grace& grace) { return grace.admit_reclaim(client); });
}

Result4<void> Clients::begin_reclaim(Client& client, base::TimePoint now) {
  return grace_.with([&](Grace& grace) -> Result4<void> {
    if (auto admitted = grace.admit_reclaim(client); !admitted) return admitted;
    grace.note_reclaim(client, now);
    client.set_reclaimed();
    return {};
  });
}

Result4<void> Clients::admit_new(const Client& client) const {
  if (!in_grace() && (client.minor_version() == 0 || client.reclaim_complete())) return {};
  return grace_.with([&](const Grace& grace) { return grace.admit_new(client); });
}

template <class F>
Op4<> Clients::on_disk(F f) {
  const std::optional<base::Result<void>> done =
      co_await pool_.own().run_for_all(*io::Reactor::current(), io::BlockingReason::sync, std::move(f));
  if (!done) co_await refuse(NFS4ERR_DELAY);
  if (*done) co_return;
  base::log_event(base::Level::error, "client_records_failed", "{}", base::message_of(done->error()));
  co_await refuse(NFS4ERR_SERVERFAULT);
}

// Whoever takes a change from the list gives it its outcome before the next round begins: and the round that
// this one waits for begins when the change is in the list, or has been taken.
Op4<> Clients::change_record(recovery::RecordChange change) {
  return change_record_if(std::move(change), [] { return true; });
}

// `still_wanted` is asked when the change gets its place among others.
template <class F>
Op4<> Clients::change_record_if(recovery::RecordChange change, F still_wanted) {
  Changing self{.change = std::move(change)};
  const bool wanted = changing_.with([&](std::vector<Changing*>& all) {
    if (!still_wanted()) return false;
    all.push_back(&self);
    return true;
  });
  if (!wanted) co_return;
  (void)co_await change_rounds_.run([this] { return apply_changes(); }).as_result();
  co_await std::move(self.outcome);
}

vfs::VfsOp<> Clients::apply_changes() {
  const std::vector<Changing*> group =
      changing_.with([](std::vector<Changing*>& all) { return std::exchange(all, {}); });
  if (group.empty()) co_return;
  std::vector<RecordChange> changes;
  changes.reserve(group.size());
  for (Changing* const one : group) changes.push_back(std::move(one->change));
  const auto done = co_await on_disk([this, &changes] { return records_.apply(changes); }).as_result();
  for (Changing* const one : group) one->outcome = done;
}

Op4<> Clients::ensure_recorded(ClientRef client) {
  if (client->recorded()) co_return;
  // g++ 12 destroys an aggregate twice that is a temporary of such an expression.
  RecordChange change{RecordChange::What::record, state::known_as(*client), client->id};
  co_await change_record_if(std::move(change), [&] {
    client->wish_record();
    return true;
  });
  client->set_recorded();
}

Op4<> Clients::reclaim_complete(ClientRef client) {
  if (client->reclaim_complete()) co_await refuse(NFS4ERR_COMPLETE_ALREADY);
  co_await ensure_recorded(client);
  const bool reclaimed = grace_.with([&](Grace& grace) {
    const bool awaited = grace.admit_reclaim(*client).has_value();
    client->set_reclaim_complete();
    grace.completed(state::known_as(*client));
    return awaited;
  });
  if (reclaimed)
    base::log_event(source_of(*client), base::Level::info, "client_reclaimed", "client={:#x} peer={}",
                    client->id, client->intro.peer);
}

Op4<> Clients::depart(Departing one) {
  const Client& client = *one.client;
  (void)co_await stopped(one.client).as_result();
  if (one.on_record) {
    RecordChange change{RecordChange::What::forget, state::known_as(client), client.id};
    co_await change_record(std::move(change));
  }
  release(client.id);
  departing_.with([&](auto& all) { std::erase_if(all, [&](auto& it) { return it.client == one.client; }); });
}

Op4<> Clients::depart_all(std::optional<clientid4> only) {
  const std::vector<Departing> due = departing_.with([](const auto& all) { return all; });
  for (const Departing& one : due) {
    // Nobody waits for one whose disk takes long, unless it is the one.
    if (only ? one.client->id == *only : !stopping(*one.client)) co_await depart(one);
  }
}

Op4<bool> Clients::evict_if_silent(clientid4 id, base::TimePoint now) {
  const bool gone = with([&](ClientTable& table) {
    const ClientRef client = table.find_any(id);
    if (client == nullptr) return true;
    return client->lease_over(now, options_.lease) && table.remove(id, ExpiryReason::displaced);
  });
  if (gone) co_await depart_all(id);
  co_return gone;
}

Op4<bool> Clients::evict_longest_silent(base::TimePoint now) {
  const clientid4 id = with([&](ClientTable& table) {
    const ClientRef silent = table.longest_silent(now);
    return silent == nullptr ? clientid4{0} : silent->id;
  });
  if (id == 0) co_return false;
  co_return co_await evict_if_silent(id, now);
}

Op4<bool> Clients::evict(clientid4 id) {
  const bool gone = with([&](ClientTable& table) { return table.remove(id, ExpiryReason::evicted); });
  if (gone) co_await depart_all(id);
  co_return gone;
}

Op4<> Clients::see_off(clientid4 id) { (void)co_await depart_all(id).as_result(); }

// RFC 8881 8.4.3: what it held may be given to others once it cannot reclaim it. It is on record again with
// its next OPEN.
Op4<> Clients::revoke(clientid4 id) {
  const ClientRef client = table_.with([&](const ClientTable& table) { return table.find_any(id); });
  if (client == nullptr) co_await refuse(NFS4ERR_STALE_CLIENTID);
  if (client->minor_version() == 0) co_await refuse(NFS4ERR_MINOR_VERS_MISMATCH);
  if (client->recorded()) co_await forget_record(client);
  grace_.with([&](Grace& grace) { grace.forget(*client); });
  base::log_event(base::Level::info, "client_revoked", "client={:#x} peer={}", client->id,
                  client->intro.peer);
  stop(*client);
  (void)co_await stopped(client).as_result();
  for (state::ClientObserver* const observer : observers_) observer->revoke(id);
  client->changes().admit();
}

std::vector<state::KnownClient> Clients::reclaiming(std::size_t most) const {
  return grace_.with([&](const Grace& grace) { return grace.waiting_for(most); });
}

std::vector<Grace::Paused> Clients::take_paused(base::TimePoint now) {
  if (!in_grace()) return {};
  return grace_.with([&](Grace& grace) { return grace.take_paused(now); });
}

void Clients::has_all_again(const Grace::Paused& client) {
  grace_.with([&](Grace& grace) { grace.completed(client.name); });
  base::log_event(base::Level::info, "client_reclaimed", "client={:#x}: it holds what it held",
                  client.client);
}

base::Result<void> Clients::note_held(const state::HeldSums& held) {
  if (in_grace()) return {};
  std::vector<state::KnownClient> all;
  for (const ClientRef& client : table_.with([](const ClientTable& table) { return table.confirmed_40(); })) {
    if (!client->recorded()) continue;
    state::KnownClient known = state::known_as(*client);
    known.held = held.of(client->id);
    if (known.held) all.push_back(std::move(known));
  }
  return records_.note_held(all);
}

Op4<> Clients::end_grace() {
  if (!in_grace()) co_return;
  co_await on_disk([this] { return records_.end_grace(); });
  const std::size_t missing = grace_.with([](Grace& grace) {
    const std::size_t waiting = grace.waiting();
    grace.end();
    return waiting;
  });
  in_grace_.store(false, std::memory_order_release);
  base::log_event(base::Level::info, "grace_ended", "clients_missing={}", missing);
}

// RFC 7530 9.6.3.4: whether the lease of a 4.0 client expired is part of its record. Such a client cannot say
// that it has reclaimed all that it means to. If it falls silent in the middle, others may be given the rest,
// and it must not reclaim that after the next restart. What it has reclaimed stays its own as long as nobody
// wants it; once it is heard of again, it may reclaim.
Op4<> Clients::judge_record(ClientTable::Silence one, base::TimePoint now) {
  const ClientRef client = one.client;
  if (client->minor_version() > 0 || !client->reclaimed()) co_return;
  if (one.over) {
    off_record_.push_back(client);
    co_return;
  }
  if (client->take_off_record(now, options_.lease)) co_await forget_record(client);
}

// Who is silent again is judged again when it is heard of.
io::Op<> Clients::put_back_on_record(base::TimePoint now) {
  for (const ClientRef& client : std::exchange(off_record_, {})) {
    if (client->gone() || client->lease_over(now, options_.lease)) continue;
    const auto recorded = co_await ensure_recorded(client).as_result();
    if (!recorded) off_record_.push_back(client);
  }
}

// A removal that failed may have been one: so it counts as one, whatever the disk says. Who was recorded
// meanwhile, by an OPEN, is recorded once more.
Op4<> Clients::forget_record(ClientRef client) {
  client->clear_recorded();
  RecordChange change{RecordChange::What::forget, state::known_as(*client), client->id};
  const auto removed = co_await change_record(std::move(change)).as_result();
  if (client->recorded()) {
    client->clear_recorded();
    co_await ensure_recorded(client);
  }
  if (!removed) co_await refuse(removed.error());
}

// Whoever gives it state asks for its record afterwards, and finds that it has none, or has given it before
// holds_state() is asked. A record that is asked for meanwhile is the later change of the two.
Op4<> Clients::forget_idle(ClientRef client) {
  const std::uint64_t wishes = client->record_wishes();
  client->clear_recorded();
  if (client->gone()) co_return;
  if (holds_state(client->id)) {
    co_await ensure_recorded(client);
    co_return;
  }
  RecordChange change{RecordChange::What::forget, state::known_as(*client), client->id};
  co_await change_record_if(std::move(change), [&] { return client->record_wishes() == wishes; });
}

// During the grace period there are files that nobody watches yet.
Op4<> Clients::note_watching() {
  if (in_grace()) co_return;
  co_await on_disk([this] { return records_.note_watching(); });
}

// What a delegation is worth that is reclaimed: local programs may have changed the file while nobody
// watched, and its holder does not look. What changed in the last moments before may have been noticed, but
// not told.
bool Clients::watched_since(const vfs::Time& change) const {
  constexpr std::int64_t last_moments_s = 2;
  const std::optional<vfs::Time>& until = records_.watched_until();
  return until && vfs::Time{change.seconds + last_moments_s, change.nanoseconds} < *until;
}

void Clients::tell_of_refused(std::uint64_t refused, base::TimePoint now) {
  const std::uint64_t count = lines_of_refused_.news(refused, now);
  if (count == 0) return;
  base::log_event(base::Level::warning, "clients_refused",
                  "count={}: there are as many clients or sessions as there may be (clients_max), or as "
                  "one address may have",
                  count);
}

io::Op<> Clients::tick(base::TimePoint now) {
  bool more = false;
  std::uint64_t refused = 0;
  do {
    if (more) co_await io::Reactor::current()->next_turn();
    std::vector<ClientRef> idle;
    const auto silences = with([&](ClientTable& table) {
      more = table.sweep(now);
      refused = table.refused();
      idle = table.take_idle();
      return table.take_silences();
    });
    for (const ClientRef& client : idle)
      if (!in_grace()) (void)co_await forget_idle(client).as_result();
    for (const ClientTable::Silence& one : silences) {
      log_silence(one, now);
      (void)co_await judge_record(one, now).as_result();
    }
  } while (more);
  co_await put_back_on_record(now);
  tell_of_refused(refused, now);
  const bool over = in_grace() && grace_.with([&](const Grace& grace) { return grace.due(now); });
  if (over) (void)co_await end_grace().as_result();
  (void)co_await depart_all(std::nullopt).as_result();
}

std::vector<state::ClientReport> Clients::report(base::TimePoint now, clientid4 after,
                                                 std::size_t lines_max) const {
  return table_.with([&](const ClientTable& table) { return table.report(now, after, lines_max); });
}

std::vector<state::SessionReport> Clients::report_sessions(const state::SessionId& after,
                                                           std::size_t lines_max) const {
  return table_.with([&](const ClientTable& table) { return table.report_sessions(after, lines_max); });
}

Clients::Summary Clients::summary(base::TimePoint now) const {
  Summary out = table_.with([](const ClientTable& table) {
    return Summary{.confirmed = table.confirmed_count(),
                   .courteous = table.silent_count(),
                   .sessions = table.session_count()};
  });
  grace_.with([&](const Grace& grace) {
    out.reclaiming = grace.waiting();
    if (grace.active()) out.grace_left = std::max(grace.until() - now, base::Duration(1));
  });
  return out;
}

void Clients::register_metrics(base::MetricRegistry& registry) {
  const auto gauge = [&](std::string_view name, std::string_view help,
                         std::size_t (ClientTable::*count)() const) {
    registry.gauge(name, help, {}, [this, count] {
      return static_cast<double>(table_.with([&](const ClientTable& table) { return (table.*count)(); }));
    });
  };
  gauge("braid_nfs4_clients", "Confirmed NFSv4 clients", &ClientTable::confirmed_count);
  gauge("braid_nfs4_courteous_clients", "NFSv4 clients that keep state although their lease is over",
        &ClientTable::silent_count);
  gauge("braid_nfs4_sessions", "NFSv4 sessions", &ClientTable::session_count);
  registry.gauge("braid_nfs4_grace", "1 during the grace period", {},
                 [this] { return in_grace() ? 1.0 : 0.0; });
  registry.counter_function(
      "braid_nfs4_clients_refused_total", "NFSv4 clients and sessions refused for want of room", {}, [this] {
        return static_cast<double>(table_.with([](const ClientTable& table) { return table.refused(); }));
      });
  for (std::size_t i = 0; i < state::expiry_reasons; ++i)
    registry.counter_function("braid_nfs4_clients_gone_total", "NFSv4 clients that are known no more",
                              fmt::format(R"(reason="{}")", name_of(static_cast<ExpiryReason>(i))),
                              [this, i] { return static_cast<double>(gone_.at(i).load()); });
}

}  // namespace braid::nfs4
