// The pseudo file system (RFC 8881 section 7): read-only directories that lead from the root of the server's
// name space to its exports.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/guarded.h"
#include "nfs4/pseudo/refused_mounts.h"
#include "vfs/export.h"

namespace braid::nfs4 {

// A directory on the way to exports, or one that is offered itself. Where an export has others below it, its
// node has children too: their names go before those in the export's own directory.
struct PseudoNode {
  static constexpr std::size_t handle_bytes = 12;

  std::string name;  // of the root: empty
  std::string path;  // "/", "/data/home"
  const PseudoNode* parent = nullptr;
  const vfs::Export* from = nullptr;  // what is offered here; null: nothing
  std::vector<std::unique_ptr<PseudoNode>> children;
  std::array<std::byte, handle_bytes> handle{};
  std::uint64_t fileid = 0;

  [[nodiscard]] const PseudoNode* child(std::string_view wanted) const;
  // Whether this client may use an export here or below: others do not see the node.
  [[nodiscard]] bool visible_to(const vfs::Address& client) const;
};

// The nodes of one export table. Immutable.
class PseudoTree {
 public:
  PseudoTree(std::shared_ptr<const vfs::ExportTable> exports, base::WallTime built);
  PseudoTree(const PseudoTree&) = delete;
  PseudoTree& operator=(const PseudoTree&) = delete;

  [[nodiscard]] const PseudoNode& root() const { return root_; }
  [[nodiscard]] const std::shared_ptr<const vfs::ExportTable>& exports() const { return exports_; }
  // Whether a handle looks like one of a pseudo directory; it may be of none that exists.
  [[nodiscard]] static bool owns(base::BytesView handle);
  // Null: there is no such directory any more.
  [[nodiscard]] const PseudoNode* find(base::BytesView handle) const;
  // Null: this export is offered under no path of this table.
  [[nodiscard]] const PseudoNode* node_of(const vfs::Export& from) const;
  // What GETATTR says of a node: a directory of user 0 with mode 0555 and an fsid of zero. Its change
  // attribute and times are when this set of exports came into force.
  [[nodiscard]] vfs::Attributes attributes_of(const PseudoNode& node) const;

 private:
  void add(const vfs::Export& offered);
  PseudoNode& descend(PseudoNode& from, std::string_view name);
  void identify(PseudoNode& node);

  const std::shared_ptr<const vfs::ExportTable> exports_;
  const base::WallTime built_;
  PseudoNode root_;
  std::unordered_map<std::uint64_t, const PseudoNode*> by_id_;
};

// The tree of the exports in force. Thread-safe.
class PseudoFileSystem {
 public:
  explicit PseudoFileSystem(const base::Clock& clock) : clock_(clock) {}
  // The tree of this table, which is built when it is first asked for.
  [[nodiscard]] std::shared_ptr<const PseudoTree> tree_of(
      const std::shared_ptr<const vfs::ExportTable>& exports);
  [[nodiscard]] RefusedMounts& refused() { return refused_; }

 private:
  const base::Clock& clock_;
  RefusedMounts refused_;
  base::Guarded<std::shared_ptr<const PseudoTree>> latest_;
};

}  // namespace braid::nfs4
