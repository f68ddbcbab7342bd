// A disk in memory that loses power: what was not synced is lost in part.
//
// It is as the weakest of ext4 (data=ordered), XFS and btrfs. What is done to the metadata of one inode stays
// in order: attributes, size, holes; after a crash there is a beginning of it, of each inode another one.
// Bytes are apart from that: each block that was written is on the medium, or not. A block that was a hole
// gets its bytes with its place, so it comes after the metadata before it; one that has a place is
// overwritten there, whatever came before. Names of a directory are as metadata.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "store/medium/medium.h"

namespace braid::store::test {

// What a crash leaves of what was not synced.
enum class Left : std::uint8_t { nothing, metadata, data, everything, anything };

class CrashInode {
 public:
  static constexpr std::uint64_t block_bytes = 512;

  [[nodiscard]] std::size_t read(std::uint64_t offset, base::MutableBytes to) const;
  void write(std::uint64_t offset, base::BytesView bytes);
  void resize(std::uint64_t size);
  void punch(std::uint64_t offset, std::uint64_t length);
  void set_attribute(const std::string& name, std::optional<base::Bytes> value);
  void set_times(const vfs::Time& atime, const vfs::Time& mtime);
  void sync();
  void crash(Left left, std::mt19937& random);
  [[nodiscard]] std::optional<Extent> next_data(std::uint64_t offset) const;
  [[nodiscard]] FileStatus status() const;
  [[nodiscard]] std::optional<base::Bytes> attribute(const std::string& name) const;

 private:
  struct Image {
    std::map<std::uint64_t, std::string> blocks{};  // no hole
    std::uint64_t size = 0;
    std::map<std::string, base::Bytes> attributes{};
    vfs::Time atime{}, mtime{};
    void resize(std::uint64_t to);
    void punch(std::uint64_t offset, std::uint64_t length);
  };
  struct Written {
    std::string bytes;
    std::size_t placed_by =
        0;  // the event that gave it its place, from 1 on; 0: it has had one since the last sync
  };
  struct Event {
    std::function<void(Image&)> metadata{};  // or bytes
    std::map<std::uint64_t, Written> blocks{};
    std::uint64_t size_after = 0;
  };
  void change(std::function<void(Image&)> metadata);

  Image durable_, now_;
  std::vector<Event> events_;  // since the last sync
  std::map<std::uint64_t, std::size_t> placed_by_;
  std::uint64_t changes_ = 0;
};

// Of one directory.
class CrashNames {
 public:
  using Names = std::map<std::string, std::shared_ptr<CrashInode>>;
  void change(std::function<void(Names&)> what);
  void sync();
  void crash(Left left, std::mt19937& random);
  [[nodiscard]] const Names& now() const { return now_; }

 private:
  Names durable_, now_;
  std::vector<std::function<void(Names&)>> events_;
};

// Thrown out of the call in which the power goes.
struct PowerCut {};

class CrashDisk {
 public:
  // The power goes before the n-th change from now on.
  void cut_power_before(std::uint64_t changes) { left_ = changes; }
  void keep_power() { left_.reset(); }
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  // Of the store's files, and of the exported one.
  void crash(Left of_store, Left of_exported, std::mt19937& random);

  [[nodiscard]] std::unique_ptr<Medium> medium();
  [[nodiscard]] std::unique_ptr<File> exported();

  // Faults that a checker is to find: syncing of containers does nothing.
  bool containers_are_not_synced = false;
  // What takes a container's place is not there.
  bool forwarding_is_lost = false;

 private:
  friend class CrashFile;
  friend class CrashMedium;
  // Before each change.
  void step();
  CrashNames& directory_of(const std::string& name);

  std::optional<std::uint64_t> left_;
  std::uint64_t changes_ = 0;
  std::map<std::string, CrashNames> directories_;  // by name; the store's own is ""
  std::shared_ptr<CrashInode> exported_ = std::make_shared<CrashInode>();
};

}  // namespace braid::store::test
