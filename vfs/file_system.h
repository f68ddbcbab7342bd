// The seam between protocols and storage. A protocol resolves a handle to a File and hands it, with the
// caller's credentials, to the FileSystem; what a name, a permission or a byte means is decided behind this
// interface.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "io/payload.h"
#include "vfs/acl.h"
#include "vfs/content.h"
#include "vfs/file.h"
#include "vfs/open_file.h"
#include "vfs/types.h"

namespace braid::vfs {

struct Found {
  FileRef file;
  Attributes attributes;
};

// How a regular file is created (RFC 1813 3.3.8 createmode3, RFC 8881 18.16.1 createmode4).
struct CreateHow {
  enum class Mode : std::uint8_t {
    unchecked,
    guarded,
    exclusive,
    exclusive_with_attributes,  // EXCLUSIVE4_1: name, attributes and verifier appear at the same moment
  } mode = Mode::unchecked;
  // Not with `exclusive`. With `exclusive_with_attributes` times are ignored: the verifier is kept there
  // (suppattr_exclcreat).
  SetAttributes attributes;
  Verifier verifier;  // of both exclusive modes: kept with the file, so a repeated call is recognised after a
                      // restart too
};
constexpr bool is_exclusive(const CreateHow& how) {
  return how.mode == CreateHow::Mode::exclusive || how.mode == CreateHow::Mode::exclusive_with_attributes;
}

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
// fails; null: nobody asks, and nothing is looked at for it. What an operation reports as done is as durable
// as the protocol promises: namespace and attribute changes when they return, WRITE according to its
// Stability, COMMIT for all earlier WRITEs. Content is read and written through an OpenFile.
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
                          std::optional<Time> guard, Wcc* wcc) = 0;
  // "." and ".." are names too; ".." of the root is the root.
  virtual VfsOp<Found> lookup(const Credentials& who, const FileRef& directory, std::string_view name) = 0;
  // The subset of `wanted` (AccessBits) that is allowed. `now`: the attributes as they are; looked at, and
  // put there, if the caller has not just done so.
  virtual VfsOp<std::uint32_t> access(const Credentials& who, const FileRef& file, std::uint32_t wanted,
                                      std::optional<Attributes>& now) = 0;
  // The target, at most 4096 bytes, in a payload.
  virtual VfsOp<io::Payload> readlink(const Credentials& who, const FileRef& link) = 0;
  // The content of `file` for one call of somebody who has not opened it (NFSv3, a special stateid): no
  // system call, and no memory. Each of its functions asks for the rights of `who`, who with `file` outlives
  // it: RFC 1813 4.4. isdir, or inval for what is no regular file.
  virtual Borrowed borrow(const Credentials& who, const FileRef& file) = 0;

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

  // What NFSv4 needs beyond NFSv3 follows. A file system that lacks one of these answers notsupp.

  // isdir, or inval for what is no regular file. delay: a lease is in the way, a local one or one of ours,
  // and whoever holds it has been asked; an open on behalf of the holder of our own lease is to share the
  // lease's OpenFile instead. too_many_open_files: opens of others keep all that there are.
  virtual VfsOp<OpenFileRef> open(const Credentials& who, const FileRef& file, OpenAccess access,
                                  OpenRule rule);
  // Only a few more files can be opened: those are for who has few.
  [[nodiscard]] virtual bool few_opens_left() const { return false; }
  // The same of files that can be locked, where more can be open.
  [[nodiscard]] virtual bool few_locks_left() const { return false; }
  // Creates the name, or opens what it means, by the rules of `how` (RFC 8881 18.16.3). Whoever creates a
  // file has it open as wanted whatever its mode. An existing file is truncated if `how` is unchecked with
  // size 0; other attributes do not matter to it.
  virtual VfsOp<OpenCreated> open_create(const Credentials& who, const FileRef& directory,
                                         std::string_view name, OpenAccess access, const CreateHow& how,
                                         Wcc& wcc);
  virtual VfsOp<> close(OpenFileRef open);
  // Byte-range locks that local processes see, too (fcntl(2)). Nothing waits: who is in the way is the
  // result. Locks of one owner do not conflict with each other: a new one replaces the type of what it
  // overlaps. They last until unlock(); lock() needs an open that allows the type, or answers inval.
  virtual VfsOp<std::optional<LockConflict>> lock(const OpenFileRef& open, LockOwnerId owner, LockRange range,
                                                  LockType type);
  virtual VfsOp<std::optional<LockConflict>> test_lock(const FileRef& file, LockOwnerId owner,
                                                       LockRange range, LockType type);
  virtual VfsOp<> unlock(const FileRef& file, LockOwnerId owner, LockRange range);
  // delay: somebody has the file open in a way that conflicts. A read lease needs an open for reading alone.
  virtual VfsOp<LeaseRef> lease(const OpenFileRef& open, LeaseType type, LeaseHolder holder,
                                LeaseBreak broken);
  // Of the entries and attributes of a directory: notdir. As long as there is one the handle is good, even if
  // the directory loses its name.
  virtual VfsOp<LeaseRef> lease_directory(const FileRef& directory, LeaseHolder holder, LeaseBreak broken);

  // Extended attributes that clients name without the "user." of local processes; of regular files and
  // directories. The value is at most 65536 bytes, in one range of the payload.
  virtual VfsOp<io::Payload> get_xattr(const Credentials& who, const FileRef& file, std::string_view name);
  virtual VfsOp<> set_xattr(const Credentials& who, const FileRef& file, std::string_view name,
                            base::BytesView value, XattrMode mode, Wcc& wcc);
  // Feeds names after `cookie` (0: all) to `sink` until it refuses one; true when the end was reached.
  // Cookies stay valid while names come and go.
  virtual VfsOp<bool> list_xattrs(const Credentials& who, const FileRef& file, std::uint64_t cookie,
                                  const XattrSink& sink);
  virtual VfsOp<> remove_xattr(const Credentials& who, const FileRef& file, std::string_view name, Wcc& wcc);

  virtual VfsOp<PosixAcl> get_acl(const FileRef& file);
  virtual VfsOp<> set_acl(const Credentials& who, const FileRef& file, const SetAcl& set, Wcc* wcc);

  // Where the bytes of regular files are (vfs/content.h), for the sources that this was opened with; notsupp
  // if it was opened with none. No call on the same file may wait for these.

  // Null: the file's own bytes.
  virtual VfsOp<ContentRef> content(const FileRef& file);
  // Calls that begin from now on go to `next`; returns the former content when no call on it is left. Whoever
  // exchanges contents sees to the record.
  virtual VfsOp<ContentRef> exchange(const FileRef& file, ContentRef next);
  // Has the source place the file, while no call on it runs (ContentSource::place). exist: it has the content
  // of another source.
  virtual VfsOp<ContentRef> place(const FileRef& file, ContentSource& source, PlacementHint hint);
  // The file as contents of that source see it. Its holder holds the file.
  virtual VfsOp<std::unique_ptr<Stub>> stub(const FileRef& file, ContentSource& source);
  // Whether the data of a WRITE may come in a pipe. The same, always.
  [[nodiscard]] virtual bool takes_pipes() const { return true; }
};

}  // namespace braid::vfs
