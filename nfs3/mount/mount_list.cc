#include "nfs3/mount/mount_list.h"

#include <algorithm>

namespace braid::nfs3::mount {

template <class F>
void MountList::List::remove_if(F matches) {
  std::erase_if(entries, [&](const Known& known) {
    if (!matches(known)) return false;
    const auto of = of_peer.find(known.peer);
    if (--of->second == 0) of_peer.erase(of);
    return true;
  });
}

void MountList::List::make_room(const rpc::PeerKey& newcomer) {
  const auto own = of_peer.find(newcomer);
  auto most = own != of_peer.end() ? own : of_peer.begin();
  for (auto it = of_peer.begin(); it != of_peer.end(); ++it)
    if (it->second > most->second) most = it;
  bool found = false;
  remove_if([&](const Known& known) { return !found && (found = known.peer == most->first); });
}

void MountList::add(const rpc::PeerKey& peer, std::string_view client, std::string_view path) {
  Entry added{std::string(client), std::string(path)};
  list_.with([&](List& list) {
    list.remove_if([&](const Known& known) { return known.entry == added; });
    if (list.entries.size() == entries_max) list.make_room(peer);
    list.entries.push_back({std::move(added), peer});
    ++list.of_peer[peer];
  });
}

void MountList::remove(std::string_view client, std::string_view path) {
  list_.with([&](List& list) {
    list.remove_if(
        [&](const Known& known) { return known.entry.client == client && known.entry.path == path; });
  });
}

void MountList::remove_all(std::string_view client) {
  list_.with(
      [&](List& list) { list.remove_if([&](const Known& known) { return known.entry.client == client; }); });
}

std::vector<MountList::Entry> MountList::entries() const {
  return list_.with([](const List& list) {
    std::vector<Entry> all;
    all.reserve(list.entries.size());
    for (const Known& known : list.entries) all.push_back(known.entry);
    return all;
  });
}

}  // namespace braid::nfs3::mount
