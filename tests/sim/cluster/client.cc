#include "tests/sim/cluster/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "tests/sim/cluster/options.h"

namespace braid::sim::cluster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

verifier4 verifier_of(std::uint64_t number) {
  verifier4 out{};
  std::memcpy(out.data(), &number, sizeof number);
  return out;
}

SessionTraits metadata_traits(const ClientTraits& traits, const std::string& owner, std::uint32_t boot) {
  return {.client = traits.index,
          .owner = owner,
          .verifier = verifier_of(boot),
          .flags = EXCHGID4_FLAG_USE_PNFS_MDS,
          .minor_version = traits.minor_version,
          .first_xid = boot << 20U,
          .patience = std::chrono::hours(10),
          .state = true};
}

}  // namespace

Layout::Place Layout::place_of(std::uint64_t offset) const {
  const std::uint64_t stripe = offset / unit;
  Place out{.index = static_cast<std::size_t>((stripe + first) % handles.size()), .offset = offset};
  if (dense) out.offset = stripe / handles.size() * unit + offset % unit;
  return out;
}

Client::Client(World& world, const ClientTraits& traits, std::uint32_t boot, const Random& random)
    : world_(world),
      traits_(traits),
      boot_(boot),
      owner_(fmt::format("client-{}", traits.index)),
      random_(random),
      metadata_(world, world.metadata, metadata_traits(traits, owner_, boot), random.fork(1)) {
  metadata_.on_recall = [this](const LayoutRecall& recall) { return recalled(recall); };
}

void Client::start() {
  world_.trace.add(traits_.index, {}, "boots{}", traits_.stubborn ? " (stubborn)" : "");
  io::spawn(gate_, keep_alive());
  for (std::uint32_t i = 0; i < traits_.workers; ++i) io::spawn(gate_, work());
}

void Client::crash() {
  world_.trace.add(traits_.index, {}, "crashes");
  crashed_ = true;
  metadata_.crash();
  for (const auto& [server, session] : data_) session->crash();
}

bool Client::ended() const {
  return gate_.count() == 0 && metadata_.ended() &&
         std::ranges::all_of(data_, [](const auto& one) { return one.second->ended(); });
}

SessionOp<> Client::pause_between(base::Duration low, base::Duration high) {
  co_await world_.scheduler.sleep(random_.between(low, high));
  while (!crashed_ && world_.scheduler.now() < silent_until_)
    co_await world_.scheduler.sleep(milliseconds(200));
  if (crashed_) co_await base::fail(Fault::crashed);
}

SessionOp<> Client::keep_alive() {
  for (;;) {
    co_await pause_between(lease_time / 8, lease_time / 4);
    (void)co_await metadata_.renew().as_result();
  }
}

SessionOp<> Client::work() {
  for (;;) {
    co_await pause_between(milliseconds(5), milliseconds(900));
    (void)co_await one_operation().as_result();
  }
}

Session& Client::data_session(std::uint32_t server) {
  std::unique_ptr<Session>& session = data_[server];
  if (session == nullptr)
    session = std::make_unique<Session>(world_, *world_.data.at(server),
                                        SessionTraits{.client = traits_.index,
                                                      .owner = owner_,
                                                      .verifier = verifier_of(boot_),
                                                      .flags = EXCHGID4_FLAG_USE_PNFS_DS,
                                                      .minor_version = traits_.minor_version,
                                                      .first_xid = boot_ << 20U,
                                                      .patience = seconds(12),
                                                      .state = false},
                                        random_.fork(100 + server));
  return *session;
}

bool Client::within_lease() const { return world_.scheduler.now() <= metadata_.renewed() + lease_time; }

bool Client::is_current(const Opened& opened) const {
  return opened.instance == metadata_.instance() && !opened.ending;
}

// One of those that are open; null: none is.
OpenedRef Client::some_open() {
  std::erase_if(opens_, [&](const auto& one) {
    const bool old = one.second->instance != metadata_.instance();
    if (old) hoard(one.second);
    return old;
  });
  if (opens_.empty()) return nullptr;
  auto chosen = std::next(opens_.begin(), static_cast<std::ptrdiff_t>(random_.below(opens_.size())));
  return chosen->second->ending ? nullptr : chosen->second;
}

SessionOp<> Client::one_operation() {
  const std::uint64_t dice = random_.below(100);
  if (traits_.stubborn && dice < 20) return use_old_layout();
  const OpenedRef opened = some_open();
  if (opened == nullptr || dice < 4) return open();
  if (!random_.percent(world_.change_percent)) {
    if (dice < 30) return look(opened);
    if (dice < 55) return compare(opened);
    return read(opened);
  }
  if (dice < 8) return remove();
  if (dice < 16) return random_.percent(40) ? overwrite(opened) : truncate(opened);
  if (dice < 22) return close(opened);
  if (dice < 27) return return_layout(opened);
  if (dice < 30) return commit_layout(opened);
  if (dice < 34 && traits_.minor_version > 1)
    return random_.percent(50) ? allocate(opened) : deallocate(opened);
  if (dice < 44) return write_in_band(opened);
  if (dice < 48) return commit_in_band(opened);
  if (dice < 55) return commit_by_layout(opened);
  if (opened->layout == nullptr || !opened->layout->writes) return get_layout(opened, random_.percent(80));
  return write_by_layout(opened, opened->layout);
}

}  // namespace braid::sim::cluster
