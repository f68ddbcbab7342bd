// The part of ClientTable that people see.
#include <fmt/format.h>

#include <algorithm>

#include "nfs4/state/client_table.h"

namespace braid::nfs4::state {
namespace {

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

}  // namespace

std::vector<ClientReport> ClientTable::report(base::TimePoint now) const {
  std::vector<ClientReport> out;
  out.reserve(records_.size());
  for (const auto& [id, record] : records_) {
    const Client& client = *record.client;
    const bool confirmed = client.standing() == Standing::confirmed;
    const bool called = std::ranges::any_of(
        record.sessions, [](const SessionRef& session) { return session->has_back_channel(); });
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
                   .sessions = record.sessions.size()});
  }
  std::ranges::sort(out, {}, &ClientReport::client);
  return out;
}

std::vector<SessionReport> ClientTable::report_sessions() const {
  std::vector<SessionReport> out;
  out.reserve(sessions_.size());
  for (const auto& [id, session] : sessions_) {
    out.push_back({.session = id,
                   .client = session->client->id,
                   .fore = session->fore,
                   .back = session->back,
                   .slots = session->slot_stats(),
                   .back_connections = session->back_connections()});
  }
  std::ranges::sort(out, {}, [](const SessionReport& one) { return std::pair(one.client, one.session); });
  return out;
}

}  // namespace braid::nfs4::state
