#include "server/roles/data_server/data_server_role.h"

#include <fmt/format.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <future>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/siphash.h"
#include "nfs4/recovery/client_records.h"
#include "pnfs/secret_file.h"
#include "pnfs_ds/ops/operations.h"
#include "rpc/socket_address.h"
#include "server/config/endpoint.h"
#include "server/contents_mark.h"
#include "server/control_path.h"
#include "server/patience.h"
#include "server/process.h"
#include "server/roles/nfs/nfs4_options.h"
#include "server/roles/nfs/nfs4_report.h"
#include "server/roles/nfs/usage_report.h"

namespace braid::server::roles::data_server {
namespace {

constexpr std::uint16_t nfs_port = 2049;
// An object that nobody has used for so long is closed, where there is a store.
constexpr std::uint32_t idle_seconds = 5;

// The first of the addresses that a name has; of no text, that of nobody.
std::expected<rpc::PeerAddress, std::string> resolve(const std::string& text) {
  if (text.empty()) return rpc::PeerAddress();
  const auto split = config::split_host_port(text);
  if (!split)
    return std::unexpected(
        fmt::format("'{}' is no place of a metadata server; write a name or an address with a port", text));
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(split->host.c_str(), nullptr, &hints, &found); error != 0)
    return std::unexpected(fmt::format("the metadata server's name '{}' cannot be resolved: {}", split->host,
                                       ::gai_strerror(error)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  sockaddr_storage storage{};
  std::copy_n(reinterpret_cast<const std::byte*>(found->ai_addr), found->ai_addrlen,
              reinterpret_cast<std::byte*>(&storage));
  rpc::PeerAddress address = rpc::from_socket_address(storage);
  address.port = split->port;
  return address;
}

// RFC 5665 sections 5.2.3.3 and 5.2.3.4. `transport`: "tcp" or "rdma".
pnfs::Introduction::Address universal(const std::string& transport, const rpc::PeerAddress& address) {
  constexpr unsigned byte = 256;
  return {rpc::is_ipv4(address) ? transport : transport + "6",
          fmt::format("{}.{}.{}", config::host_text(address), address.port / byte, address.port % byte)};
}

// How one reaches, from this host, what listens there.
pnfs_ds::MetadataAddress here(const rpc::PeerAddress& listening) {
  const rpc::PeerAddress address =
      config::is_any(listening) ? *rpc::parse_address("127.0.0.1", listening.port) : listening;
  return {address, address.text()};
}

std::string default_name(std::uint16_t port) {
  std::array<char, HOST_NAME_MAX + 1> host{};
  ::gethostname(host.data(), host.size() - 1);
  return port == nfs_port ? std::string(host.data()) : fmt::format("{}:{}", host.data(), port);
}

// Other than any run's before, so that nobody takes the state of another run for this one's.
std::uint32_t random_epoch() { return static_cast<std::uint32_t>(pnfs::random_session()) | 1U; }

nfs4::EngineOptions engine_options(const config::Config& config, std::size_t open_files_max) {
  nfs4::EngineOptions options = nfs::nfs4_options(config, open_files_max);
  options.nfs.delegations = nfs4::Delegations::none;
  return options;
}

// Of the objects in their file system.
constexpr vfs::ExportId objects_id(1);
constexpr const char* objects_export_path = "/";

vfs::Export export_of(std::shared_ptr<vfs::FileSystem> objects) {
  vfs::Export out;
  out.id = objects_id;
  out.path = objects_export_path;
  out.file_system = std::move(objects);
  return out;
}

// Null: the objects are not sealed. The store's source is added to `sources`.
std::expected<std::shared_ptr<stores::Stores>, std::string> open_chunks(
    const config::Config& all, const config::DataServerConfig& own, const std::string& objects,
    const base::Clock& clock, std::vector<vfs::ContentSource*>& sources) {
  std::shared_ptr<stores::Stores> out;
  if (!own.store.empty()) {
    auto opened = stores::Stores::open(all, own, clock);
    if (!opened) return opened;
    out = std::move(*opened);
    config::ExportConfig place;
    place.path = objects_export_path;
    place.directory = objects;
    place.store = own.store;
    sources = out->sources(place);
  }
  // One that was served without its store would tell clients of zeros.
  if (auto marked = mark_contents(objects, sources); !marked) return std::unexpected(marked.error());
  return out;
}

}  // namespace

std::expected<DataServerRole::Opened, std::string> DataServerRole::open(
    const Shared& shared, const config::Config& all, const config::DataServerConfig& config,
    std::size_t open_files_max) {
  auto secret = pnfs::read_secret(config.secret);
  if (!secret) return std::unexpected(std::move(secret.error()));
  auto mds = resolve(config.mds);
  if (!mds) return std::unexpected(std::move(mds.error()));
  Patience patience(shared.clock, "the directory " + config.directory, all.limits.drain_seconds);
  auto store = pnfs_ds::StoreDirectory::open(config.directory,
                                             fmt::format("another data server (process {})", ::getpid()),
                                             [&](std::string_view user) { return patience.lasts(user); });
  if (!store) return std::unexpected(std::move(store.error()));
  vfs::posix::PosixOptions options;
  options.directory = (*store)->objects_path();
  auto chunks = open_chunks(all, config, options.directory, shared.clock, options.sources);
  if (!chunks) return std::unexpected(std::move(chunks.error()));
  options.tree.id = objects_id;
  options.tree.key = base::random_sip_key();
  options.tree.export_path = "/";
  options.tree.cache.descriptors_max = open_files_max;
  options.tree.write_backs = shared.write_backs;
  options.pool = &shared.pool;
  options.slabs = &shared.slabs;
  auto files = vfs::posix::PosixFileSystem::open(options, shared.clock);
  if (!files)
    return std::unexpected(
        fmt::format("cannot serve the objects in {}: {}", config.directory, base::message_of(files.error())));
  auto fences = std::make_unique<pnfs_ds::FenceTable>();
  auto log = pnfs_ds::FenceLog::open((*store)->fd(), *fences, shared.pool);
  if (!log)
    return std::unexpected(fmt::format("the file {}/{} cannot be used: {}", config.directory,
                                       pnfs_ds::FenceLog::file_name, base::message_of(log.error())));
  const bool by_rdma = config.control_transport == rpc::Transport::rdma;
  return Opened{*secret,           {*mds, config.mds + (by_rdma ? " by RDMA" : "")},
                std::move(*store), std::move(*chunks),
                std::move(*files), std::move(fences),
                std::move(*log)};
}

std::expected<std::unique_ptr<Role>, std::string> DataServerRole::make(const Shared& shared,
                                                                       const config::Config& config,
                                                                       const config::DataServerConfig& own) {
  const std::size_t open_files_max = objects_open_max(config, shared.open_files_max);
  auto opened = open(shared, config, own, open_files_max);
  if (!opened) return std::unexpected(std::move(opened.error()));
  std::unique_ptr<DataServerRole> role(new DataServerRole(shared, own, std::move(*opened), open_files_max));
  if (auto done = role->assemble(shared, config, open_files_max); !done)
    return std::unexpected(std::move(done.error()));
  return role;
}

DataServerRole::DataServerRole(const Shared& shared, const config::DataServerConfig& own, Opened opened,
                               std::size_t open_files_max)
    : config_(own),
      slabs_(shared.slabs),
      pool_(shared.pool),
      opened_(std::move(opened)),
      exports_(std::make_shared<const vfs::ExportTable>(std::vector<vfs::Export>{})),
      objects_export_(
          std::make_shared<const vfs::ExportTable>(std::vector<vfs::Export>{export_of(opened_.files)})),
      contact_(shared.clock, opened_.secret, opened_.store->server()),
      objects_({.files = opened_.files,
                .server = opened_.store->server(),
                .sets_owner = ::geteuid() == 0,
                .objects_max = open_files_max,
                .fences = *opened_.fences,
                .log = *opened_.log,
                .cluster = [this] { return opened_.store->cluster(); }}),
      calls_(objects_),
      control_(shared.clock, opened_.secret, [this] { return introduction(); }, calls_) {}

std::expected<void, std::string> DataServerRole::assemble(const Shared& shared, const config::Config& config,
                                                          std::size_t open_files_max) {
  auto server = pnfs_ds::DataServer::create(objects_, contact_, peers_, shared.slabs, shared.metrics);
  if (!server)
    return std::unexpected(
        fmt::format("there is no memory for a data server: {}", base::message_of(server.error())));
  server_ = std::move(*server);
  shared.metrics.gauge("braid_pnfs_contact", "Whether the metadata server has been heard for half a lease",
                       {}, [this] { return contact_.there() ? 1.0 : 0.0; });
  counters_.emplace(shared.metrics, pnfs_ds::metadata_calls);
  peers_.count_in(*counters_);
  nfs4::EngineParts parts;
  rpc::ServerOptions rpc_options = shared.rpc;
  if (opened_.chunks != nullptr) {
    opened_.chunks->join({.clock = shared.clock,
                          .pool = shared.pool,
                          .slabs = shared.slabs,
                          .exports = objects_export_,
                          .write_backs = shared.write_backs,
                          .metrics = shared.metrics,
                          .state_dir = shared.state_dir,
                          .open_files_max = open_files_max,
                          .callbacks_max = 0,
                          .rpc = shared.rpc},
                         parts);
    rpc_options.piped_arguments = rpc_options.piped_arguments && opened_.chunks->takes_pipes();
  }
  parts.operations = pnfs_ds::operations();
  parts.role_flags = nfs4::EXCHGID4_FLAG_USE_PNFS_DS;
  parts.handles = server_.get();
  const nfs4::EngineResources resources{shared.clock, exports_, shared.pool, shared.slabs, shared.metrics};
  engine_ = std::make_unique<nfs4::Nfs4Engine>(
      engine_options(config, open_files_max), resources,
      std::make_unique<nfs4::recovery::NoRecords>(
          random_epoch(), "braid data server " + pnfs_ds::hex_of(opened_.store->server())),
      std::move(parts));
  programs_ = {engine_->program(), control_.program()};
  rpc_.emplace(rpc_options, programs_, shared.metrics, base::random_sip_key());
  nfs::register_clients_usage(shared.metrics, rpc_->usage());
  return {};
}

Listen DataServerRole::listen() const {
  return {.addresses = config_.listen, .port = config_.port, .port_option = "--port", .rdma = config_.rdma};
}

// Clients cannot connect to "all addresses" of a host.
void DataServerRole::reached_at(const std::vector<rpc::PeerAddress>& addresses,
                                const std::vector<rpc::PeerAddress>& first) {
  if (config_.mds.empty()) opened_.mds = here(first.front());
  const std::uint16_t port = addresses.front().port;
  std::vector<rpc::PeerAddress> told;
  for (const std::string& text : config_.advertise)
    if (const auto address = config::parse_advertised(text, port)) told.push_back(*address);
  if (told.empty()) {
    std::ranges::copy_if(addresses, std::back_inserter(told),
                         [](const rpc::PeerAddress& address) { return !config::is_any(address); });
  }
  if (told.empty()) {
    told.push_back(config::reachable_address());
    told.back().port = port;
  }
  // Each may be one of RDMA, too.
  if (told.size() > pnfs::ADDRESSES_MAX / 2) told.resize(pnfs::ADDRESSES_MAX / 2);
  const std::scoped_lock lock(mutex_);
  name_ = config_.name.empty() ? default_name(port) : config_.name;
  told_ = std::move(told);
}

// Nobody is told of a server that is not served yet, nor of a transport that it does not have.
void DataServerRole::served(std::optional<std::uint16_t> rdma_port) {
  {
    const std::scoped_lock lock(mutex_);
    for (const rpc::PeerAddress& address : told_) addresses_.push_back(universal("tcp", address));
    for (rpc::PeerAddress address : told_) {
      if (!rdma_port) break;
      address.port = *rdma_port;
      addresses_.push_back(universal("rdma", address));
    }
  }
  heartbeats_->start();
}

pnfs::Introduction DataServerRole::introduction() const {
  const std::scoped_lock lock(mutex_);
  return {.role = pnfs::control_role::ROLE_DATA,
          .cluster = opened_.store->cluster(),
          .server = opened_.store->server(),
          .name = name_,
          .addresses = addresses_,
          .signs_bulk = config_.signs_bulk};
}

void DataServerRole::start(std::span<const std::unique_ptr<ServerThread>> threads) {
  threads_ = threads;
  const auto own = [this] { return introduction(); };
  const auto anybody = [](const pnfs::Introduction&) { return pnfs::control_status::CONTROL_OK; };
  for (const auto& thread : threads)
    peers_.add(std::make_unique<pnfs::ControlPeer>(control_path(*thread, config_.control_transport), slabs_,
                                                   opened_.mds.address, opened_.secret, own, anybody),
               thread->reactor());
  ServerThread& first = *threads.front();
  engine_->start(first.reactor(), first.tcp());
  if (opened_.chunks != nullptr) opened_.chunks->start(threads, *engine_);
  heartbeats_ = std::make_unique<pnfs_ds::Heartbeats>(control_path(first, config_.control_transport), slabs_,
                                                      pnfs_ds::Heartbeats::Parts{.to = opened_.mds,
                                                                                 .secret = opened_.secret,
                                                                                 .own = own,
                                                                                 .store = *opened_.store,
                                                                                 .objects = objects_,
                                                                                 .fences = *opened_.fences,
                                                                                 .contact = contact_,
                                                                                 .pool = pool_,
                                                                                 .counters = &*counters_});
}

io::Op<> DataServerRole::tick() {
  opened_.files->sweep();
  rpc_->usage().rank();
  if (opened_.chunks != nullptr) {
    // What is open to be written to is not sealed.
    (void)co_await objects_.close_idle(idle_seconds).as_result();
    co_await opened_.chunks->tick();
  }
  co_await engine_->tick();
}

io::Op<> DataServerRole::close() {
  co_await heartbeats_->close();
  if (opened_.chunks != nullptr) co_await opened_.chunks->close();
  co_await engine_->close();
  co_await peers_.close();
  constexpr base::Duration look = std::chrono::milliseconds(2);
  for (const auto& thread : threads_.subspan(1)) {
    auto closed = thread->run([this] { return peers_.close(); });
    while (closed.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
      co_await io::Reactor::current()->sleep(look);
  }
}

std::string DataServerRole::failure() const { return heartbeats_ ? heartbeats_->failure() : std::string(); }

void DataServerRole::report(nlohmann::json& members) const {
  const pnfs::Introduction own = introduction();
  nlohmann::json addresses = nlohmann::json::array();
  for (const auto& address : own.addresses) addresses.push_back(address.netid + " " + address.uaddr);
  nlohmann::json out{{"name", own.name},
                     {"directory", config_.directory},
                     {"mds", opened_.mds.text},
                     {"server", pnfs_ds::hex_of(own.server)},
                     {"cluster", pnfs_ds::hex_of(own.cluster)},
                     {"contact", contact_.there()},
                     {"addresses", std::move(addresses)},
                     {"open_objects", objects_.open_objects()},
                     {"fences", objects_.fences().size()}};
  nfs::add_nfs4(out, *engine_);
  members["data_server"] = std::move(out);
  if (opened_.chunks != nullptr) opened_.chunks->report(members);
}

}  // namespace braid::server::roles::data_server
