#include "pnfs_mds/pending_fences.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace braid::pnfs_mds {

void PendingFences::add(pnfs::ServerNumber server, const ClientFence& fence) {
  all_.with([&](All& all) {
    pnfs::GrantNumber& last = all[server][fence.client];
    last = std::max(last, fence.last);
  });
}

// A newer fence of the same client may have come meanwhile.
void PendingFences::confirmed(pnfs::ServerNumber server, const ClientFence& fence) {
  all_.with([&](All& all) {
    const auto clients = all.find(server);
    if (clients == all.end()) return;
    const auto found = clients->second.find(fence.client);
    if (found != clients->second.end() && found->second <= fence.last) clients->second.erase(found);
    if (clients->second.empty()) all.erase(clients);
  });
}

// It is pending from the beginning: a heartbeat that comes while the server does not answer is not answered
// before the server has it.
vfs::VfsOp<> PendingFences::put(pnfs::ServerNumber server, ClientFence fence) {
  add(server, fence);
  const auto barred_itself = [&] {
    const std::optional<ServerStanding> standing = servers_.standing(server);
    return !standing || standing->barred_itself;
  };
  if (barred_itself()) co_return;
  std::vector<Fence> one(1, fence);
  const base::Result<void, vfs::Error> told = co_await calls_.fence(server, std::move(one)).as_result();
  if (told) {
    confirmed(server, fence);
    co_return;
  }
  if (barred_itself()) co_return;
  co_await base::Result<void, vfs::Error>(told);
}

vfs::VfsOp<> PendingFences::deliver(pnfs::ServerNumber server) {
  std::vector<ClientFence> fences = all_.with([&](const All& all) {
    std::vector<ClientFence> out;
    const auto clients = all.find(server);
    if (clients == all.end()) return out;
    out.reserve(clients->second.size());
    for (const auto& [client, last] : clients->second) out.push_back({client, last});
    return out;
  });
  for (std::size_t at = 0; at < fences.size(); at += ObjectCalls::batch_max) {
    const std::size_t end = std::min(fences.size(), at + ObjectCalls::batch_max);
    std::vector<Fence> batch(fences.begin() + static_cast<std::ptrdiff_t>(at),
                             fences.begin() + static_cast<std::ptrdiff_t>(end));
    co_await calls_.fence(server, std::move(batch));
    for (std::size_t i = at; i < end; ++i) confirmed(server, fences[i]);
  }
}

void PendingFences::forget_below(pnfs::GrantNumber lowest) {
  all_.with([&](All& all) {
    for (auto& [server, clients] : all)
      std::erase_if(clients, [&](const auto& one) { return one.second < lowest; });
    std::erase_if(all, [](const auto& one) { return one.second.empty(); });
  });
}

std::size_t PendingFences::count() const {
  return all_.with([](const All& all) {
    std::size_t sum = 0;
    for (const auto& [server, clients] : all) sum += clients.size();
    return sum;
  });
}

}  // namespace braid::pnfs_mds
