// Handles without the kernel's help: valid as long as the process, resolved by walking names again.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "vfs/posix/kernel.h"
#include "vfs/wire_handle.h"

namespace braid::vfs::posix {

// Where an object was seen last.
struct Whereabouts {
  FileHandle parent;
  std::string name;
};

// A handle holds this process's epoch and the object's device, inode number and birth time, so one of another
// process or of a reused inode is noticed. Where to find the object is remembered here, for the `entries_max`
// objects used last. Thread-safe.
class TransientHandles {
 public:
  TransientHandles(const HandleCodec& codec, std::uint64_t epoch, std::size_t entries_max)
      : codec_(codec), epoch_(epoch), entries_max_(entries_max) {}

  [[nodiscard]] FileHandle handle_of(const Stat& stat) const;
  // False for a handle of an earlier process.
  [[nodiscard]] bool is_current(base::BytesView body) const;
  // Remembers or moves an object.
  void place(const FileHandle& handle, const FileHandle& parent, std::string_view name);
  void forget(const FileHandle& handle);
  [[nodiscard]] std::optional<Whereabouts> find(const FileHandle& handle);

 private:
  struct Entry {
    std::uint64_t mac;
    Whereabouts at;
  };
  using Entries = std::list<Entry>;

  const HandleCodec codec_;
  const std::uint64_t epoch_;
  const std::size_t entries_max_;
  std::mutex mutex_;
  Entries by_use_;  // most recently used first
  std::unordered_map<std::uint64_t, Entries::iterator> by_mac_;
};

}  // namespace braid::vfs::posix
