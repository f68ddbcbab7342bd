// An object of the exported file system that is open in this process.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "base/unique_fd.h"
#include "vfs/file_system.h"
#include "vfs/lock_table.h"
#include "vfs/posix/descriptor_slot.h"
#include "vfs/posix/grants.h"
#include "vfs/posix/kernel.h"
#include "vfs/posix/listing.h"
#include "vfs/posix/write_back.h"

namespace braid::vfs::posix {

// What the descriptor of a PosixFile is good for; each includes those before.
enum class Opened : std::uint8_t {
  path,   // O_PATH: attributes, names below
  read,   // O_RDONLY: data, fsync
  write,  // O_RDWR
};

class PosixOpenFile;
struct FileContent;

// What a call does to an object, as clients see it.
enum class Changes : std::uint8_t { nothing, something };

// Tells whether changes of ours to one object overlapped, and whether there were any. Thread-safe.
class ChangeCounter {
 public:
  struct Look {
    std::uint32_t begun = 0, changes = 0;
    bool alone = false;
  };
  // A change begins.
  Look begin() {
    const std::uint32_t begun = begun_.fetch_add(1) + 1;
    return {begun, changes_.load(std::memory_order_relaxed), running_.fetch_add(1) == 0};
  }
  // True if no other change ran at any time since begin().
  bool end(const Look& begun) {
    running_.fetch_sub(1);
    return begun.alone && begun_.load() == begun.begun;
  }
  // For who is no change, and wants to know of them.
  [[nodiscard]] Look look() const {
    const std::uint32_t begun = begun_.load();
    return {begun, changes_.load(), running_.load() == 0};
  }
  // No other change ran at any time since then.
  [[nodiscard]] bool still_alone(const Look& look) const { return look.alone && none_since(look); }
  // No other change has begun, and none has had an effect since then.
  [[nodiscard]] bool none_since(const Look& look) const {
    return begun_.load() == look.begun && changes_.load() == look.changes;
  }
  // After a change, before its attributes are looked at.
  void changed() { changes_.fetch_add(1, std::memory_order_release); }
  [[nodiscard]] std::uint32_t changes() const { return changes_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::uint32_t> begun_{0};
  std::atomic<std::uint32_t> running_{0};
  std::atomic<std::uint32_t> changes_{0};
};

// Keeps two states of a file apart that a coarse clock gave the same ctime, as far as we made the difference.
class ChangeStamp {
 public:
  // `changes` of ours so far, read before the ctime was. The value is what Attributes::change says.
  std::uint64_t observe(std::uint64_t ctime, std::uint32_t changes) {
    if (ctime != ctime_) {
      ctime_ = ctime;
      extra_ = 0;
    } else if (changes != changes_) {
      ++extra_;
    }
    changes_ = changes;
    return ctime + extra_;
  }

 private:
  std::uint64_t ctime_ = 0;  // nanoseconds
  std::uint32_t changes_ = 0;
  std::uint32_t extra_ = 0;
};

// Tells the holder of a lease that somebody waits for it. Thread-safe.
class LeaseNotice {
 public:
  LeaseNotice(LeaseHolder its_holder, LeaseBreak broken) : holder(its_holder), broken_(std::move(broken)) {}
  const LeaseHolder holder;

  void tell() {
    std::scoped_lock lock(mutex_);
    if (const LeaseBreak broken = std::exchange(broken_, nullptr)) broken();
  }
  // The lease has ended: after this nobody is told.
  void withdraw() {
    std::scoped_lock lock(mutex_);
    broken_ = nullptr;
  }

 private:
  std::mutex mutex_;
  LeaseBreak broken_;  // null once it was called
};

// The description that opens of one access share: it is closed with the last of them.
struct SharedDescription {
  base::UniqueFd fd;
  std::optional<DescriptorSlot> slot;
};
constexpr std::size_t accesses = 3;
constexpr std::size_t index_of(OpenAccess access) { return static_cast<std::size_t>(access) - 1; }
using SharedDescriptions = std::array<SharedDescription, accesses>;  // by index_of()

// What a file closes to make room: closed when this ends, which is to be outside of all locks.
class GivenBack {
 public:
  GivenBack() = default;
  GivenBack(GivenBack&&) = default;
  GivenBack& operator=(GivenBack&&) = default;
  ~GivenBack();

 private:
  friend class PosixFile;
  SharedDescription own_;
  std::unique_ptr<SharedDescriptions> shared_;
  std::shared_ptr<FileSyncs> syncs_;  // ends first
};

// The opens of one file, linked to each other. Not thread-safe.
class OpenList {
 public:
  void add(PosixOpenFile& open);
  void remove(PosixOpenFile& open);
  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  [[nodiscard]] bool one() const;
  [[nodiscard]] PosixOpenFile* first() const { return first_; }

