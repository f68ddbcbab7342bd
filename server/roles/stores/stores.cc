#include "server/roles/stores/stores.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "server/process.h"

namespace braid::server::roles::stores {
namespace {

// Whether any client may write to files of this store: others can be on a medium that is read-only.
bool writes(const config::Config& config, const std::string& store) {
  return std::ranges::any_of(
      config.exports, [&](const config::ExportConfig& one) { return one.store == store && !one.read_only; });
}

store::OpenFor use_of(const config::Config& config, const config::StoreConfig& wanted) {
  if (!writes(config, wanted.name)) return store::OpenFor::reading;
  return wanted.make ? store::OpenFor::creating : store::OpenFor::writing;
}

// The path without links and dots, as far as it is there.
std::filesystem::path whole_path(const std::string& path) {
  std::error_code error;
  std::filesystem::path out = std::filesystem::weakly_canonical(path, error);
  return error ? std::filesystem::path(path) : out;
}

bool lies_in(const std::string& path, const std::string& directory) {
  const std::filesystem::path inner = whole_path(path), outer = whole_path(directory);
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

// Clients would see the store's own files, and root among them its key.
std::string mistake_about_place(const config::Config& config, const config::StoreConfig& store) {
  const auto around = std::ranges::find_if(config.exports, [&](const config::ExportConfig& one) {
    return lies_in(store.directory, one.directory);
  });
  if (around == config.exports.end()) return {};
  return fmt::format(
      "the store {} lies in {}, which is exported as {}; clients would see its key: put it elsewhere",
      store.directory, around->directory, around->path);
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
    if (std::string mistake = mistake_about_place(config, wanted); !mistake.empty())
      return std::unexpected(std::move(mistake));
    auto opened = store::Store::open(
        wanted.directory,
        {.what = use_of(config, wanted), .who = fmt::format("braid serve (process {})", ::getpid())});
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
