#include "nfs4/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "base/siphash.h"
#include "nfs4/ops/lock_support.h"
#include "nfs4/ops/state_access.h"
#include "nfs4/recovery/client_store.h"

namespace braid::nfs4 {
namespace {

EngineOptions within_limits(EngineOptions options) {
  constexpr std::uint32_t bytes_min = 4096;
  options.nfs.read_bytes_max = std::clamp(options.nfs.read_bytes_max, bytes_min, MAX_PAYLOAD);
  options.nfs.write_bytes_max = std::clamp(options.nfs.write_bytes_max, bytes_min, MAX_PAYLOAD);
  // RFC 7530 9.4: who waits for a lock has a lease time to ask again, at most.
  options.states.lock_patience = std::min(options.states.lock_patience, options.clients.lease);
  return options;
}

// Delegations are revoked a lease time after their recall: a client has to learn before that it is not being
// reached (NFS4ERR_CB_PATH_DOWN, SEQ4_STATUS_CB_PATH_DOWN), with some renewals of its lease to come.
callback::CallbackOptions callback_options(const EngineOptions& engine) {
  callback::CallbackOptions options;
  options.timeout = std::min(options.timeout, engine.clients.lease / 4);
  options.paths.all = engine.callback_connections_max;
  options.paths.of_peer = std::min(options.paths.of_peer, std::max<std::size_t>(options.paths.all / 4, 1));
  return options;
}

attributes::ServerFacts facts_of(const EngineOptions& options, const EngineParts& parts) {
  attributes::ServerFacts facts;
  facts.lease_seconds = static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::seconds>(options.clients.lease).count());
  facts.read_bytes_max = options.nfs.read_bytes_max;
  facts.write_bytes_max = options.nfs.write_bytes_max;
  facts.delegated_times = options.nfs.delegations != Delegations::none;
  facts.role_flags = parts.role_flags;
  facts.layout_types = parts.layout_types;
  return facts;
}

}  // namespace

base::Result<std::unique_ptr<Nfs4Engine>> Nfs4Engine::create(const EngineOptions& options,
                                                             const EngineResources& resources,
                                                             const std::string& state_dir,
                                                             EngineParts parts) {
  auto store = recovery::ClientStore::open(state_dir + "/nfs4");
  if (!store) return base::fail(store.error());
  return std::make_unique<Nfs4Engine>(options, resources, std::move(*store), std::move(parts));
}

std::optional<int> Nfs4Engine::user_of(const std::string& state_dir) {
  return recovery::ClientStore::user_of(state_dir + "/nfs4");
}

Nfs4Engine::Nfs4Engine(const EngineOptions& options, const EngineResources& resources,
                       std::unique_ptr<recovery::ClientRecords> records, EngineParts parts)
    : options_(within_limits(options)),
      resources_(resources),
      facts_(facts_of(options_, parts)),
      pseudo_(resources.clock),
      ids_(options_.ids, names_, &resources.pool, base::random_sip_key()),
      records_(std::move(records)),
      states_(std::in_place, records_->epoch(), options_.states, parts.kinds),
      clients_(options_.clients, *records_, base::random_sip_key(), resources.pool,
               observers(parts.observers), resources.clock.now()),
      state_{.options = options_.nfs,
             .clock = resources.clock,
             .exports = resources.exports,
             .pseudo = pseudo_,
             .ids = ids_,
             .facts = facts_,
             .clients = clients_,
             .states = states_,
             .callbacks = nullptr,
             .pool = resources.pool,
             .copies = nullptr,
             .handles = parts.handles,
             .authorizer = parts.authorizer},
      service_(state_, parts.operations, resources.metrics) {
  register_metrics(resources.metrics);
}

// Who breaks a lease is told of in another thread, at any time: the leases end first, and their end waits for
// that.
Nfs4Engine::~Nfs4Engine() {
  state::DeferredWork after;
  states_.with([&](state::States& states) { states.delegations().end_leases(after); });
}

