// The seam between protocols and storage. A protocol resolves a handle to a File and hands it, with the
// caller's credentials, to the FileSystem; what a name, a permission or a byte means is decided behind this
// interface.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "io/op.h"
#include "io/payload.h"
#include "io/pipe.h"
#include "vfs/types.h"

namespace braid::vfs {

template <class T = void>
using VfsOp = io::Op<T, Error>;

// An object of an exported file system, kept resolvable by whoever holds a FileRef. Implementations derive
// from it.
class File {
 public:
  virtual ~File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  // The wire handle of this object.
  [[nodiscard]] virtual const FileHandle& handle() const = 0;

 protected:
  File() = default;

 private:
  friend class FileRef;
  std::atomic<std::uint32_t> references_{0};
};

// Shared ownership of a File; thread-safe like std::shared_ptr.
class FileRef {
 public:
  FileRef() = default;
  explicit FileRef(File* file) : file_(file) {
    if (file_ != nullptr) file_->references_.fetch_add(1, std::memory_order_relaxed);
  }
  FileRef(const FileRef& other) : FileRef(other.file_) {}
  FileRef(FileRef&& other) noexcept : file_(std::exchange(other.file_, nullptr)) {}
  FileRef& operator=(FileRef other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~FileRef() {
    if (file_ != nullptr && file_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete file_;
  }
  [[nodiscard]] explicit operator bool() const { return file_ != nullptr; }
  [[nodiscard]] File* get() const { return file_; }
  File* operator->() const { return file_; }
  File& operator*() const { return *file_; }
  // True if no other FileRef leads to this file.
  [[nodiscard]] bool unique() const { return file_->references_.load(std::memory_order_acquire) == 1; }

 private:
  File* file_ = nullptr;
};

struct Found {
  FileRef file;
  Attributes attributes;
};

struct ReadResult {
  io::Payload data;
  bool eof = false;
  Attributes attributes;
};

// Where the data of a READ may go. The cursor belongs to the calling thread.
struct ReadMemory {
  ReadMemory(io::SlabCursor& slabs, io::PipePool* piped = nullptr) : cursor(slabs), pipes(piped) {}  // NOLINT
  io::SlabCursor& cursor;
  io::PipePool* pipes;  // null: the data must be in memory
};

struct WriteResult {
  std::uint32_t count = 0;
  Stability committed = Stability::unstable;
};

struct Verifier {  // 8 opaque bytes
  std::array<std::byte, 8> bytes{};
  friend bool operator==(const Verifier&, const Verifier&) = default;
};

// How a regular file is created (RFC 1813 3.3.8 createmode3).
struct CreateHow {
  enum class Mode : std::uint8_t { unchecked, guarded, exclusive } mode = Mode::unchecked;
  SetAttributes attributes;  // unchecked and guarded
  Verifier verifier;  // exclusive: kept with the file, so a repeated call is recognised after a restart too
};

// What MKNOD makes.
struct SpecialFile {
  FileType type = FileType::fifo;  // fifo, socket, block_device or character_device
  DeviceNumber device;
};

struct DirectoryEntry {
  std::uint64_t fileid = 0;
  std::uint64_t cookie = 0;  // of the position after this entry
  std::string_view name;     // valid during the call
  // Only when asked for; absent for an entry that vanished meanwhile or that may not be looked at.
  std::optional<FileHandle> handle;
  std::optional<Attributes> attributes;
};

// Takes one entry; returns false when it does not fit any more (it is then not consumed). Runs on any thread,
// never on two at once, and does not block.
using EntrySink = std::function<bool(const DirectoryEntry&)>;

struct ReadDirectoryRequest {
  std::uint64_t cookie = 0;  // 0: from the start
  bool plus = false;         // with handles and attributes
};

// One exported tree. Thread-safe: any reactor may call any operation. References and views passed in must
// stay valid until the Op ends. Every operation that changes something fills `wcc` whether it succeeds or
// fails. What an operation reports as done is as durable as the protocol promises: namespace and attribute
// changes when they return, WRITE according to its Stability, COMMIT for all earlier WRITEs.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // The directory that clients mount.
  [[nodiscard]] virtual FileRef root() const = 0;
  // badhandle: not made by this export; stale: the file is gone.
  virtual VfsOp<FileRef> resolve(base::BytesView handle) = 0;

  virtual VfsOp<Attributes> getattr(const FileRef& file) = 0;
  // `guard`: the ctime that the file must still have (RFC 1813 3.3.2), else not_sync.
  virtual VfsOp<> setattr(const Credentials& who, const FileRef& file, const SetAttributes& set,
                          const std::optional<Time>& guard, Wcc& wcc) = 0;
  // "." and ".." are names too; ".." of the root is the root.
  virtual VfsOp<Found> lookup(const Credentials& who, const FileRef& directory, std::string_view name) = 0;
  // The subset of `wanted` (AccessBits) that is allowed.
  virtual VfsOp<std::uint32_t> access(const Credentials& who, const FileRef& file, std::uint32_t wanted) = 0;
  // The target, at most 4096 bytes, in a payload.
  virtual VfsOp<io::Payload> readlink(const Credentials& who, const FileRef& link) = 0;
  // At most `count` bytes; none only at the end of the file.
  virtual VfsOp<ReadResult> read(const Credentials& who, const FileRef& file, std::uint64_t offset,
                                 std::uint32_t count, ReadMemory memory) = 0;
  virtual VfsOp<WriteResult> write(const Credentials& who, const FileRef& file, std::uint64_t offset,
                                   const io::Payload& data, Stability stability, Wcc& wcc) = 0;
  // Makes earlier WRITEs durable; count 0 means to the end of the file.
  virtual VfsOp<> commit(const Credentials& who, const FileRef& file, std::uint64_t offset,
                         std::uint32_t count, Wcc& wcc) = 0;
  // Changes when data that was answered `unstable` may have been lost: at every start and after a failed
  // write-back.
  [[nodiscard]] virtual Verifier write_verifier() const = 0;

  virtual VfsOp<Found> create(const Credentials& who, const FileRef& directory, std::string_view name,
                              const CreateHow& how, Wcc& wcc) = 0;
  virtual VfsOp<Found> mkdir(const Credentials& who, const FileRef& directory, std::string_view name,
                             const SetAttributes& set, Wcc& wcc) = 0;
  virtual VfsOp<Found> symlink(const Credentials& who, const FileRef& directory, std::string_view name,
                               std::string_view target, const SetAttributes& set, Wcc& wcc) = 0;
  virtual VfsOp<Found> mknod(const Credentials& who, const FileRef& directory, std::string_view name,
                             const SpecialFile& special, const SetAttributes& set, Wcc& wcc) = 0;
  virtual VfsOp<> remove(const Credentials& who, const FileRef& directory, std::string_view name,
                         Wcc& wcc) = 0;
  virtual VfsOp<> rmdir(const Credentials& who, const FileRef& directory, std::string_view name,
                        Wcc& wcc) = 0;
  virtual VfsOp<> rename(const Credentials& who, const FileRef& from_directory, std::string_view from_name,
                         const FileRef& to_directory, std::string_view to_name, Wcc& from_wcc,
                         Wcc& to_wcc) = 0;
  virtual VfsOp<> link(const Credentials& who, const FileRef& file, const FileRef& directory,
                       std::string_view name, Wcc& wcc) = 0;

  // Feeds entries after `request.cookie` to `sink` until it refuses one; true when the end was reached.
  // Cookies stay valid while entries come and go; no entry that stays is lost or repeated.
  virtual VfsOp<bool> readdir(const Credentials& who, const FileRef& directory,
                              const ReadDirectoryRequest& request, const EntrySink& sink) = 0;

  virtual VfsOp<FileSystemStatus> status(const FileRef& file) = 0;
  virtual VfsOp<FileSystemLimits> limits(const FileRef& file) = 0;
};

}  // namespace braid::vfs
