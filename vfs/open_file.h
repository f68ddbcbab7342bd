// The content of files, for who has opened them and for who has not; locks and leases of NFSv4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/strong.h"
#include "io/op.h"
#include "io/payload.h"
#include "io/pipe.h"
#include "vfs/file.h"
#include "vfs/types.h"

namespace braid::vfs {

enum class OpenAccess : std::uint8_t { read = 1, write = 2, both = 3 };
constexpr bool includes(OpenAccess access, OpenAccess wanted) {
  return (static_cast<unsigned>(access) & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
}

template <class T = void>
using VfsOp = io::Op<T, Error>;

struct ReadResult {
  io::Payload data;
  bool eof = false;
  Attributes attributes;  // of a borrowed file only: as they were before the bytes were read
};

// Where the data of a READ may go. The cursor belongs to the calling thread.
struct ReadMemory {
  ReadMemory(io::SlabCursor& slabs, io::PipePool* piped = nullptr) : cursor(slabs), pipes(piped) {}  // NOLINT
  io::SlabCursor& cursor;
  io::PipePool* pipes;  // null: the data must be in memory
  // Whose memory it is, as Credentials say it.
  Protocol protocol = Protocol::other;
  LeaseHolder holder{};
};

struct WriteResult {
  std::uint32_t count = 0;
  Stability committed = Stability::unstable;
  // As it was before the first byte was written. It changes when data that was answered `unstable` may have
  // been lost: at every start and after a failed write-back.
  Verifier verifier;
};

enum class SeekTo : std::uint8_t { data, hole };
struct SeekResult {
  std::uint64_t offset = 0;
  bool eof = false;  // nothing of the kind up to the end; offset is the file's size
};

// How a range will be used, as in posix_fadvise(2).
enum class Advice : std::uint8_t { normal, sequential, random, will_need, dont_need, once };

class FileSystem;
struct ContentHold;

// A regular file through which its content is read and written. Either somebody opened it, with the rights of
// that moment: it stays usable after its mode changes and after its last name goes, and as long as it exists
// its handle is not stale. It is closed when the last reference goes; FileSystem::close() does that where it
// does not block a reactor. Or it is borrowed for one call (FileSystem::borrow): then each function asks for
// the caller's rights first, and only read(), write(), commit(), set() and write_verifier() are there.
//
// An open is state; what reads and writes through it may be closed while nobody uses it, and is opened again
// when it is used. So each function may answer delay, where it cannot be opened now, or stale, if the file is
// gone that had a name when it was closed.
//
// Thread-safe. It must stay until its Ops have ended, and so must whatever is passed by reference. What
// changes something fills `wcc` whether it succeeds or fails; null: nobody asks, and nothing is looked at for
// it. What an implementation lacks answers notsupp.
class OpenFile {
 public:
  virtual ~OpenFile() = default;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] virtual FileRef file() const = 0;
  // What it was opened for; both, if it is borrowed.
  [[nodiscard]] virtual OpenAccess access() const = 0;
  // That opened it, whatever is exported now; null if it is borrowed.
  [[nodiscard]] virtual std::shared_ptr<FileSystem> file_system() const { return nullptr; }

  // At most `count` bytes; none only at the end of the file. Where it was opened, and a local process has cut
  // the file short, it may tell of the end one call late.
  virtual VfsOp<ReadResult> read(std::uint64_t offset, std::uint32_t count, ReadMemory memory);
  // `who` is for set-id bits, quotas and reserved blocks.
  virtual VfsOp<WriteResult> write(const Credentials& who, std::uint64_t offset, const io::Payload& data,
                                   Stability stability, Wcc* wcc = nullptr);
  // Makes earlier WRITEs durable; count 0 means to the end of the file. The result is the verifier after
  // that: if it is the one of a WRITE, the bytes of that WRITE are on the medium.
  virtual VfsOp<Verifier> commit(const Credentials& who, std::uint64_t offset, std::uint32_t count,
                                 Wcc* wcc = nullptr);
  // What a WRITE that begins now would answer: for COPY, which answers before its data is written.
  [[nodiscard]] virtual Verifier write_verifier() const { return {}; }
  // As FileSystem::setattr(); the size is changed with the rights of the open.
  virtual VfsOp<> set(const Credentials& who, const SetAttributes& set, Wcc* wcc = nullptr);

  // nxio: the offset is not before the end of the file (RFC 7862 15.11). The caller does not care for what
  // lies at `until` or behind it: for that any offset from there on is an answer.
  virtual VfsOp<SeekResult> seek(std::uint64_t offset, SeekTo what, std::uint64_t until);
  VfsOp<SeekResult> seek(std::uint64_t offset, SeekTo what) {
    return seek(offset, what, std::numeric_limits<std::uint64_t>::max());
  }
  // Reserves space, extending the file (RFC 7862 15.1), or makes a hole (15.4).
  virtual VfsOp<> allocate(const Credentials& who, std::uint64_t offset, std::uint64_t length);
  virtual VfsOp<> deallocate(const Credentials& who, std::uint64_t offset, std::uint64_t length);
  // Shares the blocks of `from`, a file of the same FileSystem. `length` 0 means to its end. notsupp where
  // one has a content that the other one cannot share. inval for
  // offsets that are no multiples of FileSystemLimits::clone_block_bytes.
  virtual VfsOp<> clone_from(const Credentials& who, OpenFile& from, std::uint64_t from_offset,
                             std::uint64_t to_offset, std::uint64_t length);
  // Copies at most `length` bytes (0: to the end of `from`), and not more than a few MiB in one call; returns
  // how many, 0 at the end of `from`. That may be a file of another FileSystem: xdev if it cannot be read
  // from here.
  virtual VfsOp<std::uint64_t> copy_from(const Credentials& who, OpenFile& from, std::uint64_t from_offset,
                                         std::uint64_t to_offset, std::uint64_t length);
  virtual VfsOp<> advise(std::uint64_t offset, std::uint64_t length, Advice advice);
  // Whether the kernel can clone and copy the file's own bytes, by descriptor().
  [[nodiscard]] virtual bool has_descriptor() const { return false; }
  struct Descriptor {
    FileRef keep;  // as long as it lives
    int fd = -1;
  };
  virtual base::Result<Descriptor, Error> descriptor() { return base::fail(Error::notsupp); }
  // The bytes may be a content's (vfs/content.h): who copies from the file has to hold that first.
  [[nodiscard]] virtual bool may_have_content() const { return false; }
  // Which content it has, as long as the result lives; who holds it waits for nothing of this file.
  virtual VfsOp<ContentHold> hold_content();

 protected:
  OpenFile() = default;
};
using OpenFileRef = std::shared_ptr<OpenFile>;

// An OpenFile that is borrowed for one call: a value, for the frame of that call. It is neither copied nor
// moved.
class Borrowed {
 public:
  Borrowed() = default;  // of nothing
  // By a FileSystem: its own kind of OpenFile, made of `args`.
  template <class T, class... Args>
  explicit Borrowed(std::in_place_type_t<T> /*kind*/, Args&&... args)
      : io_(::new(static_cast<void*>(room_)) T(std::forward<Args>(args)...)) {
    static_assert(sizeof(T) <= room_bytes && alignof(T) <= alignof(std::max_align_t));
  }
  ~Borrowed() {
    if (io_ != nullptr) std::destroy_at(io_);
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  // Not of nothing.
  OpenFile& operator*() const { return *io_; }
  OpenFile* operator->() const { return io_; }

 private:
  static constexpr std::size_t room_bytes = 64;
  alignas(std::max_align_t) std::byte room_[room_bytes];
  OpenFile* io_ = nullptr;
};

// Whose rights an open needs.
enum class OpenRule : std::uint8_t {
  // The caller's, as for open(2); whoever may execute a file may open it for reading (RFC 8881 18.16.4).
  caller,
  // The same, and the owner's whatever the mode says: for an open that was granted before (CLAIM_PREVIOUS),
  // or
  // for a single operation under a special stateid.
  owner_override,
};

struct OpenCreated {
  OpenFileRef open;
  FileRef file;
  Attributes attributes;
  bool created = false;    // by this call, or by an exclusive one that this repeats
  bool truncated = false;  // an existing file, to size 0
};

// [offset, offset + length); `to_end` as the length means every byte from offset on.
struct LockRange {
  static constexpr std::uint64_t to_end = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t offset = 0;
  std::uint64_t length = to_end;
  friend bool operator==(const LockRange&, const LockRange&) = default;
};
enum class LockType : std::uint8_t { read, write };
// Whoever the protocols tell apart; unique within a FileSystem.
struct LockOwnerIdTag;
using LockOwnerId = base::Strong<LockOwnerIdTag, std::uint64_t>;

struct LockConflict {
  LockType type = LockType::write;
  LockRange range;
  std::optional<LockOwnerId> owner;  // none: a local process
};

// read: nobody opens the file for writing; write: nobody opens it at all.
enum class LeaseType : std::uint8_t { read, write };

// Makes local opens that conflict wait until it is given back, which is when it ends, or until the kernel's
// patience ends (/proc/sys/fs/lease-break-time, 45 s). Calls of this server that conflict, of NFSv3 too,
// answer `delay` meanwhile, unless their Credentials name the same holder: opens, and what changes the file's
// attributes or names (setattr, link, remove and rename of a name, xattrs and ACLs); of a directory, what
// makes, removes or renames its entries, too. No local process ever waits for the lease of a directory. Keeps
// its file open; the FileSystem must outlive it.
class Lease {
 public:
  virtual ~Lease() = default;
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  [[nodiscard]] virtual FileRef file() const = 0;

 protected:
  Lease() = default;
};
using LeaseRef = std::unique_ptr<Lease>;
// Called once, on any thread, when somebody waits for the lease, or has changed what it is about without
// waiting; must not block, nor end a lease. Not called any more when the lease has ended.
using LeaseBreak = std::function<void()>;

enum class XattrMode : std::uint8_t { either, create, replace };
// Takes one name, without the "user." that local processes see; false when it does not fit (it is then not
// consumed). `cookie` is of the position after it.
using XattrSink = std::function<bool(std::string_view name, std::uint64_t cookie)>;

}  // namespace braid::vfs
