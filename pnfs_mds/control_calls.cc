#include "pnfs_mds/control_calls.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/log.h"
#include "nfs4/callback/universal_address.h"

namespace braid::pnfs_mds {
namespace {

struct StatusRow {
  pnfs::data_status status;
  vfs::Error error;
};
// How often a server that is away is tried whose calls are waited for, and looked at by who waits.
constexpr base::Duration unanswered_interval = std::chrono::milliseconds(100);

constexpr std::array status_rows = {
    StatusRow{1, vfs::Error::perm},        StatusRow{2, vfs::Error::noent},
    StatusRow{5, vfs::Error::io},          StatusRow{13, vfs::Error::acces},
    StatusRow{22, vfs::Error::inval},      StatusRow{27, vfs::Error::fbig},
    StatusRow{28, vfs::Error::nospc},      StatusRow{30, vfs::Error::rofs},
    StatusRow{69, vfs::Error::dquot},      StatusRow{70, vfs::Error::stale},
    StatusRow{10004, vfs::Error::notsupp}, StatusRow{10008, vfs::Error::delay},
};

// In the order of to_data_args.
constexpr std::array<std::string_view, 10> call_names{
    "fence", "read", "write", "commit", "stat", "truncate", "remove", "seek", "allocate", "deallocate"};
static_assert(call_names.size() == std::variant_size_v<decltype(pnfs::to_data_args::body)>);

// A refusal that nobody can mend by waiting is in the log of both sides.
vfs::Error error_of_peer(const pnfs::PeerError& error, pnfs::ServerNumber server) {
  using enum pnfs::control_status;
  const bool waits = error.status == CONTROL_DELAY || error.status == CONTROL_BUSY;
  if (error.fault == pnfs::PeerFault::refused && !waits)
    base::log_event(base::Level::warning, "data_server_refused", "number={} status={}", server.value(),
                    static_cast<std::uint32_t>(error.status));
  return vfs::Error::delay;
}

pnfs::object_key wire_of(const ObjectKey& key) { return {key.object.value(), key.index}; }
pnfs::fence_epoch wire_of(const EpochFence& fence) {
  const pnfs::KeptHandles kept = fence.kept.value_or(pnfs::KeptHandles());
  return {wire_of(fence.of), fence.epoch.value(), fence.last.value(), kept.client.value(), kept.from.value()};
}
pnfs::fence wire_of(const Fence& fence) {
  if (const auto* const epoch = std::get_if<EpochFence>(&fence))
    return pnfs::fence::with_epoch(wire_of(*epoch));
  if (const auto* const client = std::get_if<ClientFence>(&fence))
    return pnfs::fence::with_client({client->client.value(), client->last.value()});
  return pnfs::fence::with_lowest(std::get<LowestFence>(fence).lowest.value());
}

std::string_view name_of(rpc::Transport transport) {
  return transport == rpc::Transport::rdma ? "rdma" : "tcp";
}

// Netids of RDMA are written as those of TCP (RFC 5665 section 5.2.3.3).
std::optional<rpc::PeerAddress> address_of(const Address& address, rpc::Transport transport) {
  std::string_view netid = address.netid;
  if (transport == rpc::Transport::rdma) {
    if (netid != "rdma" && netid != "rdma6") return std::nullopt;
    netid = netid == "rdma" ? "tcp" : "tcp6";
  }
  return nfs4::callback::parse_universal_address(netid, address.uaddr);
}

std::optional<vfs::Stability> stability_of(std::uint32_t stable_how) {
  if (stable_how > 2) return std::nullopt;
  return static_cast<vfs::Stability>(stable_how);
}

EachObject<void> results_of(std::span<const pnfs::data_status> statuses) {
  EachObject<void> out;
  out.reserve(statuses.size());
  for (const pnfs::data_status status : statuses) {
    if (status == 0)
      out.emplace_back();
    else
      out.emplace_back(std::unexpect, error_of_status(status));
  }
  return out;
}

}  // namespace

vfs::Error error_of_status(pnfs::data_status status) {
  const auto* const row = std::ranges::find(status_rows, status, &StatusRow::status);
  return row == status_rows.end() ? vfs::Error::io : row->error;
}

pnfs::data_status status_of_error(vfs::Error error) {
  const auto* const row = std::ranges::find(status_rows, error, &StatusRow::error);
  return row == status_rows.end() ? 5 : row->status;
}

ControlCalls::~ControlCalls() = default;

void ControlCalls::start(io::SlabPool& slabs, const DataServers& servers, const pnfs::ClusterSecret& secret,
                         pnfs::ControlPeer::Own own, std::span<const pnfs::ControlPath> paths,
                         rpc::Transport transport) {
  transport_ = transport;
  slabs_ = &slabs;
  servers_ = &servers;
  secret_ = &secret;
  own_ = std::move(own);
  desks_.reserve(paths.size());
  for (const pnfs::ControlPath& path : paths)
    desks_.push_back(std::make_unique<Desk>(path, static_cast<std::uint32_t>(desks_.size())));
}

void ControlCalls::register_in(base::MetricRegistry& metrics) { counters_.emplace(metrics, call_names); }

ControlCalls::Desk* ControlCalls::desk_here() const {
  const io::Reactor* const here = io::Reactor::current();
  const auto found =
      std::ranges::find_if(desks_, [here](const auto& desk) { return &desk->path.reactor == here; });
  return found == desks_.end() ? nullptr : found->get();
}

base::Result<ControlCalls::Line*, vfs::Error> ControlCalls::line_to(Desk& desk, pnfs::ServerNumber server,
                                                                    About about) {
  const std::optional<ServerStanding> standing = servers_->standing(server);
  const bool bytes = about == About::bytes || about == About::new_bytes;
  if (!standing || (standing->lost && bytes)) return base::fail(vfs::Error::io);
  if (!standing->in_contact && about != About::fences) return base::fail(vfs::Error::delay);
  Line& line = desk.lines[server];
  if (line.peer != nullptr && line.generation == standing->generation) return &line;
  const std::optional<DataServerInfo> info = servers_->find(server);
  if (!info) return base::fail(vfs::Error::io);
  if (line.peer != nullptr) io::spawn(desk.gate, retire(std::move(line.peer)));
  std::vector<rpc::PeerAddress> addresses;
  addresses.reserve(info->addresses.size());
  for (const Address& address : info->addresses)
    if (const auto parsed = address_of(address, transport_)) addresses.push_back(*parsed);
  if (addresses.empty()) {
    tell_of_unreachable(desk, server, "it has no address of this transport");
    return base::fail(vfs::Error::delay);
  }
  const auto is_meant = [id = info->id](const pnfs::Introduction& other) {
    return other.server == id ? pnfs::control_status::CONTROL_OK : pnfs::control_status::CONTROL_OTHER_SERVER;
  };
  line.generation = info->generation;
  line.peer = std::make_unique<pnfs::ControlPeer>(
      desk.path, *slabs_, addresses[line.next % addresses.size()], *secret_, own_, is_meant,
      pnfs::ControlPeerOptions{.channel = {.boot = boot_, .number = desk.channel}});
  return &line;
}

void ControlCalls::note_unreachable(Desk& desk, pnfs::ServerNumber server, const pnfs::ControlPeer* peer) {
  Line& line = desk.lines[server];
  if (line.peer.get() != peer || peer->in_session()) return;
  tell_of_unreachable(desk, server, peer->to().text());
  ++line.next;
  line.generation = 0;
}

void ControlCalls::tell_of_unreachable(Desk& desk, pnfs::ServerNumber server, std::string_view why) {
  if (!unreachable_.due(desk.path.reactor.clock().now())) return;
  base::log_event(base::Level::warning, "data_server_not_reached", "number={} transport={}: {}",
                  server.value(), name_of(transport_), why);
}

vfs::VfsOp<ControlCalls::Reply> ControlCalls::ask(pnfs::ServerNumber server, About about,
                                                  const pnfs::to_data_args& args, io::Payload bulk) {
  Desk* const desk = desk_here();
  if (desk == nullptr || desk->closed) co_await base::fail(vfs::Error::delay);
  const io::Gate::Hold hold(desk->gate);
  Line* const line = co_await line_to(*desk, server, about);
  const bool waits = about == About::new_bytes &&
                     unanswered_.with([&](const auto& unanswered) { return unanswered.contains(server); });
  if (waits) co_await base::fail(vfs::Error::delay);
  const pnfs::ControlPeer* const peer = line->peer.get();
  const std::size_t kind = args.body.index();
  auto reply = co_await line->peer->call_data(args, std::move(bulk), patience).as_result();
  if (counters_ && reply) counters_->answered(kind);
  if (counters_ && !reply) counters_->failed(kind, reply.error().fault);
  if (!reply) {
    note_failure(*desk, server, peer, about, reply.error());
    co_await base::fail(error_of_peer(reply.error(), server));
  }
  co_return std::move(*reply);
}

void ControlCalls::note_failure(Desk& desk, pnfs::ServerNumber server, const pnfs::ControlPeer* peer,
                                About about, const pnfs::PeerError& error) {
  if (error.fault == pnfs::PeerFault::unreachable) note_unreachable(desk, server, peer);
  if (about != About::new_bytes || error.running_in == 0) return;
  // A later session ends what was said in an earlier one, so the latest is enough.
  Line& line = desk.lines[server];
  if (std::exchange(line.unanswered, error)) return;
  unanswered_.with([&](auto& unanswered) { ++unanswered[server]; });
  io::spawn(desk.gate, end_unanswered(desk, server));
}

io::Op<> ControlCalls::end_unanswered(Desk& desk, pnfs::ServerNumber server) {
  Line& line = desk.lines[server];
  while (!desk.closed) {
    const std::optional<pnfs::PeerError> unanswered = line.unanswered;
    const auto there = line_to(desk, server, About::fences);
    if (there && unanswered) {
      const pnfs::ControlPeer* const peer = line.peer.get();
      const auto done = co_await line.peer->outlast(*unanswered).as_result();
      // Another one may have failed in the new session meanwhile.
      if (done && line.unanswered == unanswered) break;
      if (done) continue;
      if (done.error().fault == pnfs::PeerFault::unreachable) note_unreachable(desk, server, peer);
    }
    (void)co_await desk.path.reactor.sleep(unanswered_interval).as_result();
  }
  line.unanswered.reset();
  unanswered_.with([&](auto& unanswered) {
    if (--unanswered[server] == 0) unanswered.erase(server);
  });
}

vfs::VfsOp<> ControlCalls::outlast(pnfs::ServerNumber server) {
  Desk* const desk = desk_here();
  if (desk == nullptr) co_await base::fail(vfs::Error::delay);
  const io::Gate::Hold hold(desk->gate);
  while (desk->lines[server].unanswered) {
    const auto standing = servers_->standing(server);
    if (!standing || standing->lost) co_await base::fail(vfs::Error::io);
    if (desk->closed) co_await base::fail(vfs::Error::delay);
    (void)co_await desk->path.reactor.sleep(unanswered_interval).as_result();
  }
}

vfs::VfsOp<ObjectRead> ControlCalls::read(pnfs::ServerNumber server, ObjectKey of, std::uint64_t offset,
                                          std::uint32_t count) {
  const auto args = pnfs::to_data_args::with_read({wire_of(of), offset, count});
  Reply reply = co_await ask(server, About::bytes, args);
  const pnfs::OBJECT_READres& result = *reply.result.read();
  if (result.status != 0) co_await base::fail(error_of_status(result.status));
  if (reply.bulk.size() > count || reply.bulk.piped()) co_await base::fail(vfs::Error::io);
  co_return ObjectRead{std::move(reply.bulk), result.read()->end};
}

vfs::VfsOp<ObjectWritten> ControlCalls::write(pnfs::ServerNumber server, ObjectWrite what, io::Payload data) {
  const std::size_t size = data.size();
  const auto args = pnfs::to_data_args::with_write(
      {wire_of(what.of), what.offset, static_cast<std::uint32_t>(what.stability), what.uid, what.gid});
  const Reply reply = co_await ask(server, About::new_bytes, args, std::move(data));
  const pnfs::OBJECT_WRITEres& result = *reply.result.write();
  if (result.status != 0) co_await base::fail(error_of_status(result.status));
  const auto committed = stability_of(result.written()->committed);
  if (!committed || result.written()->count > size) co_await base::fail(vfs::Error::io);
  ObjectWritten out{result.written()->count, *committed, {}};
  std::ranges::copy(result.written()->verifier, out.verifier.bytes.begin());
  co_return out;
}

vfs::VfsOp<vfs::Verifier> ControlCalls::commit(pnfs::ServerNumber server, ObjectKey of) {
  const auto args = pnfs::to_data_args::with_commit({wire_of(of)});
  const Reply reply = co_await ask(server, About::bytes, args);
  const pnfs::OBJECT_COMMITres& result = *reply.result.commit();
  if (result.status != 0) co_await base::fail(error_of_status(result.status));
  vfs::Verifier out;
  std::ranges::copy(result.committed()->verifier, out.bytes.begin());
  co_return out;
}

vfs::VfsOp<EachObject<ObjectStat>> ControlCalls::stat(pnfs::ServerNumber server, std::vector<ObjectKey> of,
                                                      NextWrite next) {
  std::vector<pnfs::object_key> keys;
  keys.reserve(of.size());
  for (const ObjectKey& key : of) keys.push_back(wire_of(key));
  const auto args = pnfs::to_data_args::with_stat({keys, next == NextWrite::is_expected});
  const Reply reply = co_await ask(server, About::bytes, args);
  const std::span<const pnfs::object_stat> stats = reply.result.stat()->objects;
  if (stats.size() != of.size()) co_await base::fail(vfs::Error::io);
  EachObject<ObjectStat> out;
  out.reserve(stats.size());
  for (const pnfs::object_stat& one : stats) {
    if (one.status == 0)
      out.emplace_back(ObjectStat{one.end, one.space_used, one.changed});
    else
      out.emplace_back(std::unexpect, error_of_status(one.status));
  }
  co_return std::move(out);
}

vfs::VfsOp<EachObject<void>> ControlCalls::truncate(pnfs::ServerNumber server,
                                                    std::vector<ObjectTruncation> objects) {
  std::vector<pnfs::object_truncation> wire;
  wire.reserve(objects.size());
  for (const ObjectTruncation& one : objects) wire.push_back({wire_of(one.fence), one.number, one.end});
  const auto args = pnfs::to_data_args::with_truncate({wire});
  const Reply reply = co_await ask(server, About::fences, args);
  const std::span<const pnfs::data_status> statuses = reply.result.truncate()->objects;
  if (statuses.size() != objects.size()) co_await base::fail(vfs::Error::io);
  co_return results_of(statuses);
}

vfs::VfsOp<EachObject<void>> ControlCalls::remove(pnfs::ServerNumber server,
                                                  std::vector<ObjectRemoval> objects) {
  std::vector<pnfs::object_removal> wire;
  wire.reserve(objects.size());
  for (const ObjectRemoval& one : objects) wire.push_back({wire_of(one.of), one.last.value()});
  const auto args = pnfs::to_data_args::with_remove({wire});
  const Reply reply = co_await ask(server, About::something_else, args);
  const std::span<const pnfs::data_status> statuses = reply.result.remove()->objects;
  if (statuses.size() != objects.size()) co_await base::fail(vfs::Error::io);
  co_return results_of(statuses);
}

vfs::VfsOp<> ControlCalls::fence(pnfs::ServerNumber server, std::vector<Fence> fences) {
  std::vector<pnfs::fence> wire;
  wire.reserve(fences.size());
  for (const Fence& one : fences) wire.push_back(wire_of(one));
  const auto args = pnfs::to_data_args::with_fence({wire});
  const Reply reply = co_await ask(server, About::fences, args);
  const pnfs::data_status status = reply.result.fence()->status;
  if (status != 0) co_await base::fail(error_of_status(status));
}

io::Op<> ControlCalls::retire(std::unique_ptr<pnfs::ControlPeer> peer) { co_await peer->close(); }

// Calls that run end with their connection, and hold the gate until then.
io::Op<> ControlCalls::close_desk(Desk& desk) {
  desk.closed = true;
  for (auto& [server, line] : desk.lines)
    if (line.peer != nullptr) co_await line.peer->close();
  co_await desk.gate.drained();
  desk.lines.clear();
}

// Where the end of a desk is waited for, from another thread.
struct ControlCalls::Closing {
  Desk& desk;
  io::Reactor* home = nullptr;
  std::coroutine_handle<> waiter{};
  io::Gate gate{};  // of the desk's thread

  static io::Op<> run(Closing& self) {
    co_await close_desk(self.desk);
    // In a later turn, when this has left the gate.
    self.desk.path.reactor.post([&self] { self.home->post(self.waiter); });
  }
};

io::Op<> ControlCalls::close() {
  struct Ended {
    Closing& closing;
    [[nodiscard]] bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
      Closing& at = closing;
      at.home = io::Reactor::current();
      at.waiter = handle;
      at.desk.path.reactor.post([&at] { io::spawn(at.gate, Closing::run(at)); });
    }
    void await_resume() const {}
  };
  for (const std::unique_ptr<Desk>& desk : desks_) {
    Closing closing{*desk};
    co_await Ended{closing};
  }
}

}  // namespace braid::pnfs_mds
