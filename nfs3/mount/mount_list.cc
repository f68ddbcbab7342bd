#include "nfs3/mount/mount_list.h"

namespace braid::nfs3::mount {

void MountList::add(std::string_view client, std::string_view path) {
  Entry added{std::string(client), std::string(path)};
  entries_.with([&](std::deque<Entry>& entries) {
    std::erase(entries, added);
    if (entries.size() == entries_max) entries.pop_front();
    entries.push_back(std::move(added));
  });
}

void MountList::remove(std::string_view client, std::string_view path) {
  entries_.with([&](std::deque<Entry>& entries) {
    std::erase_if(entries, [&](const Entry& entry) { return entry.client == client && entry.path == path; });
  });
}

void MountList::remove_all(std::string_view client) {
  entries_.with([&](std::deque<Entry>& entries) {
    std::erase_if(entries, [&](const Entry& entry) { return entry.client == client; });
  });
}

std::vector<MountList::Entry> MountList::entries() const {
  return entries_.with(
      [](const std::deque<Entry>& entries) { return std::vector<Entry>(entries.begin(), entries.end()); });
}

}  // namespace braid::nfs3::mount
