// vfs::FileSystem over a directory of this machine. docs/vfs.md explains the whole.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "io/blocking_pool.h"
#include "io/slab.h"
#include "vfs/file_system.h"
#include "vfs/posix/contents.h"
#include "vfs/posix/placement.h"
#include "vfs/posix/tree.h"

namespace braid::vfs::posix {

struct PosixOptions {
  std::string directory;
  TreeOptions tree;
  // For calls that may block; null: everything runs on the calling thread.
  io::BlockingPool* pool = nullptr;
  // Memory for what does not come through a caller's cursor; required.
  io::SlabPool* slabs = nullptr;
  // Of contents (vfs/content.h): not null, one for each record's name. They outlive the file system. Usually
  // there are none, and then nothing is looked for.
  std::vector<ContentSource*> sources;
  // Instead of what the file system's type says; for tests.
  std::optional<PlacementPolicy> placement;
};

struct PosixStats {
  FileCacheStats cache;
  std::size_t unsynced =
      0;  // descriptors that only wait for written bytes; of all exports of the file system
  std::uint64_t stalls = 0;            // calls that blocked a reactor longer than they should
  std::uint64_t lock_entries_max = 0;  // locks that a call for one has looked at, at most
};

// Pool, slabs and clock must outlive it; so must it every FileRef that it gave out. sweep() is to be called
// about every second.
class PosixFileSystem final : public FileSystem {
 public:
  // The errno of opening the directory.
  static base::Result<std::shared_ptr<PosixFileSystem>> open(const PosixOptions& options,
                                                             const base::Clock& clock);

  // What does not work as it should for want of privileges, in sentences for the user; empty if everything
  // does.
  [[nodiscard]] std::string restricted() const;
  // What it offers.
  [[nodiscard]] const DirectoryIdentity& offers() const { return tree_.base().identity; }
  // Whether the path that it was opened by still leads there. One system call.
  [[nodiscard]] bool in_place() const;
  void sweep() {
    tree_.cache().sweep(clock_.now());
    tree_.leases().look_for_removed();
    tree_.sweep_write_back();
  }
  [[nodiscard]] PosixStats stats() const {
    return {tree_.cache().stats(), tree_.unsynced(), placement_.stalls(), tree_.lock_entries_max()};
  }

  // For its files.
  [[nodiscard]] Tree& tree() { return tree_; }
  [[nodiscard]] Placement& placement() { return placement_; }
  [[nodiscard]] Contents& contents() { return contents_; }
  [[nodiscard]] io::SlabPool& slabs() { return *slabs_; }
  // A change of names or attributes: in the pool when it waits for the medium.
  template <class F>
  auto change(bool syncs, F work) {
    return syncs ? placement_.run_blocking(Call::sync, std::move(work))
                 : placement_.run(Call::change, std::move(work));
  }

  [[nodiscard]] FileRef root() const override { return tree_.root(); }
  VfsOp<FileRef> resolve(base::BytesView handle) override;
  VfsOp<Attributes> getattr(const FileRef& file) override;
  VfsOp<> setattr(const Credentials& who, const FileRef& file, const SetAttributes& set,
                  std::optional<Time> guard, Wcc* wcc) override;
  VfsOp<Found> lookup(const Credentials& who, const FileRef& directory, std::string_view name) override;
  VfsOp<std::uint32_t> access(const Credentials& who, const FileRef& file, std::uint32_t wanted,
                              std::optional<Attributes>& now) override;
  VfsOp<io::Payload> readlink(const Credentials& who, const FileRef& link) override;
  Borrowed borrow(const Credentials& who, const FileRef& file) override;
  [[nodiscard]] bool few_opens_left() const override { return tree_.cache().few_opens_left(); }
  [[nodiscard]] bool few_locks_left() const override { return tree_.cache().half_kept(); }
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

