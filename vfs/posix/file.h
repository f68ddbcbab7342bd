// An object of the exported file system that is open in this process.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/guarded.h"
#include "base/unique_fd.h"
#include "vfs/file_system.h"
#include "vfs/posix/grants.h"
#include "vfs/posix/kernel.h"

namespace braid::vfs::posix {

// What the descriptor of a PosixFile is good for; each includes those before.
enum class Opened : std::uint8_t {
  path,   // O_PATH: attributes, names below
  read,   // O_RDONLY: data, fsync
  write,  // O_RDWR
};

// Tells whether changes of ours to one object overlapped. Thread-safe.
class ChangeCounter {
 public:
  struct Ticket {
    std::uint32_t number = 0;
    bool alone = false;
  };
  Ticket begin() {
    const std::uint32_t number = begun_.fetch_add(1) + 1;
    return {number, running_.fetch_add(1) == 0};
  }
  // True if no other change ran at any time since begin().
  bool end(const Ticket& ticket) {
    running_.fetch_sub(1);
    return ticket.alone && begun_.load() == ticket.number;
  }

 private:
  std::atomic<std::uint32_t> begun_{0};
  std::atomic<std::uint32_t> running_{0};
};

// What never changes about an object.
struct FileIdentity {
  FileHandle handle;
  FileType type = FileType::regular;
  std::uint64_t fileid = 0;
  std::uint64_t fsid = 0;
};

// One per handle at a time: FileCache sees to that as long as somebody holds it. Thread-safe; counts itself
// in `descriptors` from birth to death.
class PosixFile final : public File {
 public:
  PosixFile(const FileIdentity& identity, base::UniqueFd fd, Opened opened,
            std::shared_ptr<std::atomic<std::size_t>> descriptors);
  ~PosixFile() override;

  [[nodiscard]] const FileHandle& handle() const override { return identity_.handle; }
  [[nodiscard]] const FileIdentity& identity() const { return identity_; }
  [[nodiscard]] FileType type() const { return identity_.type; }
  [[nodiscard]] std::uint64_t mac() const { return HandleCodec::mac_of(identity_.handle.view()); }

  // The number stays the same as long as the object; what it is good for only grows.
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] Opened opened() const { return opened_.load(std::memory_order_acquire); }
  // Puts a better description behind the same number: calls that are under way keep the one they began with.
  Outcome<> upgrade(const base::UniqueFd& fresh, Opened opened);

  [[nodiscard]] ChangeCounter& changes() { return changes_; }
  [[nodiscard]] base::Guarded<Grants>& grants() { return grants_; }

 private:
  friend class FileCache;

  const FileIdentity identity_;
  const base::UniqueFd fd_;
  std::atomic<Opened> opened_;
  std::mutex upgrading_;
  ChangeCounter changes_;
  base::Guarded<Grants> grants_;
  const std::shared_ptr<std::atomic<std::size_t>> descriptors_;

  // Of the cache, under its shard's lock.
  struct Link {
    PosixFile* previous = nullptr;
    PosixFile* next = nullptr;
  };
  FileRef held_by_cache_;
  PosixFile* hash_next_ = nullptr;
  Link by_use_;      // most recently used first
  Link by_writing_;  // those with an O_RDWR descriptor
  bool writer_ = false;
  base::TimePoint used_{};
};

// isdir or inval for what has no data.
Outcome<> require_regular(const PosixFile& file);

}  // namespace braid::vfs::posix