std::vector<state::ClientObserver*> Nfs4Engine::observers(const std::vector<state::ClientObserver*>& others) {
  std::vector<state::ClientObserver*> all{&own_state_};
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

bool Nfs4Engine::OwnState::holds_state(clientid4 client) const {
  return engine_.states_.with([&](const state::States& states) { return states.holds_state(client); });
}

void Nfs4Engine::OwnState::stop(clientid4 client) {
  if (engine_.copies_) engine_.copies_->cancel_all(client);
}

bool Nfs4Engine::OwnState::stopping(clientid4 client) const {
  return engine_.copies_ && engine_.copies_->stopping(client);
}

io::Op<> Nfs4Engine::OwnState::stopped(clientid4 client) {
  if (engine_.copies_) return engine_.copies_->stopped(client);
  return base::Result<void>();
}

void Nfs4Engine::OwnState::release(clientid4 client) {
  engine_.states_.with([&](state::States& states) { states.drop_client(client); });
}

void Nfs4Engine::OwnState::revoke(clientid4 client) {
  engine_.states_.with([&](state::States& states) { states.revoke_client(client); });
}

void Nfs4Engine::register_metrics(base::MetricRegistry& registry) {
  clients_.register_metrics(registry);
  for (const state::Kind* const kind :
       states_.with([](const state::States& states) { return states.kinds(); }))
    registry.gauge("braid_nfs4_states", "Opens, locks and delegations that NFSv4 clients hold",
                   fmt::format(R"(kind="{}")", kind->traits.name), [this, number = kind->traits.kind] {
                     return static_cast<double>(states_.with(
                         [&](const state::States& states) { return states.count().of(number); }));
                   });
  registry.counter_function("braid_nfs4_lock_turns_total",
                            "Clients told that a lock they wait for is free (CB_NOTIFY_LOCK)", {}, [this] {
                              return static_cast<double>(states_.with(
                                  [](const state::States& states) { return states.locks().turns_given(); }));
                            });
  registry.counter_function("braid_nfs4_locks_refused_total",
                            "Locks refused because a file or a client has as many as it may", {}, [this] {
                              return static_cast<double>(states_.with(
                                  [](const state::States& states) { return states.locks().refused_full(); }));
                            });
  registry.counter_function("braid_nfs4_states_refused_total",
                            "Opens, locks, delegations and owners that clients did not get for want of room",
                            {}, [this] {
                              return static_cast<double>(
                                  states_.with([](const state::States& states) { return states.refused(); }));
                            });
  registry.gauge("braid_nfs4_state_call_entries_max",
                 "Entries of the tables of NFSv4 state that were looked at by the call that looked at most",
                 {}, [this] {
                   return static_cast<double>(
                       states_.with([](const state::States& states) { return states.longest_call(); }));
                 });
  registry.counter_function(
      "braid_nfs4_over_share_total",
      "OPENs and LOCKs refused to clients that had more than their share of what was short", {}, [this] {
        return static_cast<double>(
            states_.with([](const state::States& states) { return states.over_share(); }));
      });
  registry.counter_function("braid_nfs4_background_copies_total",
                            "Copies that went on after their COPY was answered", {},
                            [this] { return copies_ ? static_cast<double>(copies_->begun()) : 0; });
  register_delegation_metrics(registry);
}

void Nfs4Engine::register_delegation_metrics(base::MetricRegistry& registry) {
  const auto value_of = [this](auto state::DelegationStats::* member) {
    return [this, member] {
      return static_cast<double>(
          states_.with([&](const state::States& states) { return states.delegations().stats().*member; }));
    };
  };
  registry.gauge("braid_nfs4_delegations", "Delegations that clients hold", R"(type="read")",
                 value_of(&state::DelegationStats::reading));
  registry.gauge("braid_nfs4_delegations", "Delegations that clients hold", R"(type="write")",
                 value_of(&state::DelegationStats::writing));
  registry.gauge("braid_nfs4_delegations", "Delegations that clients hold", R"(type="directory")",
                 value_of(&state::DelegationStats::directories));
  registry.counter_function("braid_nfs4_delegations_granted_total", "Delegations given", {},
                            value_of(&state::DelegationStats::granted));
  registry.counter_function("braid_nfs4_delegations_recalled_total", "Delegations asked for again", {},
                            value_of(&state::DelegationStats::recalled));
  registry.counter_function("braid_nfs4_delegations_revoked_total", "Delegations that did not come back", {},
                            value_of(&state::DelegationStats::revoked));
}

void Nfs4Engine::start(io::Reactor& reactor, rpc::TcpWorker& tcp) {
  callbacks_.emplace(clients_, tcp, resources_.slabs, callback_options(options_));
  state_.callbacks = &*callbacks_;
  copies_.emplace(reactor, copy_callbacks(*callbacks_), records_->epoch(), CopyJobLimits{});
  state_.copies = &*copies_;
}

io::Op<> Nfs4Engine::close() {
  if (copies_) co_await copies_->close();
  if (callbacks_) co_await callbacks_->close();
}

base::Result<void> Nfs4Engine::note_held() {
  if (clients_.with([](const state::ClientTable& table) { return table.confirmed_40().empty(); })) return {};
  state::HeldSums held;
  while (states_.with([&](const state::States& states) { return held.look(states); })) continue;
  return clients_.note_held(held);
}

// A client of 4.0 cannot say that it has reclaimed all it means to. What holds just what it held has.
io::Op<> Nfs4Engine::compare_held(base::TimePoint now) {
  std::vector<state::Grace::Paused> paused = clients_.take_paused(now);
  std::erase_if(paused, [&](const state::Grace::Paused& one) {
    const auto has =
        states_.with([&](const state::States& states) { return states.count(one.client).all(); });
    return has < one.held.states;
  });
  if (paused.empty()) co_return;
  state::HeldSums held;
  while (states_.with([&](const state::States& states) { return held.look(states); }))
    (void)co_await ops::let_others_run().as_result();
  for (const state::Grace::Paused& one : paused)
    if (held.of(one.client) == one.held) clients_.has_all_again(one);
}

void Nfs4Engine::tell_of_refused(base::TimePoint now) {
  const auto [locks, states] = states_.with(
      [](const state::States& all) { return std::pair(all.locks().refused_full(), all.refused()); });
  if (const std::uint64_t count = lines_of_locks_.news(locks, now); count > 0)
    base::log_event(base::Level::warning, "locks_refused",
                    "count={}: a file or a client has as many locks as it may (file_locks_max, "
                    "client_states_max)",
                    count);
  if (const std::uint64_t count = lines_of_states_.news(states, now); count > 0)
    base::log_event(base::Level::warning, "states_refused",
                    "count={}: there are as many opens, locks, delegations or owners as there may be "
                    "(states_max), or as a "
                    "client (client_states_max) or one address may have",
                    count);
}

io::Op<> Nfs4Engine::tick() {
  const base::TimePoint now = resources_.clock.now();
  (void)co_await compare_held(now).as_result();
  (void)co_await clients_.tick(now).as_result();
  // Courtesy ends where there is no room for others.
  const bool full = states_.with(
      [&](const state::States& states) { return states.size() > options_.states.states_max / 4 * 3; });
  if (full) (void)co_await clients_.evict_longest_silent(now).as_result();
  const base::TimePoint lease_ago = now - options_.clients.lease;
  state::DeferredWork after;
  bool more = false;
  const std::vector<state::Surplus> surplus = states_.with([&](state::States& states) {
    more = states.tick(lease_ago, now, after);
    return states.delegations().surplus(now);
  });
  const std::vector<state::SessionRef> shrinking =
      clients_.with([](state::ClientTable& table) { return table.take_shrinking(); });
  if (callbacks_) {
    for (const state::Surplus& one : surplus) callbacks_->recall_any(one.client->id, one.keep);
    for (const state::SessionRef& one : shrinking)
      callbacks_->recall_slots(one, one->slot_stats().target - 1);
  }
  (void)co_await ops::settle(state_, std::exchange(after, {})).as_result();
  while (more) {
    (void)co_await ops::let_others_run().as_result();
    states_.with([&](state::States& states) { more = states.tidy(lease_ago, now, after); });
    (void)co_await ops::settle(state_, std::exchange(after, {})).as_result();
  }
  tell_of_refused(now);
  (void)co_await ops::settle_left(state_).as_result();
  (void)co_await ops::look_for_local_waits(state_).as_result();
  const bool at_rest =
      states_.with([](const state::States& states) { return states.delegations().at_rest(); });
  if (at_rest) (void)co_await clients_.note_watching().as_result();
}

Op4<bool> Nfs4Engine::evict(clientid4 client) {
  const auto gone = co_await clients_.evict(client).as_result();
  (void)co_await ops::settle_left(state_).as_result();
  co_return co_await gone;
}

Op4<> Nfs4Engine::revoke(clientid4 client) {
  co_await clients_.revoke(client);
  (void)co_await ops::settle_left(state_).as_result();
}

}  // namespace braid::nfs4
