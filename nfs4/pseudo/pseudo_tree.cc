#include "nfs4/pseudo/pseudo_tree.h"

#include <algorithm>
#include <utility>

#include "base/siphash.h"

namespace braid::nfs4 {
namespace {

// docs/filehandle.md. No handle of an export begins with 0.
constexpr std::size_t id_at = 4;

// The same in every run: handles of pseudo directories outlive the process, and there is nothing to forge.
std::uint64_t id_of(std::string_view path) { return base::siphash24({}, base::bytes_of(path)); }

std::uint64_t load_id(base::BytesView handle) {
  std::uint64_t id = 0;
  for (std::size_t i = 0; i < 8; ++i) id = id << 8U | std::to_integer<std::uint64_t>(handle[id_at + i]);
  return id;
}

vfs::Time time_of(base::WallTime wall) {
  const auto since = wall.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  return {seconds.count(), static_cast<std::uint32_t>((since - seconds).count())};
}

}  // namespace

const PseudoNode* PseudoNode::child(std::string_view wanted) const {
  const auto found =
      std::ranges::find(children, wanted, [](const auto& node) -> std::string_view { return node->name; });
  return found == children.end() ? nullptr : found->get();
}

bool PseudoNode::visible_to(const vfs::Address& client) const {
  if (from != nullptr && from->allows(client)) return true;
  return std::ranges::any_of(children, [&](const auto& node) { return node->visible_to(client); });
}

PseudoTree::PseudoTree(std::shared_ptr<const vfs::ExportTable> exports, base::WallTime built)
    : exports_(std::move(exports)), built_(built) {
  root_.path = "/";
  identify(root_);
  for (const vfs::Export& offered : exports_->all()) add(offered);
}

void PseudoTree::add(const vfs::Export& offered) {
  PseudoNode* at = &root_;
  std::string_view rest = offered.path;
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    const std::string_view name = rest.substr(0, slash);
    rest = slash == rest.npos ? std::string_view() : rest.substr(slash + 1);
    if (!name.empty()) at = &descend(*at, name);
  }
  at->from = &offered;
}

PseudoNode& PseudoTree::descend(PseudoNode& from, std::string_view name) {
  const auto found =
      std::ranges::find(from.children, name, [](const auto& node) -> std::string_view { return node->name; });
  if (found != from.children.end()) return **found;
  PseudoNode& made = *from.children.emplace_back(std::make_unique<PseudoNode>());
  made.name = name;
  made.path = from.parent == nullptr ? "/" + made.name : from.path + "/" + made.name;
  made.parent = &from;
  identify(made);
  return made;
}

void PseudoTree::identify(PseudoNode& node) {
  const std::uint64_t id = id_of(node.path);
  for (std::size_t i = 0; i < 8; ++i) node.handle[id_at + i] = static_cast<std::byte>(id >> (56 - 8 * i));
  node.fileid = id;
  by_id_.emplace(id, &node);
}

bool PseudoTree::owns(base::BytesView handle) {
  return handle.size() == PseudoNode::handle_bytes &&
         std::ranges::all_of(handle.first(id_at), [](std::byte b) { return b == std::byte{0}; });
}

const PseudoNode* PseudoTree::find(base::BytesView handle) const {
  const auto found = by_id_.find(load_id(handle));
  return found == by_id_.end() ? nullptr : found->second;
}

const PseudoNode* PseudoTree::node_of(const vfs::Export& from) const {
  const auto found = by_id_.find(id_of(from.path));
  return found == by_id_.end() ? nullptr : found->second;
}

vfs::Attributes PseudoTree::attributes_of(const PseudoNode& node) const {
  vfs::Attributes out;
  out.type = vfs::FileType::directory;
  out.mode = 0555;
  out.nlink = static_cast<std::uint32_t>(2 + node.children.size());
  out.size = 4096;
  out.fileid = node.fileid;
  out.atime = out.mtime = out.ctime = out.btime = time_of(built_);
  out.change = static_cast<std::uint64_t>(built_.time_since_epoch().count());
  return out;
}

std::shared_ptr<const PseudoTree> PseudoFileSystem::tree_of(
    const std::shared_ptr<const vfs::ExportTable>& exports) {
  return latest_.with([&](std::shared_ptr<const PseudoTree>& latest) {
    if (!latest || latest->exports() != exports)
      latest = std::make_shared<const PseudoTree>(exports, clock_.wall());
    return latest;
  });
}

}  // namespace braid::nfs4
