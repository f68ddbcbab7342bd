#include "rpc/peer_account.h"

#include <algorithm>
#include <span>
#include <utility>

#include "rpc/socket_address.h"

namespace braid::rpc {
namespace {

constexpr std::ptrdiff_t network_bytes = 8;

}  // namespace

PeerKey peer_key(const PeerAddress& peer) {
  PeerKey key = peer.bytes;
  if (!is_ipv4(peer)) std::fill(key.begin() + network_bytes, key.end(), std::uint8_t{0});
  return key;
}

std::string text_of(const PeerKey& key) {
  const PeerAddress address{.bytes = key};
  return is_ipv4(address) ? address.host() : address.host() + "/64";
}

// An IPv4 address is no network of IPv6: those of ::/16 are nobody's (RFC 4291 section 2.4).
io::PeerId peer_id(const PeerAddress& peer) {
  const PeerKey key = peer_key(peer);
  std::uint64_t number = 0;
  for (const std::uint8_t byte : std::span(key).subspan(is_ipv4(peer) ? network_bytes : 0, network_bytes))
    number = number << 8U | byte;
  return io::PeerId(number);
}

base::LogSource log_source(const PeerAddress& peer) { return base::LogSource(peer_id(peer).value()); }

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
