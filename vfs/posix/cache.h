// Handle -> open object: what makes a stream of requests on one file cost one open.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "vfs/posix/file.h"
#include "vfs/wire_handle.h"

namespace braid::vfs::posix {

struct FileCacheOptions {
  // Of all exports; null: this one is alone, and has descriptors_max.
  std::shared_ptr<DescriptorPool> pool;
  std::size_t descriptors_max = 4096;
  base::Duration idle_max = std::chrono::seconds(60);
  // A descriptor open for writing keeps local programs from executing the file (ETXTBSY): it goes earlier.
  base::Duration write_idle_max = std::chrono::seconds(2);
  bool contents = false;  // regular files may have contents
};

struct FileCacheStats {
  std::size_t descriptors = 0;  // open now
  std::uint64_t hits = 0, misses = 0;
  std::uint64_t evicted = 0;              // to make room
  std::uint64_t expired = 0;              // idle
  std::uint64_t too_many_open_files = 0;  // times that no descriptor could be given up: all were in use
  std::size_t parked = 0;                 // open files without descriptors, now
  std::uint64_t parkings = 0;
  std::uint64_t nameless_refused = 0;  // last names of open files that were not removed for want of room
};

// Thread-safe. Each shard is a hash table with a list in order of use. An entry that somebody holds is never
// evicted, so there is at most one object per handle; drop() is the exception, for objects that are gone from
// the file system. One that only opens are there for is parked in place of being evicted. Attributes and
// names are not cached: only identities and descriptors.
class FileCache {
 public:
  explicit FileCache(const FileCacheOptions& options);
  ~FileCache();
  FileCache(const FileCache&) = delete;
  FileCache& operator=(const FileCache&) = delete;

  // From now on opens do without a FileRef: their files can be opened again by handle. Before anything else.
  void park_opens() { parks_ = true; }
  // One more open of the file, or one less. Null: note_close() is to be called for it; otherwise the open
  // keeps the result.
  [[nodiscard]] FileRef note_open(PosixFile& file);
  void note_close(PosixFile& file);
  // Waits for who parks it in this moment, or finds that he cannot. The caller has a FileRef.
  void await_parking(PosixFile& file);
  // The object with this verified handle, or null; also if it is parked, which the second one tells.
  FileRef find(base::BytesView handle) {
    bool parked = false;
    return find(handle, parked);
  }
  FileRef find(base::BytesView handle, bool& parked);
  // Has `look` look at that object, parked or not, which is no use of it; false: it is not here. A lock is
  // held: it does not wait.
  template <class Look>
  bool look_at(base::BytesView handle, Look&& look) {
    const std::uint64_t mac = HandleCodec::mac_of(handle);
    Shard& shard = shard_of(mac);
    const std::scoped_lock lock(shard.mutex);
    const PosixFile* const file = lookup(shard, handle, mac);
    if (file != nullptr) look(*file);
    return file != nullptr;
  }
  // Makes room, then adds the object, unless another thread was faster: returns the one that is in the cache.
  // One that is parked there gets the descriptor.
  FileRef insert(const FileIdentity& identity, base::UniqueFd fd, Opened opened);
  // Room for a descriptor beside those of the cache; none if everything is in use. Of an open: where it is
  // not closed with its file, that one's own descriptor has to stay, too.
  std::optional<DescriptorSlot> reserve_for_open() { return reserve(held_by_open()); }
  // The same without asking, for what will be closed in a moment.
  DescriptorSlot one_more() { return DescriptorSlot(descriptors_, held_by_open()); }
  // Of a lock, or a directory's lease: its file is not parked. None also if few are left.
  std::optional<DescriptorSlot> reserve_to_keep();
  // For as long as a file that opens are there for cannot be parked; nothing where none is.
  std::optional<HeldDescriptors> keep_open_file();
  // The same of a file that is open and has lost its last name, for the peer that removed it.
  void keep_nameless(std::optional<NamelessDescriptors>& kept, io::PeerId peer);
  // Whether there is room for one more of this peer.
  [[nodiscard]] bool room_for_nameless(io::PeerId peer) const;
  void note_nameless_refused(io::PeerId peer);
  // Opens keep their descriptors, and those that have to stay leave an eighth or less.
  [[nodiscard]] bool few_opens_left() const { return !parks_ && leaves_at_most(pool_->max / 8); }
  // Opens do not, and what hangs on descriptors leaves an eighth or less: no more of it is let in.
  [[nodiscard]] bool few_to_keep() const;
  // The same, and it leaves half or less: who has much of it is to have no more.
  [[nodiscard]] bool half_kept() const { return parks_ && leaves_at_most(pool_->max / 2); }
  // What was closed for others: ends outside of all locks.
  struct Evicted {
    FileRef file;  // out of the cache
    std::optional<GivenBack> parked;
    [[nodiscard]] explicit operator bool() const { return file || parked; }
  };
  // Closes the least recently used of those that nobody holds, if there is one.
  Evicted evict();
  // Forgets an object whose last name is gone; its descriptor is closed when the last holder lets go.
  void drop(PosixFile& file);
  // The object now has an O_RDWR descriptor.
  void note_writer(PosixFile& file);
  // What the file has open for reading is in somebody's way. It has opens: as soon as a sweep finds that
  // nobody holds it, its own descriptor is an O_PATH one again.
  void close_for_data(const FileHandle& file);
  // Closes idle descriptors; called about every second. `now` is also the time that later uses are stamped
  // with.
  void sweep(base::TimePoint now);
  // Gives up to `count` descriptors back, after EMFILE.
  void shrink(std::size_t count);
  [[nodiscard]] FileCacheStats stats() const;

