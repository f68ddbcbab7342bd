// What file systems in memory store: nodes with attributes, names and content. It outlives the file systems
// that open it, as a disk outlives servers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/arith.h"
#include "base/clock.h"
#include "base/result.h"
#include "vfs/export.h"
#include "vfs/file_system.h"
#include "vfs/wire_handle.h"

namespace braid::vfs::memory {

// A name in a directory. It keeps its cookie for life.
struct Entry {
  std::string name;
  std::uint64_t cookie = 0;
  std::uint64_t fileid = 0;
};

struct Node {
  Attributes attributes;
  std::string content;  // the own bytes of a file, or the target of a symbolic link
  // The extended attributes of contents (vfs/content.h), by name.
  std::map<std::string, base::Bytes, std::less<>> records{};
  // On the medium, while a content has put another one.
  std::optional<std::uint64_t> synced_size{};
  Verifier created_by;
  // Of a directory.
  std::uint64_t parent = 0;
  std::vector<Entry> entries;  // "." and ".." first, in the order of their cookies
  std::uint64_t last_cookie = 0;
  // How many opens and leases keep the node although it may have lost its last name.
  std::uint32_t holders = 0;
};

// Not thread-safe. Pointers and references to nodes stay valid until the node is gone.
class Storage {
 public:
  static constexpr std::uint64_t root_id = 1;
  static constexpr std::uint64_t fsid = 0xf5;
  // Of a file's content: what an offset from a peer can make a test allocate.
  static constexpr std::uint64_t file_bytes_max = 64 * base::MiB;

  // With an empty root directory. Handles are those of export `id`. `clock` tells the time of changes and
  // outlives the storage; null: time is a counter, and each change is one second after the one before.
  explicit Storage(ExportId id, const base::Clock* clock = nullptr);
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  // Makes a node and its name, as a test sets things up: nothing but the node and the directory's list of
  // names changes. Returns the fileid.
  std::uint64_t add(std::uint64_t directory, std::string_view name, FileType type,
                    std::string_view content = {});
  // Takes a name away. The node stays.
  void erase(std::uint64_t directory, std::string_view name);
  [[nodiscard]] std::optional<std::uint64_t> find(std::uint64_t directory, std::string_view name) const;
  // The node must be there.
  [[nodiscard]] Node& node(std::uint64_t id) { return nodes_.at(id); }
  // Null: gone.
  [[nodiscard]] Node* get(std::uint64_t id);
  // Signed, whether the node is there or not: 24 bytes, whose body is the id, big-endian
  // (docs/filehandle.md).
  [[nodiscard]] FileHandle handle_of(std::uint64_t id) const;
  // badhandle: not signed by this export.
  [[nodiscard]] base::Result<std::uint64_t, Error> id_of(base::BytesView handle) const;

  // The time of one more change.
  [[nodiscard]] Time tick();
  // The content, or the names, of a node have changed.
  void touch(Node& node);

  // Size and own bytes, mode, owner and times, as a change of `now`. ctime and the change attribute stay.
  static void apply(const SetAttributes& set, Time now, Node& node);
  // The same as one more change.
  void set(Node& node, const SetAttributes& set);

  // As a power cut does: sizes that contents have put, and not synced, are as they were.
  void lose_unsynced();

  // For file systems. Gives `id`, which is there, one more name; the directory is not touched.
  void enter(Node& directory, std::string_view name, std::uint64_t id);
  // Takes one name from `id`, and one link; the node goes with its last name and its last holder.
  void drop(Node& directory, std::string_view name, std::uint64_t id);
  void hold(std::uint64_t id) { ++node(id).holders; }
  void release(std::uint64_t id);

 private:
  [[nodiscard]] Time now() const;

  const HandleCodec codec_;
  const base::Clock* const clock_;
  std::int64_t counted_seconds_ = 1'000'000'000;
  std::map<std::uint64_t, Node> nodes_;
  std::uint64_t last_id_ = root_id;
};

}  // namespace braid::vfs::memory
