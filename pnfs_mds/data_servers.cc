#include "pnfs_mds/data_servers.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "pnfs_mds/records.h"

namespace braid::pnfs_mds {
base::Result<std::unique_ptr<DataServers>> DataServers::open(int directory, const base::Clock& clock,
                                                             const Options& options) {
  std::unique_ptr<DataServers> out(new DataServers(clock, options));
  bool damaged = false;
  const auto take = [&](base::BytesView record) {
    const auto server = decode_server(record);
    damaged = damaged || !server || !out->take(*server);
  };
  const auto snapshot = [servers = out.get()] { return servers->snapshot(); };
  auto journal = Journal::open(directory, "servers", snapshot, take);
  if (!journal) return base::fail(journal.error());
  if (damaged) return base::fail(EBADMSG);
  out->journal_ = std::move(*journal);
  return out;
}

bool DataServers::take(const DataServerInfo& server) {
  return state_.with([&](State& state) {
    const auto other = std::ranges::find_if(
        state.table, [&](const auto& entry) { return entry.second.info.id == server.id; });
    if (other != state.table.end() && other->first != server.number) return false;
    Known& known = state.table[server.number];
    if (known.info.generation != 0 && known.info.id != server.id) return false;
    known.info = server;
    known.kept = server.verifier;
    return state.table.size() <= servers_max;
  });
}

std::vector<base::Bytes> DataServers::snapshot() const {
  return state_.with([](const State& state) {
    std::vector<base::Bytes> records;
    records.reserve(state.table.size() + 1);
    for (const auto& [number, known] : state.table) {
      DataServerInfo info = known.info;
      info.verifier = known.kept;
      records.push_back(encode(info));
    }
    if (state.coming) records.push_back(encode(*state.coming));
    return records;
  });
}

ServerStanding DataServers::standing_of(const Known& known, base::TimePoint now) const {
  return {.generation = known.info.generation,
          .in_contact = known.heard && now - *known.heard < options_.patience,
          .lost = now - known.heard.value_or(opened_) >= options_.lost,
          .barred_itself = now - known.heard.value_or(opened_) >= options_.patience};
}

DataServerInfo DataServers::info_of(const Known& known, base::TimePoint now) const {
  const ServerStanding standing = standing_of(known, now);
  DataServerInfo out = known.info;
  out.in_contact = standing.in_contact;
  out.lost = standing.lost;
  return out;
}

std::vector<DataServerInfo> DataServers::all() const {
  const base::TimePoint now = clock_.recently();
  return state_.with([&](const State& state) {
    std::vector<DataServerInfo> out;
    out.reserve(state.table.size());
    for (const auto& [number, known] : state.table) out.push_back(info_of(known, now));
    return out;
  });
}

std::vector<ServerRoomLeft> DataServers::in_contact() const {
  const base::TimePoint now = clock_.recently();
  return state_.with([&](const State& state) {
    std::vector<ServerRoomLeft> out;
    out.reserve(state.table.size());
    for (const auto& [number, known] : state.table)
      if (standing_of(known, now).in_contact) out.push_back({number, known.info.room.bytes_available});
    return out;
  });
}

std::optional<DataServerInfo> DataServers::find(pnfs::ServerNumber number) const {
  const base::TimePoint now = clock_.recently();
  return state_.with([&](const State& state) -> std::optional<DataServerInfo> {
    const auto found = state.table.find(number);
    if (found == state.table.end()) return std::nullopt;
    return info_of(found->second, now);
  });
}

std::optional<ServerStanding> DataServers::standing(pnfs::ServerNumber number) const {
  const base::TimePoint now = clock_.recently();
  return state_.with([&](const State& state) -> std::optional<ServerStanding> {
    const auto found = state.table.find(number);
    if (found == state.table.end()) return std::nullopt;
    return standing_of(found->second, now);
  });
}

DataServers::Known* DataServers::known_by(State& state, const pnfs::ServerId& id) {
  const auto found =
      std::ranges::find_if(state.table, [&](const auto& entry) { return entry.second.info.id == id; });
  return found == state.table.end() ? nullptr : &found->second;
}

std::optional<pnfs::ServerNumber> DataServers::number_of(const pnfs::ServerId& id) const {
  return state_.with([&](const State& state) -> std::optional<pnfs::ServerNumber> {
    for (const auto& [number, known] : state.table)
      if (known.info.id == id) return number;
    return std::nullopt;
  });
}

vfs::Verifier DataServers::verifier_of(pnfs::ServerNumber number) const {
  return state_.with([&](const State& state) {
    const auto found = state.table.find(number);
    return found == state.table.end() ? vfs::Verifier{} : found->second.info.verifier;
  });
}

std::optional<pnfs::ServerId> DataServers::id_of(const std::string& name) const {
  return state_.with([&](const State& state) -> std::optional<pnfs::ServerId> {
    for (const auto& [number, known] : state.table)
      if (known.info.name == name) return known.info.id;
    return std::nullopt;
  });
}

// With the turn. What is coming is shown to nobody before it is kept.
vfs::VfsOp<> DataServers::keep(DataServerInfo server) {
  state_.with([&](State& state) { state.coming = server; });
  const base::Result<void, vfs::Error> kept = co_await journal_->append(encode(server)).as_result();
  state_.with([&](State& state) {
    state.coming.reset();
    if (!kept) return;
    Known& known = state.table[server.number];
    const DataServerInfo before = std::exchange(known.info, server);
    known.kept = server.verifier;
    known.info.room = before.room;
    known.info.load = before.load;
    known.info.verifier = before.verifier;
  });
  co_await base::Result<void, vfs::Error>(kept);
}

vfs::VfsOp<pnfs::ServerNumber> DataServers::admit(pnfs::ServerId id, std::string name,
                                                  std::vector<Address> addresses) {
  const Turns::Hold hold = co_await changing_.alone();
  DataServerInfo next;
  bool changed = true;
  const std::optional<vfs::Error> refused = state_.with([&](State& state) -> std::optional<vfs::Error> {
    for (const auto& [number, known] : state.table)
      if (known.info.name == name && known.info.id != id) return vfs::Error::exist;
    if (const Known* const known = known_by(state, id)) {
      next = known->info;
      next.verifier = known->kept;
      changed = next.name != name || next.addresses != addresses;
      if (next.addresses != addresses) ++next.generation;
    } else {
      if (state.table.size() >= servers_max) return vfs::Error::nospc;
      next.number = pnfs::ServerNumber(state.table.empty() ? 1 : state.table.rbegin()->first.value() + 1);
      next.id = id;
      next.generation = 1;
    }
    next.name = name;
    next.addresses = addresses;
    return std::nullopt;
  });
  if (refused) co_await base::fail(*refused);
  if (changed) {
    co_await keep(next);
    base::log_event(base::Level::info, "data_server", "number={} name={} addresses={}", next.number.value(),
                    next.name, next.addresses.size());
  }
  co_return next.number;
}

vfs::VfsOp<bool> DataServers::heard(pnfs::ServerId id, Heartbeat heartbeat) {
  const base::TimePoint now = clock_.now();
  bool had_contact = false;
  std::optional<base::Duration> silence;
  const auto note = [&](State& state) -> std::optional<bool> {
    Known* const known = known_by(state, id);
    if (known == nullptr) return std::nullopt;
    if (known->kept != heartbeat.verifier) return false;
    had_contact = standing_of(*known, now).in_contact;
    if (known->heard && !had_contact) silence = now - *known->heard;
    known->heard = now;
    known->info.room = heartbeat.room;
    known->info.load = heartbeat.load;
    known->info.verifier = heartbeat.verifier;
    return true;
  };
  std::optional<bool> noted = state_.with(note);
  if (noted && !*noted) {
    const Turns::Hold hold = co_await changing_.alone();
    DataServerInfo next;
    const bool restarted = state_.with([&](State& state) {
      const Known& known = *known_by(state, id);
      next = known.info;
      next.verifier = heartbeat.verifier;
      // What never said anything has not restarted.
      if (known.kept != vfs::Verifier{} && known.kept != heartbeat.verifier) ++next.generation;
      return known.kept != heartbeat.verifier;
    });
    if (restarted) co_await keep(next);
    noted = state_.with(note);
  }
  if (!noted) co_await base::fail(vfs::Error::noent);
  if (silence) log_return(id, *silence);
  co_return had_contact;
}

// Why files that were made meanwhile are on the others alone.
void DataServers::log_return(const pnfs::ServerId& id, base::Duration silence) const {
  const std::optional<pnfs::ServerNumber> number = number_of(id);
  if (!number) return;
  base::log_event(base::Level::warning, "data_server_heard_again", "number={} name={} silent_ms={}",
                  number->value(), find(*number)->name,
                  std::chrono::duration_cast<std::chrono::milliseconds>(silence).count());
}

void DataServers::unheard(pnfs::ServerId id) {
  state_.with([&](State& state) {
    if (Known* const known = known_by(state, id)) known->heard.reset();
  });
}

void DataServers::saw(pnfs::ServerNumber number, const vfs::Verifier& verifier) {
  state_.with([&](State& state) {
    const auto found = state.table.find(number);
    if (found != state.table.end()) found->second.info.verifier = verifier;
  });
}

}  // namespace braid::pnfs_mds
