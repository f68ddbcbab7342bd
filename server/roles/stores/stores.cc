#include "server/roles/stores/stores.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "server/process.h"

namespace braid::server::roles::stores {
namespace {

// Whether any client may write to files of this store: others can be on a medium that is read-only.
bool writes(const config::Config& config, const std::string& store) {
  return std::ranges::any_of(
      config.exports, [&](const config::ExportConfig& one) { return one.store == store && !one.read_only; });
}

}  // namespace

std::expected<std::shared_ptr<Stores>, std::string> Stores::open(const config::Config& config) {
  if (!may_keep_trusted_attributes())
    return std::unexpected(
        "a store needs root (CAP_SYS_ADMIN): what is sealed is noted in an extended attribute trusted.*; "
        "start braid "
        "as root, or do without stores");
  auto out = std::make_shared<Stores>();
  for (const config::StoreConfig& wanted : config.stores) {
    auto opened = store::Store::open(
        wanted.directory,
        {.what = writes(config, wanted.name) ? store::OpenFor::writing : store::OpenFor::reading,
         .who = fmt::format("braid serve (process {})", ::getpid())});
    if (!opened) return std::unexpected(fmt::format("the store {}: {}", wanted.name, opened.error()));
    Entry& entry = out->by_name_[wanted.name];
    entry.store = std::move(*opened);
    entry.source = std::make_unique<store::StoreSource>(*entry.store);
  }
  return out;
}

std::vector<vfs::ContentSource*> Stores::sources(const config::ExportConfig& config) {
  const auto found = by_name_.find(config.store);
  if (found == by_name_.end()) return {};
  return {found->second.source.get()};
}

void Stores::join(const Shared& shared, nfs4::EngineParts& /*parts*/) {
  for (auto& [name, entry] : by_name_) entry.source->use(shared.pool, "store " + name);
}

void Stores::start(std::span<const std::unique_ptr<ServerThread>> /*threads*/, nfs4::Nfs4Engine& /*engine*/) {
}

io::Op<> Stores::tick() { co_return; }

io::Op<> Stores::close() { co_return; }

}  // namespace braid::server::roles::stores
