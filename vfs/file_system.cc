#include "vfs/file_system.h"

namespace braid::vfs {

VfsOp<OpenFileRef> FileSystem::open(const Credentials& /*who*/, const FileRef& /*file*/,
                                    OpenAccess /*access*/, OpenRule /*rule*/) {
  return base::fail(Error::notsupp);
}

VfsOp<OpenCreated> FileSystem::open_create(const Credentials& /*who*/, const FileRef& /*directory*/,
                                           std::string_view /*name*/, OpenAccess /*access*/,
                                           const CreateHow& /*how*/, Wcc& /*wcc*/) {
  return base::fail(Error::notsupp);
}

VfsOp<> FileSystem::close(OpenFileRef open) {
  open.reset();
  return io::ready_op<Error>();
}

VfsOp<std::optional<LockConflict>> FileSystem::lock(const OpenFileRef& /*open*/, LockOwnerId /*owner*/,
                                                    LockRange /*range*/, LockType /*type*/) {
  return base::fail(Error::notsupp);
}

VfsOp<std::optional<LockConflict>> FileSystem::test_lock(const FileRef& /*file*/, LockOwnerId /*owner*/,
                                                         LockRange /*range*/, LockType /*type*/) {
  return base::fail(Error::notsupp);
}

VfsOp<> FileSystem::unlock(const FileRef& /*file*/, LockOwnerId /*owner*/, LockRange /*range*/) {
  return base::fail(Error::notsupp);
}

// Implementations keep `broken`.
VfsOp<LeaseRef> FileSystem::lease(const OpenFileRef& /*open*/, LeaseType /*type*/, LeaseHolder /*holder*/,
                                  LeaseBreak /*broken*/) {  // NOLINT(performance-unnecessary-value-param)
  return base::fail(Error::notsupp);
}

VfsOp<LeaseRef> FileSystem::lease_directory(
    const FileRef& /*directory*/, LeaseHolder /*holder*/,
    LeaseBreak /*broken*/) {  // NOLINT(performance-unnecessary-value-param)
  return base::fail(Error::notsupp);
}

VfsOp<io::Payload> FileSystem::get_xattr(const Credentials& /*who*/, const FileRef& /*file*/,
                                         std::string_view /*name*/) {
  return base::fail(Error::notsupp);
}

VfsOp<> FileSystem::set_xattr(const Credentials& /*who*/, const FileRef& /*file*/, std::string_view /*name*/,
                              base::BytesView /*value*/, XattrMode /*mode*/, Wcc& /*wcc*/) {
  return base::fail(Error::notsupp);
}

VfsOp<bool> FileSystem::list_xattrs(const Credentials& /*who*/, const FileRef& /*file*/,
                                    std::uint64_t /*cookie*/, const XattrSink& /*sink*/) {
  return base::fail(Error::notsupp);
}

VfsOp<> FileSystem::remove_xattr(const Credentials& /*who*/, const FileRef& /*file*/,
                                 std::string_view /*name*/, Wcc& /*wcc*/) {
  return base::fail(Error::notsupp);
}

VfsOp<PosixAcl> FileSystem::get_acl(const FileRef& /*file*/) { return base::fail(Error::notsupp); }

VfsOp<> FileSystem::set_acl(const Credentials& /*who*/, const FileRef& /*file*/, const SetAcl& /*set*/,
                            Wcc* /*wcc*/) {
  return base::fail(Error::notsupp);
}

VfsOp<ContentRef> FileSystem::content(const FileRef& /*file*/) { return base::fail(Error::notsupp); }

VfsOp<ContentRef> FileSystem::exchange(const FileRef& /*file*/, ContentRef /*next*/) {  // NOLINT
  return base::fail(Error::notsupp);
}

VfsOp<ContentRef> FileSystem::place(const FileRef& /*file*/, ContentSource& /*source*/,
                                    PlacementHint /*hint*/) {
  return base::fail(Error::notsupp);
}

VfsOp<std::unique_ptr<Stub>> FileSystem::stub(const FileRef& /*file*/, ContentSource& /*source*/) {
  return base::fail(Error::notsupp);
}

}  // namespace braid::vfs
