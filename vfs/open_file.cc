#include "vfs/open_file.h"

#include "vfs/content_slot.h"

namespace braid::vfs {

VfsOp<ReadResult> OpenFile::read(std::uint64_t /*offset*/, std::uint32_t /*count*/, ReadMemory /*memory*/) {
  return base::fail(Error::notsupp);
}

VfsOp<WriteResult> OpenFile::write(const Credentials& /*who*/, std::uint64_t /*offset*/,
                                   const io::Payload& /*data*/, Stability /*stability*/, Wcc* /*wcc*/) {
  return base::fail(Error::notsupp);
}

VfsOp<Verifier> OpenFile::commit(const Credentials& /*who*/, std::uint64_t /*offset*/,
                                 std::uint32_t /*count*/, Wcc* /*wcc*/) {
  return base::fail(Error::notsupp);
}

VfsOp<> OpenFile::set(const Credentials& /*who*/, const SetAttributes& /*set*/, Wcc* /*wcc*/) {
  return base::fail(Error::notsupp);
}

VfsOp<SeekResult> OpenFile::seek(std::uint64_t /*offset*/, SeekTo /*what*/, std::uint64_t /*until*/) {
  return base::fail(Error::notsupp);
}

VfsOp<> OpenFile::allocate(const Credentials& /*who*/, std::uint64_t /*offset*/, std::uint64_t /*length*/) {
  return base::fail(Error::notsupp);
}

VfsOp<> OpenFile::deallocate(const Credentials& /*who*/, std::uint64_t /*offset*/, std::uint64_t /*length*/) {
  return base::fail(Error::notsupp);
}

VfsOp<> OpenFile::clone_from(const Credentials& /*who*/, OpenFile& /*from*/, std::uint64_t /*from_offset*/,
                             std::uint64_t /*to_offset*/, std::uint64_t /*length*/) {
  return base::fail(Error::notsupp);
}

VfsOp<std::uint64_t> OpenFile::copy_from(const Credentials& /*who*/, OpenFile& /*from*/,
                                         std::uint64_t /*from_offset*/, std::uint64_t /*to_offset*/,
                                         std::uint64_t /*length*/) {
  return base::fail(Error::notsupp);
}

VfsOp<> OpenFile::advise(std::uint64_t /*offset*/, std::uint64_t /*length*/, Advice /*advice*/) {
  return base::fail(Error::notsupp);
}

VfsOp<ContentHold> OpenFile::hold_content() { return base::fail(Error::notsupp); }

}  // namespace braid::vfs
