#include "nfs4/ops/file_operations.h"

namespace braid::nfs4::ops {

Op4<READLINK4resok> readlink(Compound& compound) {
  const Place& at = compound.current();
  // RFC 8881 18.24.3; RFC 7530 16.25.4 has INVAL for it.
  const nfsstat4 no_link =
      compound.minor_version() == 0 ? nfsstat4::NFS4ERR_INVAL : nfsstat4::NFS4ERR_WRONG_TYPE;
  if (at.pseudo()) co_await refuse(no_link);
  const auto text = co_await at.fs().readlink(at.who, at.file).as_result();
  if (!text) co_await refuse(text.error() == vfs::Error::inval ? no_link : status_of(text.error()));
  const auto bytes = text->in_memory();
  bool fits = false;
  const std::span<char> copy = compound.arena().make<char>(text->size(), fits);
  if (!bytes || !fits) co_await refuse(nfsstat4::NFS4ERR_DELAY);
  bytes->copy_to(0, std::as_writable_bytes(copy));
  co_return READLINK4resok{std::string_view(copy.data(), copy.size())};
}

}  // namespace braid::nfs4::ops
