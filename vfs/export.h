// Exports: which trees are offered under which path, to whom, and as whom callers act there.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/strong.h"
#include "vfs/file_system.h"
#include "vfs/network.h"

namespace braid::vfs {

struct ExportIdTag;
// Part of every file handle; stays the same for a path across restarts.
using ExportId = base::Strong<ExportIdTag, std::uint32_t>;

// Whose identity is replaced by the anonymous one.
enum class Squash : std::uint8_t { none, root, all };

// What some clients may do.
struct ExportRule {
  Squash squash = Squash::root;
  std::uint32_t anon_uid = 65534;
  std::uint32_t anon_gid = 65534;
  bool read_only = false;
  std::vector<Network> clients;  // empty: everybody

  [[nodiscard]] bool names(const Address& client) const;
  // The credentials that `who` acts under by this rule.
  [[nodiscard]] Credentials squashed(const Credentials& who) const;
};

// It is itself the rule of the clients that none of `rules` names.
struct Export : ExportRule {
  ExportId id;
  std::string path;               // as clients mount it, "/" or "/name/..."; no trailing slash
  std::vector<ExportRule> rules;  // the first that names a client is his
  std::shared_ptr<FileSystem> file_system;

  // Null: the client may not use the export.
  [[nodiscard]] const ExportRule* rule_of(const Address& client) const;
  [[nodiscard]] bool allows(const Address& client) const { return rule_of(client) != nullptr; }
};

// An immutable set of exports.
class ExportTable {
 public:
  explicit ExportTable(std::vector<Export> exports);
  [[nodiscard]] const std::vector<Export>& all() const { return exports_; }
  // By the id in a wire handle; null if there is none such (the handle is not verified yet).
  [[nodiscard]] const Export* by_handle(base::BytesView handle) const;
  // The longest export whose path is `path` or a parent of it; `rest` is what follows, without leading slash.
  struct Match {
    const Export* found = nullptr;
    std::string_view rest;
  };
  [[nodiscard]] Match by_path(std::string_view path) const;

 private:
  std::vector<Export> exports_;
};

// The exports in force; a reload swaps them while requests run on the old ones. Thread-safe.
class Exports {
 public:
  explicit Exports(std::shared_ptr<const ExportTable> table) : table_(std::move(table)) {}
  [[nodiscard]] std::shared_ptr<const ExportTable> current() const {
    const std::scoped_lock lock(mutex_);
    return table_;
  }
  void replace(std::shared_ptr<const ExportTable> table) {
    const std::scoped_lock lock(mutex_);
    table_.swap(table);  // the old one ends outside of the lock
  }

 private:
  // Not an atomic shared_ptr: that of libstdc++ 12 reads under a lock that it releases relaxed (a data race).
  mutable std::mutex mutex_;
  std::shared_ptr<const ExportTable> table_;
};

}  // namespace braid::vfs
