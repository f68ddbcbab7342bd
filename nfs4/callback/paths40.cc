#include "nfs4/callback/paths40.h"

#include <utility>
#include <vector>

#include "base/siphash.h"

namespace braid::nfs4::callback {

std::shared_ptr<Path40> Paths40::to(clientid4 client, const state::CallbackAddress& address) {
  const auto found = paths_.find(client);
  if (found != paths_.end() && found->second.path->to() == address) {
    found->second.used = ++calls_;
    return found->second.path;
  }
  if (found != paths_.end()) close(found);
  const rpc::PeerKey peer = rpc::peer_key({.bytes = address.from});
  if (!make_room(peer)) return nullptr;
  auto path = std::make_shared<Path40>(tcp_, pool_, address, peer, connecting_,
                                       static_cast<std::uint32_t>(base::random_sip_key()[0]));
  ++of_peer_[peer];
  paths_.emplace(client, Entry{path, peer, ++calls_});
  return path;
}

bool Paths40::make_room(const rpc::PeerKey& peer) {
  const auto of_peer = of_peer_.find(peer);
  const bool peer_full = of_peer != of_peer_.end() && of_peer->second >= limits_.of_peer;
  if (!peer_full && paths_.size() < limits_.all) return true;
  auto oldest = paths_.end();
  for (auto it = paths_.begin(); it != paths_.end(); ++it) {
    const Entry& entry = it->second;
    if (entry.path.use_count() > 1 || (peer_full && entry.peer != peer)) continue;
    if (oldest == paths_.end() || entry.used < oldest->second.used) oldest = it;
  }
  if (oldest == paths_.end()) return false;
  close(oldest);
  return true;
}

void Paths40::close(Entries::iterator entry) {
  const auto of_peer = of_peer_.find(entry->second.peer);
  if (--of_peer->second == 0) of_peer_.erase(of_peer);
  io::spawn(gate_, close_path(std::move(entry->second.path)));
  paths_.erase(entry);
}

io::Op<> Paths40::close_path(std::shared_ptr<Path40> path) { co_await path->close(); }

void Paths40::drop(const std::function<bool(clientid4)>& gone) {
  std::vector<clientid4> all;
  all.reserve(paths_.size());
  for (const auto& [client, entry] : paths_)
    if (gone(client)) all.push_back(client);
  for (const clientid4 client : all) close(paths_.find(client));
}

io::Op<> Paths40::close() {
  while (!paths_.empty()) close(paths_.begin());
  co_await gate_.drained();
}

}  // namespace braid::nfs4::callback
