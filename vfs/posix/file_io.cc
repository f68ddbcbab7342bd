#include "vfs/posix/file_io.h"

#include "vfs/posix/file_system.h"

namespace braid::vfs::posix {

VfsOp<WriteResult> FileIo::write(const Credentials& who, std::uint64_t offset, const io::Payload& data,
                                 Stability stability, Wcc* wcc) {
  const auto work = [this, &who, offset, &data, stability, wcc] {
    return data_.write(who, offset, data, stability, wcc);
  };
  return stability == Stability::unstable ? fs_.placement().run(Call::write, work)
                                          : fs_.placement().run_blocking(Call::sync, work);
}

// The range is not used: fsync(2) alone makes the metadata durable that the data needs.
VfsOp<Verifier> FileIo::commit(const Credentials& who, std::uint64_t /*offset*/, std::uint32_t /*count*/,
                               Wcc* wcc) {
  return fs_.placement().run_blocking(Call::sync, [this, &who, wcc] { return data_.commit(who, wcc); });
}

Verifier FileIo::write_verifier() const { return fs_.tree().write_verifier(); }

VfsOp<> FileIo::set(const Credentials& who, const SetAttributes& set, Wcc* wcc) {
  if (data_.lent()) {
    return fs_.change(fs_.tree().syncs(), [this, &who, &set, wcc] {
      return fs_.tree().setattr(who, data_.node(), set, std::nullopt, wcc);
    });
  }
  return fs_.change(fs_.tree().opens_sync(),
                    [this, &who, &set, wcc] { return fs_.tree().setattr(who, data_, set, wcc); });
}

}  // namespace braid::vfs::posix
