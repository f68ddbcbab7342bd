#include "vfs/memory/storage.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

namespace braid::vfs::memory {
namespace {

constexpr std::uint32_t file_mode = 0644;
constexpr std::uint32_t directory_mode = 0755;
constexpr std::uint64_t root_bytes = 4096;

// A directory of no names but its own and its parent's.
void make_directory(Node& node, std::uint64_t id, std::uint64_t parent) {
  node.attributes.type = FileType::directory;
  node.attributes.mode = directory_mode;
  node.attributes.nlink = 2;
  node.parent = parent;
  node.entries = {{".", 1, id}, {"..", 2, parent}};
  node.last_cookie = 2;
}

}  // namespace

Storage::Storage(ExportId id, const base::Clock* clock) : codec_(id, {1, 2}), clock_(clock) {
  Node& root = nodes_[root_id];
  make_directory(root, root_id, root_id);
  root.attributes.size = root.attributes.space = root_bytes;
  root.attributes.fsid = fsid;
  root.attributes.fileid = root_id;
  root.attributes.atime = root.attributes.mtime = root.attributes.ctime = now();
}

std::uint64_t Storage::add(std::uint64_t directory, std::string_view name, FileType type,
                           std::string_view content) {
  const std::uint64_t id = ++last_id_;
  Node& made = nodes_[id];
  made.attributes.type = type;
  made.attributes.mode = file_mode;
  made.attributes.fsid = fsid;
  made.attributes.fileid = id;
  made.attributes.atime = made.attributes.mtime = made.attributes.ctime = now();
  made.content = content;
  made.attributes.size = made.attributes.space = content.size();
  made.attributes.change = 1;
  if (type == FileType::directory) make_directory(made, id, directory);
  Node& parent = node(directory);
  enter(parent, name, id);
  if (type == FileType::directory) made.attributes.nlink = 2;
  return id;
}

void Storage::erase(std::uint64_t directory, std::string_view name) {
  std::erase_if(node(directory).entries, [&](const Entry& entry) { return entry.name == name; });
}

std::optional<std::uint64_t> Storage::find(std::uint64_t directory, std::string_view name) const {
  const std::vector<Entry>& entries = nodes_.at(directory).entries;
  const auto found = std::ranges::find(entries, name, &Entry::name);
  if (found == entries.end()) return std::nullopt;
  return found->fileid;
}

Node* Storage::get(std::uint64_t id) {
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? nullptr : &found->second;
}

FileHandle Storage::handle_of(std::uint64_t id) const {
  std::array<std::byte, sizeof id> body;
  for (std::size_t i = body.size(); i-- > 0; id >>= 8U) body.at(i) = static_cast<std::byte>(id & 0xffU);
  return codec_.seal({.transient = false, .type = 1, .bytes = body});
}

base::Result<std::uint64_t, Error> Storage::id_of(base::BytesView handle) const {
  const auto opened = codec_.open(handle);
  if (!opened) return base::fail(opened.error());
  std::uint64_t id = 0;
  if (opened->body.bytes.size() != sizeof id) return base::fail(Error::badhandle);
  for (const std::byte byte : opened->body.bytes) id = id << 8U | std::to_integer<std::uint64_t>(byte);
  return id;
}

Time Storage::now() const {
  constexpr std::uint32_t counted_nanoseconds = 5;
  if (clock_ == nullptr) return {counted_seconds_, counted_nanoseconds};
  const auto since = clock_->wall().time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
  return {seconds.count(), static_cast<std::uint32_t>((since - seconds).count())};
}

Time Storage::tick() {
  ++counted_seconds_;
  return now();
}

void Storage::touch(Node& node) {
  node.attributes.mtime = node.attributes.ctime = tick();
  ++node.attributes.change;
}

void Storage::apply(const SetAttributes& set, Time now, Node& node) {
  Attributes& out = node.attributes;
  if (set.mode) out.mode = *set.mode;
  if (set.uid) out.uid = *set.uid;
  if (set.gid) out.gid = *set.gid;
  if (set.size) {
    node.content.resize(*set.size);
    out.size = out.space = *set.size;
    out.mtime = now;
  }
  const auto time = [&](const SetTime& wanted, Time& to) {
    if (wanted.how == SetTime::How::client) to = wanted.value;
    if (wanted.how == SetTime::How::server) to = now;
  };
  time(set.atime, out.atime);
  time(set.mtime, out.mtime);
}

void Storage::set(Node& node, const SetAttributes& set) {
  const Time now = tick();
  apply(set, now, node);
  node.attributes.ctime = now;
  ++node.attributes.change;
}

void Storage::lose_unsynced() {
  for (auto& [id, node] : nodes_) {
    if (node.synced_size) node.attributes.size = *node.synced_size;
    node.synced_size.reset();
  }
}

void Storage::enter(Node& directory, std::string_view name, std::uint64_t id) {
  directory.entries.push_back({std::string(name), ++directory.last_cookie, id});
  ++node(id).attributes.nlink;
}

void Storage::drop(Node& directory, std::string_view name, std::uint64_t id) {
  std::erase_if(directory.entries, [&](const Entry& entry) { return entry.name == name; });
  Node& named = node(id);
  if (named.attributes.type == FileType::directory)
    named.attributes.nlink = 0;
  else
    --named.attributes.nlink;
  ++named.holders;
  release(id);
}

void Storage::release(std::uint64_t id) {
  Node& held = node(id);
  if (--held.holders == 0 && held.attributes.nlink == 0) nodes_.erase(id);
}

}  // namespace braid::vfs::memory
