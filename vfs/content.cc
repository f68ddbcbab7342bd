#include "vfs/content.h"

namespace braid::vfs {

VfsOp<std::optional<Stub::Inherited>> Stub::inherited(std::string_view /*attribute*/) {
  return std::optional<Inherited>();
}

VfsOp<std::optional<base::Bytes>> Stub::record() { return base::fail(Error::notsupp); }

VfsOp<Writers> Stub::writers(bool /*restless*/) { return base::fail(Error::notsupp); }

base::Result<void, Error> Stub::sync_own() { return base::fail(Error::notsupp); }

base::Result<void, Error> Stub::hide_changes() { return base::fail(Error::notsupp); }

base::Result<std::optional<HiddenChanges>, Error> Stub::hidden() { return std::nullopt; }

base::Result<void, Error> Stub::punch_own(std::uint64_t /*offset*/, std::uint64_t /*length*/) {
  return base::fail(Error::notsupp);
}

base::Result<WriteResult, Error> Stub::write_own(const Credentials& /*who*/, int /*fd*/,
                                                 std::uint64_t /*offset*/, const io::Payload& /*data*/,
                                                 const Edges& /*edges*/, Stability /*stability*/) {
  return base::fail(Error::notsupp);
}

base::Result<Verifier, Error> Stub::commit_own(bool /*record*/) { return base::fail(Error::notsupp); }

base::Result<void, Error> Stub::resize_own(const Credentials& /*who*/, int /*fd*/, std::uint64_t /*size*/) {
  return base::fail(Error::notsupp);
}

base::Result<void, Error> Stub::space_own(const Credentials& /*who*/, int /*fd*/, std::uint64_t /*offset*/,
                                          std::uint64_t /*length*/, bool /*hole*/) {
  return base::fail(Error::notsupp);
}

bool Content::locate(std::uint64_t /*offset*/, std::uint32_t /*count*/, const Look& /*look*/,
                     Located& /*where*/) {
  return false;
}

bool Content::as_plain(std::uint64_t /*offset*/, std::uint64_t /*length*/, Steps /*steps*/,
                       const Look& /*look*/, const std::function<void()>& /*work*/) {
  return false;
}

VfsOp<SeekResult> Content::seek(Stub& /*stub*/, std::uint64_t /*offset*/, SeekTo /*what*/,
                                std::uint64_t /*until*/) {
  return base::fail(Error::notsupp);
}

VfsOp<> Content::allocate(Stub& /*stub*/, const Credentials& /*who*/, std::uint64_t /*offset*/,
                          std::uint64_t /*length*/) {
  return base::fail(Error::notsupp);
}

VfsOp<> Content::deallocate(Stub& /*stub*/, const Credentials& /*who*/, std::uint64_t /*offset*/,
                            std::uint64_t /*length*/) {
  return base::fail(Error::notsupp);
}

VfsOp<> Content::clone_from(Stub& /*stub*/, const Credentials& /*who*/, const Range& /*from*/,
                            std::uint64_t /*to_offset*/) {
  return base::fail(Error::notsupp);
}

VfsOp<std::uint64_t> Content::copy_from(Stub& /*stub*/, const Credentials& /*who*/, const Range& /*from*/,
                                        std::uint64_t /*to_offset*/) {
  return base::fail(Error::notsupp);
}

VfsOp<> Content::settle(Stub& /*stub*/) { return io::ready_op<Error>(); }

void Content::adjust(Attributes& /*attributes*/) const {}

VfsOp<> ContentSource::adjust(FileSystemStatus& /*status*/) { return io::ready_op<Error>(); }

void ContentSource::limit(FileSystemLimits& /*limits*/) const {}

void ContentSource::changing(const FileHandle& /*file*/) {}

void ContentSource::adjust_unloaded(const FileHandle& /*file*/, Attributes& /*attributes*/) const {}

}  // namespace braid::vfs