 private:
  PosixOpenFile* first_ = nullptr;
};

// What came of an attempt to lock. Nothing is in the way: it is locked.
struct LockAttempt {
  std::optional<LockConflict> conflict;
};

// What callers hold of one file beyond a reference. There are many of them: what few files have is apart.
struct Holdings {
  // The description that the locks are placed on, while there are any.
  struct LockDescription {
    base::UniqueFd fd;
    bool writable = false;
    DescriptorSlot slot;
  };
  // One that is to take the place of another: the locks are placed on it, too, some at a time.
  struct Successor {
    LockDescription description;
    // Of the locks, those before this are there.
    LockOwnerId owner{};
    std::uint64_t first = 0;
  };
  struct Kept {
    LockTable locks;
    std::optional<LockDescription> lock_description;
    std::unique_ptr<Successor> successor;  // null: none is being made
    std::uint64_t kernel_steps = 0;        // locks that the kernel has looked at for ours, in its list
    std::vector<std::shared_ptr<LeaseNotice>> leases;
    ListingTurns listings;  // of a directory
    std::optional<NamelessDescriptors> nameless;
  };

  OpenList opens;                                 // each removes itself at its end
  std::array<std::uint32_t, accesses> sharing{};  // of them those of each access
  bool nameless = false;  // the last name is gone: the cache forgets the file with the last open
  std::unique_ptr<SharedDescriptions> shared;  // null: nothing is open
  std::unique_ptr<Kept> few;                   // null: nothing of it was asked for

  Kept& kept() {
    if (few == nullptr) few = std::make_unique<Kept>();
    return *few;
  }
  [[nodiscard]] bool leased() const { return few != nullptr && !few->leases.empty(); }
  // Something hangs on a descriptor.
  [[nodiscard]] bool stays() const {
    return nameless || leased() || (few != nullptr && (few->lock_description || !few->locks.empty()));
  }
};

// What never changes about an object.
struct FileIdentity {
  FileHandle handle;
  FileType type = FileType::regular;
  std::uint64_t fileid = 0;
  std::uint64_t fsid = 0;
  std::uint64_t device = 0;  // this kernel's name for what the number is unique in
};

// One per handle at a time: FileCache sees to that as long as somebody holds it. Thread-safe.
//
// Who has a FileRef keeps its descriptors open. An open has none: the cache keeps the file for it, and when
// descriptors run short and nobody else has a FileRef, it is parked: all of them are closed. Who gets a
// FileRef by an open looks whether the file is parked after that, and has the Tree open it again.
class PosixFile final : public File {
 public:
  // `may_have_content`: where its bytes are, if it is a regular file, has to be found.
  PosixFile(const FileIdentity& identity, base::UniqueFd fd, Opened opened, DescriptorSlot slot,
            bool may_have_content = false);
  ~PosixFile() override;

  [[nodiscard]] const FileHandle& handle() const override { return identity_.handle; }
  [[nodiscard]] const FileIdentity& identity() const { return identity_; }
  [[nodiscard]] FileType type() const { return identity_.type; }
  [[nodiscard]] std::uint64_t mac() const { return HandleCodec::mac_of(identity_.handle.view()); }

  // The number stays the same as long as the object; what it is good for only grows for who has a FileRef.
  [[nodiscard]] int fd() const { return fd_.load(std::memory_order_acquire); }
  // As the kernel has it; a file without a name has " (deleted)" behind its last one.
  [[nodiscard]] std::optional<std::string> path() const override;
  // It has no descriptor, or loses it in this moment: Tree::unpark(). To be asked by who has got a FileRef by
  // an open.
  [[nodiscard]] bool parked() const { return standing_.load(std::memory_order_seq_cst) != Standing::open; }
  [[nodiscard]] Opened opened() const { return opened_.load(std::memory_order_acquire); }
  // Puts a better description behind the same number: calls that are under way keep the one they began with.
  Outcome<> upgrade(const base::UniqueFd& fresh, Opened opened);

  // Where its bytes are (contents.h). Null, as it usually is: they are its own, and stay so.
  [[nodiscard]] FileContent* content() const { return content_.get(); }

  // Of the description that opens of this access share; -1: there is none.
  [[nodiscard]] int shared_fd(OpenAccess access) const {
    return shared_fds_[index_of(access)].load(std::memory_order_acquire);
  }
  // One more open of this access, or one less. `fresh` and `slot` become what is shared if nothing is yet;
  // what leave() returns is nobody's any more, and is closed by the caller, outside of the lock.
  void join(Holdings& held, OpenAccess access, base::UniqueFd& fresh, DescriptorSlot& slot);
  SharedDescription leave(Holdings& held, OpenAccess access);
  // After the file was parked: as join(), for opens that are there.
  void share(Holdings& held, OpenAccess access, base::UniqueFd& fresh, DescriptorSlot& slot);

  // What syncs it, in all exports of the file system.
  FileSyncs& syncs(WriteBack& back);
  // Whoever wrote through `fd` is about to close it.
  void closing(int fd, const DescriptorSlot& slot);

  // Of a directory: whether its last listing handed on more entries than a reactor should wait for.
  [[nodiscard]] bool lists_long() const { return lists_long_.load(std::memory_order_relaxed); }
  void note_listing(std::size_t entries, bool whole) {
    if (entries > short_listing)
      lists_long_.store(true, std::memory_order_relaxed);
    else if (whole)
      lists_long_.store(false, std::memory_order_relaxed);
  }