 private:
  static constexpr std::size_t shards_max = 16;
  // An object that is held moves to the other end when one to evict is looked for; no more than so many of
  // them at a time.
  static constexpr std::size_t skipped_max = 32;

  struct List {
    PosixFile* first = nullptr;
    PosixFile* last = nullptr;
  };
  struct Shard {
    mutable std::mutex mutex;
    std::vector<PosixFile*> buckets;
    std::size_t count = 0;
    List by_use;
    List by_writing;
    std::uint64_t hits = 0, misses = 0, evicted = 0, expired = 0, parkings = 0;
    std::size_t parked = 0;
  };

  [[nodiscard]] std::uint32_t held_by_open() const { return parks_ ? 0 : 2; }
  [[nodiscard]] bool leaves_at_most(std::size_t descriptors) const;
  // Descriptors that are not to be kept.
  [[nodiscard]] std::size_t reserve_of_all() const;
  std::optional<DescriptorSlot> reserve(std::uint32_t held);
  void note_too_many_open_files();
  Shard& shard_of(std::uint64_t mac) { return shards_[mac % shards_max]; }
  [[nodiscard]] const Shard& shard_of(std::uint64_t mac) const { return shards_[mac % shards_max]; }
  static PosixFile*& bucket_of(Shard& shard, std::uint64_t mac);
  static PosixFile* lookup(const Shard& shard, base::BytesView handle, std::uint64_t mac);
  // Into the lists and out of them: files that are not parked.
  void list(Shard& shard, PosixFile& file);
  static void unlist(Shard& shard, PosixFile& file);
  static void grow(Shard& shard);
  template <PosixFile::Link PosixFile::* link>
  static void push_front(List& list, PosixFile& file);
  template <PosixFile::Link PosixFile::* link>
  static void unlink(List& list, PosixFile& file);
  // Takes an entry out; the reference keeps it alive until the lock is released.
  static FileRef take_out(Shard& shard, PosixFile& file);
  void use(Shard& shard, PosixFile& file);
  Evicted evict_one(Shard& shard);
  template <PosixFile::Link PosixFile::* link>
  void expire(Shard& shard, List& list, base::TimePoint before, std::vector<FileRef>& out);
  // What close_for_data() is to do. False: somebody holds the file.
  bool closed_for_data(const FileHandle& handle);

  const FileCacheOptions options_;
  bool parks_ = false;
  const std::shared_ptr<DescriptorPool> pool_;
  const std::shared_ptr<DescriptorCount> descriptors_ = std::make_shared<DescriptorCount>(pool_);
  std::atomic<std::int64_t> now_{0};  // of the last sweep
  std::atomic<std::uint64_t> too_many_open_files_{0}, nameless_refused_{0};
  std::atomic<std::size_t> next_{0};  // where evict() looks first, in turn
  std::array<Shard, shards_max> shards_;
  static constexpr std::size_t to_close_max = 1024;
  base::Guarded<std::vector<FileHandle>> to_close_;  // close_for_data()
};

}  // namespace braid::vfs::posix
