// A file system in memory, for unit tests and simulation: names, attributes and content are a Storage's; what
// befalls a call is up to the test's Hooks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "io/slab.h"
#include "vfs/content.h"
#include "vfs/content_slot.h"
#include "vfs/file_system.h"
#include "vfs/memory/hooks.h"
#include "vfs/memory/storage.h"

namespace braid::vfs::memory {

// What a MemoryFileSystem answers where nothing that it stores decides.
struct Traits {
  FileSystemStatus status{1'000'000, 600'000, 500'000, 1000, 700, 600};
  FileSystemLimits limits{.file_bytes_max = 0x7fff'ffff'ffff'ffff, .link_max = 127, .name_bytes_max = 255};
  Verifier verifier{{std::byte{0xb0}, std::byte{0x07}}};
  // READDIRPLUS gives entries without handle and attributes.
  bool entries_without_attributes = false;
  // What WRITE answers in place of the wanted stability and of the whole count.
  std::optional<Stability> committed;
  std::optional<std::uint32_t> short_write;
};

// A door to a Storage; there may be several, one after the other or at the same time. Permission bits are not
// checked, but access() tells what they say. No local process is ever in the way of a lock or a lease.
// Belongs to a shared_ptr and to one thread.
class MemoryFileSystem : public FileSystem, public std::enable_shared_from_this<MemoryFileSystem> {
 public:
  // Storage, hooks and sources of contents outlive the file system and whatever it has opened. Without a
  // source every file has its own bytes.
  MemoryFileSystem(Storage& storage, Hooks& hooks, std::vector<ContentSource*> sources = {})
      : storage_(storage), hooks_(hooks), sources_(std::move(sources)) {}
  [[nodiscard]] Traits& traits() { return traits_; }

  [[nodiscard]] FileRef root() const override;
  VfsOp<FileRef> resolve(base::BytesView handle) override;
  VfsOp<Attributes> getattr(const FileRef& file) override;
  VfsOp<> setattr(const Credentials& who, const FileRef& file, const SetAttributes& set,
                  std::optional<Time> guard, Wcc* wcc) override;
  VfsOp<Found> lookup(const Credentials& who, const FileRef& directory, std::string_view name) override;
  VfsOp<std::uint32_t> access(const Credentials& who, const FileRef& file, std::uint32_t wanted,
                              std::optional<Attributes>& now) override;
  VfsOp<io::Payload> readlink(const Credentials& who, const FileRef& link) override;
  Borrowed borrow(const Credentials& who, const FileRef& file) override;
  VfsOp<Found> create(const Credentials& who, const FileRef& directory, std::string_view name,
                      const CreateHow& how, Wcc& wcc) override;
  VfsOp<Found> mkdir(const Credentials& who, const FileRef& directory, std::string_view name,
                     const SetAttributes& set, Wcc& wcc) override;
  VfsOp<Found> symlink(const Credentials& who, const FileRef& directory, std::string_view name,
                       std::string_view target, const SetAttributes& set, Wcc& wcc) override;
  VfsOp<Found> mknod(const Credentials& who, const FileRef& directory, std::string_view name,
                     const SpecialFile& special, const SetAttributes& set, Wcc& wcc) override;
  VfsOp<> remove(const Credentials& who, const FileRef& directory, std::string_view name, Wcc& wcc) override;
  VfsOp<> rmdir(const Credentials& who, const FileRef& directory, std::string_view name, Wcc& wcc) override;
  VfsOp<> rename(const Credentials& who, const FileRef& from_directory, std::string_view from_name,
                 const FileRef& to_directory, std::string_view to_name, Wcc& from_wcc, Wcc& to_wcc) override;
  VfsOp<> link(const Credentials& who, const FileRef& file, const FileRef& directory, std::string_view name,
               Wcc& wcc) override;
  VfsOp<bool> readdir(const Credentials& who, const FileRef& directory, const ReadDirectoryRequest& request,
                      const EntrySink& sink) override;
  VfsOp<FileSystemStatus> status(const FileRef& file) override;
  VfsOp<FileSystemLimits> limits(const FileRef& file) override;

  VfsOp<OpenFileRef> open(const Credentials& who, const FileRef& file, OpenAccess access,
                          OpenRule rule) override;
  VfsOp<OpenCreated> open_create(const Credentials& who, const FileRef& directory, std::string_view name,
                                 OpenAccess access, const CreateHow& how, Wcc& wcc) override;
  VfsOp<std::optional<LockConflict>> lock(const OpenFileRef& open, LockOwnerId owner, LockRange range,
                                          LockType type) override;
  VfsOp<std::optional<LockConflict>> test_lock(const FileRef& file, LockOwnerId owner, LockRange range,
                                               LockType type) override;
  VfsOp<> unlock(const FileRef& file, LockOwnerId owner, LockRange range) override;
  VfsOp<LeaseRef> lease(const OpenFileRef& open, LeaseType type, LeaseHolder holder,
                        LeaseBreak broken) override;