  // The size that was seen last: local processes may have changed it since.
  [[nodiscard]] std::uint64_t size_seen() const { return size_seen_.load(std::memory_order_relaxed); }
  void note_size(std::uint64_t bytes) { note(size_seen_, bytes); }

  // Whether it had the flag nodump when it was looked at last.
  [[nodiscard]] bool no_dump() const { return no_dump_.load(std::memory_order_relaxed); }
  void note_no_dump(bool on) { note(no_dump_, on); }

  [[nodiscard]] ChangeCounter& changes() { return changes_; }
  [[nodiscard]] const ChangeCounter& changes() const { return changes_; }
  // The change attribute of a state with this ctime (ChangeStamp).
  std::uint64_t stamp(std::uint64_t ctime, std::uint32_t changes) {
    return seen_.with([&](Seen& seen) { return seen.stamp.observe(ctime, changes); });
  }
  // Which of these rights the kernel granted a moment ago (Grants).
  [[nodiscard]] Rights granted(std::uint64_t who, Rights rights, const Attributes& now,
                               base::TimePoint time) const;
  void grant(std::uint64_t who, Rights rights, const Attributes& now, base::TimePoint time,
             base::WallTime wall);

  // f(Holdings&) under their lock.
  template <class F>
  auto hold(F f) {
    return holdings_.with(f);
  }
  // True if somebody has it open; its handle is then good without a name, too.
  [[nodiscard]] bool held_open() const {
    return holdings_.with([](const Holdings& held) { return !held.opens.empty(); });
  }
  [[nodiscard]] bool leased() const {
    return holdings_.with([](const Holdings& held) { return held.leased(); });
  }
  struct Leases {
    std::vector<std::shared_ptr<LeaseNotice>> others;
    std::shared_ptr<LeaseNotice> own;  // one of them; null: none
  };
  // The leases on it, from where `holder` looks at them.
  [[nodiscard]] Leases leases(LeaseHolder holder) const;
  // Any open of it, kept alive by the result; or null. The second, with this access.
  [[nodiscard]] std::shared_ptr<PosixOpenFile> any_open();
  [[nodiscard]] std::shared_ptr<PosixOpenFile> any_open(OpenAccess access);

 private:
  friend class FileCache;

  // What stays the same is not written: others have the line of the cache, too.
  template <class T>
  static void note(std::atomic<T>& what, T now) {
    if (what.load(std::memory_order_relaxed) != now) what.store(now, std::memory_order_relaxed);
  }
  // Of the cache, under its shard's lock, as the only one that has a FileRef. False: somebody got one in this
  // moment, or something hangs on a descriptor: a lock, a lease, a file without a name.
  bool park(const FileRef& only, GivenBack& out);
  void give_up(GivenBack& out);
  // The same of its own descriptor alone, if it is for reading: an O_PATH one takes its place.
  bool close_for_data(const FileRef& only);
  // With the descriptor of another object of this handle.
  void unpark(PosixFile& fresh);

  static constexpr std::size_t short_listing = 64;  // entries: with attributes about 80 microseconds

  enum class Standing : std::uint8_t {
    open,
    parking,  // whoever holds the lock of its shard looks whether it can be parked
    parked,   // it has no descriptor
  };
  struct Link {
    PosixFile* previous = nullptr;
    PosixFile* next = nullptr;
  };
  // In an order without gaps, since there are many of them; what each lookup looks at comes first, and takes
  // a line of the processor's cache.
  std::atomic<int> fd_;  // -1: parked
  // Of the cache, under its shard's lock.
  PosixFile* hash_next_ = nullptr;
  Link by_use_;  // most recently used first
  base::TimePoint used_{};
  std::uint32_t opens_ = 0;  // those that have no FileRef; a parked file is there for them, and in no list
  bool writer_ = false;      // in by_writing_

  std::atomic<Standing> standing_{Standing::open};
  std::atomic<Opened> opened_;
  std::atomic<bool> lists_long_{false};
  const std::unique_ptr<FileContent> content_;
  const FileIdentity identity_;
  std::atomic<std::uint64_t> size_seen_{0};
  std::shared_ptr<FileSyncs> syncs_held_;  // ends before the descriptor, which keeps the inode's number
  std::atomic<FileSyncs*> syncs_{nullptr};
  std::atomic<bool> no_dump_{false};
  ChangeCounter changes_;
  std::array<std::atomic<int>, accesses> shared_fds_{-1, -1, -1};  // as in Holdings, for who has no lock
  struct Seen {
    ChangeStamp stamp;
    std::unique_ptr<Grants> grants;  // null: none yet
  };
  base::Guarded<Seen> seen_;
  base::Guarded<Holdings> holdings_;
  std::optional<DescriptorSlot> slot_;  // none: parked

  // Of the cache, under its shard's lock.
  FileRef held_by_cache_;
  Link by_writing_;  // those with an O_RDWR descriptor
};

// What this file system hands out as File is always one.
inline PosixFile& node(const FileRef& file) { return static_cast<PosixFile&>(*file); }

// isdir or inval for what has no data.
Outcome<> require_regular(const PosixFile& file);

}  // namespace braid::vfs::posix
