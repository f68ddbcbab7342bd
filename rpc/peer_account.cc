#include "rpc/peer_account.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

namespace braid::rpc {
namespace {

constexpr auto log_pause = std::chrono::minutes(1);
// IPv4-mapped addresses (RFC 4291 section 2.5.5.2).
constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::ptrdiff_t network_bytes = 8;

}  // namespace

PeerKey peer_key(const PeerAddress& peer) {
  PeerKey key = peer.bytes;
  if (!std::ranges::equal(mapped, std::span(key).first<mapped.size()>()))
    std::fill(key.begin() + network_bytes, key.end(), std::uint8_t{0});
  return key;
}

// An IPv4 address is no network of IPv6: those of ::/16 are nobody's (RFC 4291 section 2.4).
io::PeerId peer_id(const PeerAddress& peer) {
  const PeerKey key = peer_key(peer);
  const bool is_mapped = std::ranges::equal(mapped, std::span(key).first<mapped.size()>());
  std::uint64_t number = 0;
  for (const std::uint8_t byte : std::span(key).subspan(is_mapped ? network_bytes : 0, network_bytes))
    number = number << 8U | byte;
  return io::PeerId(number);
}

void PeerAccount::wait(Waiter& waiter) {
  waiters_.with([&](std::deque<Waiter*>& waiters) {
    waiters.push_back(&waiter);
    waiting_.store(waiters.size());
  });
}

void PeerAccount::leave(Waiter& waiter) {
  waiters_.with([&](std::deque<Waiter*>& waiters) {
    std::erase(waiters, &waiter);
    waiting_.store(waiters.size());
  });
}

void PeerAccount::wake_one() {
  waiters_.with([&](std::deque<Waiter*>& waiters) {
    if (waiters.empty()) return;
    Waiter* const first = waiters.front();
    waiters.pop_front();
    waiting_.store(waiters.size());
    first->look_again();
  });
}

bool PeerAccount::to_be_logged(base::TimePoint now) {
  return log_after_.with([&](base::TimePoint& after) {
    if (now < after) return false;
    after = now + log_pause;
    return true;
  });
}

std::shared_ptr<PeerAccount> PeerAccounts::of(const PeerAddress& peer) {
  const PeerKey key = peer_key(peer);
  return accounts_.with([&](auto& accounts) {
    std::weak_ptr<PeerAccount>& known = accounts[key];
    std::shared_ptr<PeerAccount> account = known.lock();
    if (account) return account;
    account = {new PeerAccount, [this, key](PeerAccount* ended) {
                 delete ended;
                 forget(key);
               }};
    known = account;
    return account;
  });
}

void PeerAccounts::forget(const PeerKey& key) {
  accounts_.with([&](auto& accounts) {
    const auto found = accounts.find(key);
    if (found != accounts.end() && found->second.expired()) accounts.erase(found);
  });
}

}  // namespace braid::rpc