  VfsOp<ContentRef> content(const FileRef& file) override;
  VfsOp<ContentRef> exchange(const FileRef& file, ContentRef next) override;
  VfsOp<ContentRef> place(const FileRef& file, ContentSource& source, PlacementHint hint) override;
  VfsOp<std::unique_ptr<Stub>> stub(const FileRef& file, ContentSource& source) override;
  [[nodiscard]] bool takes_pipes() const override { return false; }

  // Of its files, opened (`who`: null for a READ) or borrowed.
  VfsOp<ReadResult> read(const Credentials* who, const FileRef& file, std::uint64_t offset,
                         std::uint32_t count, ReadMemory memory);
  VfsOp<WriteResult> write(const Credentials& who, const FileRef& file, std::uint64_t offset,
                           const io::Payload& data, Stability stability, Wcc* wcc);
  VfsOp<Verifier> commit(const Credentials& who, const FileRef& file, std::uint64_t offset,
                         std::uint32_t count, Wcc* wcc);
  // ALLOCATE makes the file longer, and DEALLOCATE the bytes zeros: all bytes of a file take room.
  enum class Space : std::uint8_t { allocate, deallocate };
  VfsOp<> change_space(const Credentials& who, const FileRef& file, Space change, std::uint64_t offset,
                       std::uint64_t length);
  [[nodiscard]] Storage& storage() { return storage_; }
  // An open or a lease of the node has ended.
  void release(std::uint64_t id);

 private:
  template <class T = void>
  using Outcome = base::Result<T, Error>;
  // What create() and open_create() found or made.
  struct Made {
    std::uint64_t id = 0;
    bool created = false;  // by this call, or by an exclusive one that this repeats
  };

  // stale: gone.
  [[nodiscard]] Outcome<Node*> node(const FileRef& file);
  // stale, or notdir.
  [[nodiscard]] Outcome<Node*> directory_at(const FileRef& file);
  // stale, isdir, or inval for what is no regular file either.
  [[nodiscard]] Outcome<Node*> regular_file_at(const FileRef& file);
  [[nodiscard]] FileRef file_of(std::uint64_t id) const;
  VfsOp<Found> found(std::uint64_t id);
  // Fills `wcc` with the node as it is, before and after: what a call shows that changes nothing.
  void show(const FileRef& file, Wcc* wcc);
  static bool too_big(const SetAttributes& set);
  // SETATTR, after everything was looked at. `set` is the caller's own.
  VfsOp<> change(const Credentials& who, FileRef file, SetAttributes set);
  // What CREATE, MKDIR, SYMLINK, MKNOD and OPEN share.
  Outcome<std::uint64_t> make(const Call& call, const FileRef& directory, FileType type,
                              const SetAttributes& set, Wcc& wcc);
  Outcome<Made> find_or_make(const Call& call, const FileRef& directory, const CreateHow& how, Wcc& wcc);
  Outcome<> unlink(const Call& call, const FileRef& directory, bool want_directory, Wcc& wcc);
  Outcome<> move(const Call& call, const FileRef& from_directory, const FileRef& to_directory);
  // What stands in the way of a rename over `old`.
  static Outcome<> may_replace(const Node& old, const Node& moved);
  // Whether `directory` lies in `ancestor`, or is it.
  bool lies_in(std::uint64_t directory, std::uint64_t ancestor);

  Outcome<ReadResult> read_own(const FileRef& file, std::uint64_t offset, std::uint32_t count,
                               ReadMemory memory);
  Outcome<WriteResult> write_own(const Call& call, const FileRef& file, Stability stability,
                                 Verifier verifier, Wcc* wcc);
  Outcome<> change_own_space(const Call& call, const FileRef& file, Space change);

  // Contents (content.cc). What this file system knows of the content of one file.
  struct Held;
  using HeldRef = std::shared_ptr<Held>;
  HeldRef held_of(const FileRef& file);
  VfsOp<ContentRef> load(FileRef file);
  // A call on the content begins; it ends before the file's next one is waited for.
  VfsOp<ContentSlot::Use> use(HeldRef held, FileRef file);
  VfsOp<ContentRef> place_now(FileRef file, ContentSource& source, ContentRef former, PlacementHint hint);
  VfsOp<> place_before_first_write(HeldRef held, FileRef file, PlacementHint hint);
  // The attributes of the file, settled and adjusted. With a Use of its content, which may be null; or
  // without one.
  VfsOp<Attributes> look(HeldRef held, Content* content, FileRef file);
  VfsOp<Attributes> look(FileRef file);
  // Tells the content of a file that the name is about to go, if it is the last one.
  VfsOp<> announce_removal(FileRef directory, std::string_view name);
  // What is known of a node that is gone.
  void forget(std::uint64_t id);

  Storage& storage_;
  Hooks& hooks_;
  const std::vector<ContentSource*> sources_;
  std::map<std::uint64_t, HeldRef> held_;
  Traits traits_;
  io::SlabPool pool_{{.bytes_max = io::region_bytes, .huge_pages = false}};
  io::SlabCursor cursor_{pool_};  // of symbolic links that are read
};

}  // namespace braid::vfs::memory
