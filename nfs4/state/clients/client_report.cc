// The part of ClientTable that people see.
#include <fmt/format.h>

#include <algorithm>

#include "nfs4/state/clients/client_table.h"

namespace braid::nfs4::state {

std::string printable(base::BytesView bytes) {
  std::string out;
  for (const std::byte byte : bytes) {
    const auto letter = std::to_integer<unsigned char>(byte);
    if (letter >= 0x20 && letter < 0x7f && letter != '\\')
      out.push_back(static_cast<char>(letter));
    else
      out += fmt::format("\\x{:02x}", letter);
  }
  return out;
}

namespace {

// The first `count` of the keys that follow `after`, in their order.
template <class Key, class Map>
std::vector<Key> keys_after(const Map& map, const Key& after, std::size_t count) {
  std::vector<Key> keys;
  for (const auto& [key, value] : map)
    if (key > after) keys.push_back(key);
  const std::size_t wanted = std::min(count, keys.size());
  std::ranges::partial_sort(keys, keys.begin() + static_cast<std::ptrdiff_t>(wanted));
  keys.resize(wanted);
  return keys;
}

}  // namespace

std::vector<ClientRef> ClientTable::confirmed_40() const {
  std::vector<ClientRef> out;
  for (const auto& [name, id] : confirmed_) {
    if (name.first) break;  // the names of later versions follow
    out.push_back(records_.at(id).client);
  }
  return out;
}

std::vector<ClientReport> ClientTable::report(base::TimePoint now, clientid4 after,
                                              std::size_t lines_max) const {
  std::vector<ClientReport> out;
  for (const clientid4 id : keys_after(records_, after, lines_max)) {
    const Record& record = records_.at(id);
    const Client& client = *record.client;
    const bool confirmed = client.standing() == Standing::confirmed;
    const bool called = std::ranges::any_of(
        record.sessions, [](const SessionRef& session) { return session->back_health().works(); });
    out.push_back({.client = id,
                   .minor_version = client.minor_version(),
                   .owner = printable(client.intro.owner),
                   .peer = client.intro.peer,
                   .implementation = printable(base::bytes_of(client.intro.implementation)),
                   .age = now - client.created,
                   .silent = now - client.renewed(),
                   .confirmed = confirmed,
                   .courtesy = confirmed && lease_over(record, now),
                   .callbacks = called || record.callback.program != 0,
                   .recorded = client.recorded(),
                   .sessions = record.sessions.size()});
  }
  return out;
}

std::vector<SessionReport> ClientTable::report_sessions(const SessionId& after, std::size_t lines_max) const {
  std::vector<SessionReport> out;
  for (const SessionId& id : keys_after(sessions_, after, lines_max)) {
    const Session& session = *sessions_.at(id);
    out.push_back({.session = id,
                   .client = session.client->id,
                   .peer = session.client->intro.peer,
                   .minor_version = session.client->minor_version(),
                   .created = session.created,
                   .fore = session.fore,
                   .back = session.back,
                   .slots = session.slot_stats(),
                   .back_connections = session.back_connections()});
  }
  return out;
}

}  // namespace braid::nfs4::state
