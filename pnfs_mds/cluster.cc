#include "pnfs_mds/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "pnfs/control.x.h"
#include "pnfs/secret_file.h"

namespace braid::pnfs_mds {
namespace {

constexpr std::size_t made_secret_bytes = 32;

ClusterError trouble(const StateDirectory& directory, const char* name, base::Errno error) {
  const std::string why =
      error == base::errno_of(EBADMSG) ? "it is damaged, or of a later version" : base::message_of(error);
  return {false,
          fmt::format("the file {}/{} of the pNFS cluster cannot be used: {}", directory.path(), name, why)};
}

// The secret of the configuration, or the state directory's own.
std::expected<pnfs::ClusterSecret, ClusterError> secret_of(const ClusterOptions& options,
                                                           const StateDirectory& directory) {
  std::string file = options.secret_file;
  if (file.empty()) {
    file = directory.path() + "/secret";
    // A secret of another size is somebody's who put it there.
    const auto made = directory.kept("secret", made_secret_bytes);
    if (!made && made.error() != base::errno_of(EBADMSG))
      return std::unexpected(trouble(directory, "secret", made.error()));
  }
  auto secret = pnfs::read_secret(file);
  if (!secret) return std::unexpected(ClusterError{false, std::move(secret.error())});
  return *secret;
}

template <std::size_t count>
std::expected<std::array<std::byte, count>, ClusterError> kept_array(const StateDirectory& directory,
                                                                     const char* name) {
  std::array<std::byte, count> out;
  const auto bytes = directory.kept(name, out.size());
  if (!bytes) return std::unexpected(trouble(directory, name, bytes.error()));
  std::ranges::copy(*bytes, out.begin());
  return out;
}

}  // namespace

std::expected<std::unique_ptr<Cluster>, ClusterError> Cluster::open(const ClusterOptions& options,
                                                                    const base::Clock& clock,
                                                                    ObjectCalls& calls) {
  auto directory = StateDirectory::open(options.state_dir);
  if (!directory)
    return std::unexpected(
        ClusterError{directory.error() == base::errno_of(EBUSY),
                     fmt::format("cannot keep the records of the pNFS cluster in the state directory {}: {}",
                                 options.state_dir, base::message_of(directory.error()))});
  auto secret = secret_of(options, *directory);
  if (!secret) return std::unexpected(std::move(secret.error()));
  const auto id = kept_array<pnfs::CLUSTER_ID_BYTES>(*directory, "cluster");
  if (!id) return std::unexpected(id.error());
  const auto key = kept_array<hashing::key_bytes>(*directory, "layout.key");
  if (!key) return std::unexpected(key.error());

  std::unique_ptr<Cluster> out(new Cluster(options, calls, std::move(*directory), *secret, *id));
  if (auto opened = out->open_logs(clock, hashing::Key{*key}); !opened)
    return std::unexpected(std::move(opened.error()));
  return out;
}

std::expected<void, ClusterError> Cluster::open_logs(const base::Clock& clock, const hashing::Key& key) {
  const int fd = directory_.fd();
  auto servers = DataServers::open(fd, clock, options_.servers);
  if (!servers) return std::unexpected(trouble(directory_, "servers", servers.error()));
  servers_ = std::move(*servers);
  pending_fences_ = std::make_unique<PendingFences>(calls_, *servers_);
  auto objects = Counter::open(fd, "objects", std::numeric_limits<std::uint64_t>::max());
  if (!objects) return std::unexpected(trouble(directory_, "objects", objects.error()));
  objects_ = std::move(*objects);
  auto grants = Counter::open(fd, "grants", Grants::limit);
  if (!grants) return std::unexpected(trouble(directory_, "grants", grants.error()));
  grants_ = std::make_unique<Grants>(std::move(*grants));
  auto removals = Removals::open(fd, calls_, *grants_);
  if (!removals) return std::unexpected(trouble(directory_, "removals", removals.error()));
  removals_ = std::move(*removals);

  auto dirty = DirtyLog::open(fd);
  if (!dirty) return std::unexpected(trouble(directory_, "dirty", dirty.error()));
  dirty_ = std::move(*dirty);
  auto truncations = Truncations::open(fd, calls_, *servers_, *grants_);
  if (!truncations) return std::unexpected(trouble(directory_, "truncations", truncations.error()));
  truncations_ = std::move(*truncations);
  admission_ = std::make_unique<Admission>(*servers_, *truncations_, *pending_fences_);

  vfs::Verifier verifier;
  std::ranges::copy(random_bytes(verifier.bytes.size()), verifier.bytes.begin());
  const StripedParts parts{*servers_, calls_, *objects_, *grants_, *removals_, *dirty_, *truncations_, clock};
  source_ = std::make_unique<StripedSource>(parts, options_.policy, key, verifier);
  return {};
}

void Cluster::use(io::BlockingPool& pool) {
  servers_->use(pool);
  objects_->use(pool);
  grants_->use(pool);
  removals_->use(pool);
  dirty_->use(pool);
  truncations_->use(pool);
}

vfs::FileHandle Cluster::seal(pnfs::ServerNumber server, const pnfs::DataHandle& handle) const {
  return codecs_.with([&](auto& codecs) {
    auto found = codecs.find(server);
    if (found == codecs.end()) {
      const auto info = servers_->find(server);
      base::check(info.has_value(), "a handle is for a server that there is");
      found = codecs
                  .emplace(server, pnfs::DataHandleCodec(secret_.handle_key(id_, newest_key()), newest_key(),
                                                         info->id))
                  .first;
    }
    return found->second.seal(handle);
  });
}

vfs::VfsOp<FileFacts> Cluster::file_facts(pnfs::ObjectId object) {
  if (!facts_) return base::fail(vfs::Error::stale);
  return facts_(object);
}

// The privileges go before the answer, and so before the first byte is written: whoever has changed what a
// program does has not got it executed with them.
vfs::VfsOp<EachObject<void>> Cluster::written(std::vector<pnfs::ObjectId> objects) {
  EachObject<void> out(objects.size());
  std::vector<pnfs::ObjectId> known;
  known.reserve(objects.size());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    // Nobody has such a file, or nobody any more.
    if (objects[i].value() > objects_->last() || removals_->is_gone(objects[i]))
      out[i] = base::fail(vfs::Error::stale);
    else
      known.push_back(objects[i]);
  }
  // Until they are gone they are owed by whoever settles the file.
  for (const pnfs::ObjectId object : known) {
    source_->written(object);
    dirty_->owe_privileges(object);
  }
  co_await dirty_->keep(known);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (!out[i]) continue;
    base::Result<void, vfs::Error> dropped = base::fail(vfs::Error::stale);
    if (drop_privileges_) dropped = co_await drop_privileges_(objects[i]).as_result();
    if (dropped)
      dirty_->privileges_gone(objects[i]);
    else if (dropped.error() != vfs::Error::stale)
      out[i] = base::fail(vfs::Error::delay);
  }
  co_return std::move(out);
}

}  // namespace braid::pnfs_mds
