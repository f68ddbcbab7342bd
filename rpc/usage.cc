#include "rpc/usage.h"

#include <algorithm>
#include <utility>

namespace braid::rpc {
namespace {

// By so much of it the past counts less each second: half after 44 seconds.
constexpr std::uint64_t fades = 64;
// So that two that are equally busy do not take turns.
constexpr std::uint64_t stays_part = 4;

}  // namespace

std::string_view name_of(Work work) {
  switch (work) {
    case Work::look:
      return "look";
    case Work::change:
      return "change";
    case Work::read:
      return "read";
    case Work::write:
      return "write";
    case Work::state:
      return "state";
    case Work::none:
      break;
  }
  return "none";
}

UsageCounts& UsageCounts::operator+=(const UsageCounts& other) {
  for (std::size_t i = 0; i < works; ++i) operations[i] += other.operations[i];
  errors += other.errors;
  read_bytes += other.read_bytes;
  written_bytes += other.written_bytes;
  return *this;
}

UsageCounts& UsageCounts::operator-=(const UsageCounts& other) {
  for (std::size_t i = 0; i < works; ++i) operations[i] -= other.operations[i];
  errors -= other.errors;
  read_bytes -= other.read_bytes;
  written_bytes -= other.written_bytes;
  return *this;
}

std::uint64_t UsageCounts::all_operations() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t each : operations) sum += each;
  return sum;
}

UsageCounts UsageLedger::Entry::counts() const {
  UsageCounts out;
  for (std::size_t i = 0; i < works; ++i) out.operations[i] = operations[i].load(std::memory_order_relaxed);
  out.errors = errors.load(std::memory_order_relaxed);
  out.read_bytes = read_bytes.load(std::memory_order_relaxed);
  out.written_bytes = written_bytes.load(std::memory_order_relaxed);
  return out;
}

UsageLedger::Entry& UsageLedger::find(std::uint32_t from) {
  const auto found = std::ranges::find(entries_, from, &Entry::from);
  if (found != entries_.end()) return *(last_ = &*found);
  const std::scoped_lock lock(mutex_);
  Entry& made = entries_.emplace_front();
  made.from = from;
  return *(last_ = &made);
}

UsageByExport UsageLedger::by_export() const {
  UsageByExport out;
  const std::scoped_lock lock(mutex_);
  for (const Entry& entry : entries_) out.emplace(entry.from, entry.counts());
  return out;
}

UsageCounts UsageLedger::sum() const {
  UsageCounts out;
  const std::scoped_lock lock(mutex_);
  for (const Entry& entry : entries_) out += entry.counts();
  return out;
}

UsageCounts Usage::Client::sum() const {
  UsageCounts out = ended;
  for (const auto& ledger : ledgers) out += ledger->sum();
  return out;
}

UsageCounts Usage::Client::here() const {
  UsageCounts out = sum();
  return out -= elsewhere;
}

void Usage::Client::set_named(bool is_named) {
  if (named == is_named) return;
  elsewhere = here();
  named = is_named;
}

std::shared_ptr<UsageLedger> Usage::begin(const PeerAddress& peer) {
  auto ledger = std::make_shared<UsageLedger>();
  state_.with([&](State& state) { state.clients[peer.bytes].ledgers.insert(ledger); });
  return ledger;
}

void Usage::end(const PeerAddress& peer, const std::shared_ptr<UsageLedger>& ledger) {
  state_.with([&](State& state) {
    for (const auto& [from, counts] : ledger->by_export()) state.ended[from] += counts;
    const auto found = state.clients.find(peer.bytes);
    Client& client = found->second;
    client.ended += ledger->sum();
    client.ledgers.erase(ledger);
    if (client.named || !client.ledgers.empty()) return;
    state.gone += client.here();
    state.clients.erase(found);
  });
}

void Usage::rank() {
  state_.with([](State& state) {
    std::vector<std::pair<std::uint64_t, Client*>> order;
    for (auto& [host, client] : state.clients) {
      const std::uint64_t now = client.sum().all_operations();
      client.busy -= (client.busy + fades - 1) / fades;
      client.busy += now - std::exchange(client.ranked, now);
      if (client.busy > 0)
        order.emplace_back(client.busy + (client.named ? client.busy / stays_part : 0), &client);
    }
    std::ranges::stable_sort(order, std::ranges::greater(), &std::pair<std::uint64_t, Client*>::first);
    if (order.size() > named_max) order.resize(named_max);
    std::set<const Client*> busiest;
    for (const auto& [busy, client] : order) busiest.insert(client);
    for (auto& [host, client] : state.clients) client.set_named(busiest.contains(&client));
    std::erase_if(state.clients, [&](const auto& each) {
      const Client& client = each.second;
      if (client.named || !client.ledgers.empty()) return false;
      state.gone += client.here();
      return true;
    });
  });
}

UsageByExport Usage::by_export() const {
  return state_.with([](const State& state) {
    UsageByExport out = state.ended;
    for (const auto& [host, client] : state.clients)
      for (const auto& ledger : client.ledgers)
        for (const auto& [from, counts] : ledger->by_export()) out[from] += counts;
    return out;
  });
}

Usage::ByClient Usage::by_client() const {
  return state_.with([](const State& state) {
    ByClient out{.named = {}, .other = state.gone};
    for (const auto& [host, client] : state.clients) {
      if (client.named) {
        out.named.push_back({PeerAddress{.bytes = host}.host(), client.here()});
        out.other += client.elsewhere;
      } else {
        out.other += client.here();
      }
    }
    return out;
  });
}

}  // namespace braid::rpc