  // Of NFSv4 (open_calls.cc).
  VfsOp<OpenFileRef> open(const Credentials& who, const FileRef& file, OpenAccess access,
                          OpenRule rule) override;
  VfsOp<OpenCreated> open_create(const Credentials& who, const FileRef& directory, std::string_view name,
                                 OpenAccess access, const CreateHow& how, Wcc& wcc) override;
  VfsOp<> close(OpenFileRef open) override;
  VfsOp<std::optional<LockConflict>> lock(const OpenFileRef& open, LockOwnerId owner, LockRange range,
                                          LockType type) override;
  VfsOp<std::optional<LockConflict>> test_lock(const FileRef& file, LockOwnerId owner, LockRange range,
                                               LockType type) override;
  VfsOp<> unlock(const FileRef& file, LockOwnerId owner, LockRange range) override;
  VfsOp<LeaseRef> lease(const OpenFileRef& open, LeaseType type, LeaseHolder holder,
                        LeaseBreak broken) override;
  VfsOp<LeaseRef> lease_directory(const FileRef& directory, LeaseHolder holder, LeaseBreak broken) override;
  VfsOp<io::Payload> get_xattr(const Credentials& who, const FileRef& file, std::string_view name) override;
  VfsOp<> set_xattr(const Credentials& who, const FileRef& file, std::string_view name, base::BytesView value,
                    XattrMode mode, Wcc& wcc) override;
  VfsOp<bool> list_xattrs(const Credentials& who, const FileRef& file, std::uint64_t cookie,
                          const XattrSink& sink) override;
  VfsOp<> remove_xattr(const Credentials& who, const FileRef& file, std::string_view name, Wcc& wcc) override;
  VfsOp<PosixAcl> get_acl(const FileRef& file) override;
  VfsOp<> set_acl(const Credentials& who, const FileRef& file, const SetAcl& set, Wcc* wcc) override;

  // Of contents (content_calls.cc).
  VfsOp<ContentRef> content(const FileRef& file) override;
  VfsOp<ContentRef> exchange(const FileRef& file, ContentRef next) override;
  VfsOp<ContentRef> place(const FileRef& file, ContentSource& source, PlacementHint hint) override;
  VfsOp<std::unique_ptr<Stub>> stub(const FileRef& file, ContentSource& source) override;
  [[nodiscard]] bool takes_pipes() const override { return contents_.takes_pipes(); }

 private:
  PosixFileSystem(ExportRoot root, const PosixOptions& options, const base::Clock& clock);

  template <class F>
  auto change(F work) {
    return change(tree_.syncs(), std::move(work));
  }
  // Where there are sources of contents (content_calls.cc).
  VfsOp<> settle(const FileRef& file, Attributes& now);
  VfsOp<Attributes> getattr_settled(const FileRef& file);
  VfsOp<Found> lookup_settled(const Credentials& who, const FileRef& directory, std::string_view name);
  VfsOp<std::uint32_t> access_settled(const Credentials& who, const FileRef& file, std::uint32_t wanted,
                                      std::optional<Attributes>& now);
  VfsOp<> setattr_with_content(const Credentials& who, const FileRef& file, const SetAttributes& set,
                               std::optional<Time> guard, Wcc* wcc);
  // Of a file that was made or found: what is to be known of its content, and the size that was asked for.
  enum class MadeContent : std::uint8_t { as_it_is, known, fresh };
  VfsOp<> finish_create(const Credentials& who, FileIo& io, MadeContent content,
                        std::optional<std::uint64_t> size, Attributes& attributes);
  VfsOp<Found> create_with_content(const Credentials& who, const FileRef& directory, std::string_view name,
                                   const CreateHow& how, Wcc& wcc);
  VfsOp<OpenFileRef> open_with_content(const Credentials& who, const FileRef& file, OpenAccess access,
                                       OpenRule rule);
  VfsOp<OpenCreated> open_create_with_content(const Credentials& who, const FileRef& directory,
                                              std::string_view name, OpenAccess access, const CreateHow& how,
                                              Wcc& wcc);
  VfsOp<> remove_with_content(const Credentials& who, const FileRef& directory, std::string_view name,
                              Wcc& wcc);
  VfsOp<> rename_with_content(const Credentials& who, const FileRef& from_directory,
                              std::string_view from_name, const FileRef& to_directory,
                              std::string_view to_name, Wcc& from_wcc, Wcc& to_wcc);
  VfsOp<FileSystemStatus> status_with_contents(const FileRef& file);
  // Runs `work` while the content of what is about to lose a name has heard of that; anew if the name means
  // something else by then.
  template <class F>
  VfsOp<> with_victim(const Credentials& who, const FileRef& directory, std::string_view name, F work);

  // Beside others who list it at the same time, or with them.
  VfsOp<bool> list_in_turn(const Credentials& who, const FileRef& directory,
                           const ReadDirectoryRequest& request, const EntrySink& sink);

  const base::Clock& clock_;
  io::SlabPool* const slabs_;
  const std::string directory_;
  Tree tree_;
  Placement placement_;
  Contents contents_;
};

}  // namespace braid::vfs::posix
