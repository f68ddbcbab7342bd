// In place of a file system whose directory is not where it was: nothing of what is there instead is shown.
#pragma once

#include <memory>
#include <utility>

#include "vfs/directory_identity.h"
#include "vfs/export_registry.h"
#include "vfs/file_system.h"

namespace braid::vfs {

// Answers `delay` to whatever is asked of an export, so that clients wait and go on when it is back. Knows
// the handle of the root, by which they mount. Thread-safe.
class UnavailableFileSystem final : public FileSystem {
 public:
  // `behind`: the file system that was served before, and still has files open for clients; or null.
  UnavailableFileSystem(const Registration& registered, std::shared_ptr<FileSystem> behind);
  // One that is to end when nobody has files open in it any more.
  struct LetGo {
    std::weak_ptr<FileSystem> file_system;
  };
  UnavailableFileSystem(const Registration& registered, LetGo behind);

  [[nodiscard]] FileRef root() const override { return root_; }
  // What was opened before can be given up.
  VfsOp<> close(OpenFileRef open) override;
  VfsOp<> unlock(const FileRef& file, LockOwnerId owner, LockRange range) override;

  VfsOp<FileRef> resolve(base::BytesView /*handle*/) override { return later(); }
  VfsOp<Attributes> getattr(const FileRef& /*file*/) override { return later(); }
  VfsOp<> setattr(const Credentials& /*who*/, const FileRef& /*file*/, const SetAttributes& /*set*/,
                  std::optional<Time> /*guard*/, Wcc* /*wcc*/) override {
    return later();
  }
  VfsOp<Found> lookup(const Credentials& /*who*/, const FileRef& /*directory*/,
                      std::string_view /*name*/) override {
    return later();
  }
  VfsOp<std::uint32_t> access(const Credentials& /*who*/, const FileRef& /*file*/, std::uint32_t /*wanted*/,
                              std::optional<Attributes>& /*now*/) override {
    return later();
  }
  VfsOp<io::Payload> readlink(const Credentials& /*who*/, const FileRef& /*link*/) override {
    return later();
  }
  Borrowed borrow(const Credentials& who, const FileRef& file) override;
  VfsOp<Found> create(const Credentials& /*who*/, const FileRef& /*directory*/, std::string_view /*name*/,
                      const CreateHow& /*how*/, Wcc& /*wcc*/) override {
    return later();
  }
  VfsOp<Found> mkdir(const Credentials& /*who*/, const FileRef& /*directory*/, std::string_view /*name*/,
                     const SetAttributes& /*set*/, Wcc& /*wcc*/) override {
    return later();
  }
  VfsOp<Found> symlink(const Credentials& /*who*/, const FileRef& /*directory*/, std::string_view /*name*/,
                       std::string_view /*target*/, const SetAttributes& /*set*/, Wcc& /*wcc*/) override {
    return later();
  }
  VfsOp<Found> mknod(const Credentials& /*who*/, const FileRef& /*directory*/, std::string_view /*name*/,
                     const SpecialFile& /*special*/, const SetAttributes& /*set*/, Wcc& /*wcc*/) override {
    return later();
  }
  VfsOp<> remove(const Credentials& /*who*/, const FileRef& /*directory*/, std::string_view /*name*/,
                 Wcc& /*wcc*/) override {
    return later();
  }
  VfsOp<> rmdir(const Credentials& /*who*/, const FileRef& /*directory*/, std::string_view /*name*/,
                Wcc& /*wcc*/) override {
    return later();
  }
  VfsOp<> rename(const Credentials& /*who*/, const FileRef& /*from_directory*/,
                 std::string_view /*from_name*/, const FileRef& /*to_directory*/,
                 std::string_view /*to_name*/, Wcc& /*from_wcc*/, Wcc& /*to_wcc*/) override {
    return later();
  }
  VfsOp<> link(const Credentials& /*who*/, const FileRef& /*file*/, const FileRef& /*directory*/,
               std::string_view /*name*/, Wcc& /*wcc*/) override {
    return later();
  }
  VfsOp<bool> readdir(const Credentials& /*who*/, const FileRef& /*directory*/,
                      const ReadDirectoryRequest& /*request*/, const EntrySink& /*sink*/) override {
    return later();
  }
  VfsOp<FileSystemStatus> status(const FileRef& /*file*/) override { return later(); }
  VfsOp<FileSystemLimits> limits(const FileRef& /*file*/) override { return later(); }
  VfsOp<OpenFileRef> open(const Credentials& /*who*/, const FileRef& /*file*/, OpenAccess /*access*/,
                          OpenRule /*rule*/) override {
    return later();
  }
  VfsOp<OpenCreated> open_create(const Credentials& /*who*/, const FileRef& /*directory*/,
                                 std::string_view /*name*/, OpenAccess /*access*/, const CreateHow& /*how*/,
                                 Wcc& /*wcc*/) override {
    return later();
  }
  VfsOp<std::optional<LockConflict>> lock(const OpenFileRef& /*open*/, LockOwnerId /*owner*/,
                                          LockRange /*range*/, LockType /*type*/) override {
    return later();
  }
  VfsOp<std::optional<LockConflict>> test_lock(const FileRef& /*file*/, LockOwnerId /*owner*/,
                                               LockRange /*range*/, LockType /*type*/) override {
    return later();
  }
  VfsOp<LeaseRef> lease(const OpenFileRef& /*open*/, LeaseType /*type*/, LeaseHolder /*holder*/,
                        LeaseBreak /*broken*/) override {
    return later();
  }
  VfsOp<LeaseRef> lease_directory(const FileRef& /*directory*/, LeaseHolder /*holder*/,
                                  LeaseBreak /*broken*/) override {
    return later();
  }
  VfsOp<io::Payload> get_xattr(const Credentials& /*who*/, const FileRef& /*file*/,
                               std::string_view /*name*/) override {
    return later();
  }
  VfsOp<> set_xattr(const Credentials& /*who*/, const FileRef& /*file*/, std::string_view /*name*/,
                    base::BytesView /*value*/, XattrMode /*mode*/, Wcc& /*wcc*/) override {
    return later();
  }
  VfsOp<bool> list_xattrs(const Credentials& /*who*/, const FileRef& /*file*/, std::uint64_t /*cookie*/,
                          const XattrSink& /*sink*/) override {
    return later();
  }
  VfsOp<> remove_xattr(const Credentials& /*who*/, const FileRef& /*file*/, std::string_view /*name*/,
                       Wcc& /*wcc*/) override {
    return later();
  }
  VfsOp<PosixAcl> get_acl(const FileRef& /*file*/) override { return later(); }
  VfsOp<> set_acl(const Credentials& /*who*/, const FileRef& /*file*/, const SetAcl& /*set*/,
                  Wcc* /*wcc*/) override {
    return later();
  }

 private:
  static base::Failure<Error> later() { return base::fail(Error::delay); }

  const std::shared_ptr<FileSystem> kept_;  // ends last: the root is its own
  const FileRef root_;
  const std::weak_ptr<FileSystem> behind_;
};

// The wire handle of the directory that is kept on record.
FileHandle root_handle(const Registration& registered);

}  // namespace braid::vfs
