#include <optional>

#include "nfs4/ops/file_operations.h"

namespace braid::nfs4::ops {
namespace {

constexpr std::uint32_t basic =
    ACCESS4_READ | ACCESS4_LOOKUP | ACCESS4_MODIFY | ACCESS4_EXTEND | ACCESS4_DELETE | ACCESS4_EXECUTE;
constexpr std::uint32_t reading_xattrs = ACCESS4_XAREAD | ACCESS4_XALIST;
constexpr std::uint32_t xattrs = reading_xattrs | ACCESS4_XAWRITE;

// RFC 7530 16.1.4: what has no meaning for a type is not supported.
std::uint32_t meaningful(vfs::FileType type) {
  const std::uint32_t without =
      type == vfs::FileType::directory ? ACCESS4_EXECUTE : ACCESS4_LOOKUP | ACCESS4_DELETE;
  return (basic & ~without) | xattrs;
}

// RFC 8276 8.5: who may read a file may read its extended attributes, as for user.* of Linux; the same for
// writing.
std::uint32_t asked_of_file_system(std::uint32_t wanted) {
  std::uint32_t bits = wanted & basic;
  if ((wanted & reading_xattrs) != 0) bits |= vfs::AccessBits::read;
  if ((wanted & ACCESS4_XAWRITE) != 0) bits |= vfs::AccessBits::modify;
  return bits;
}

std::uint32_t answer_of(std::uint32_t wanted, std::uint32_t allowed) {
  std::uint32_t bits = wanted & allowed & basic;
  if ((allowed & vfs::AccessBits::read) != 0) bits |= wanted & reading_xattrs;
  if ((allowed & vfs::AccessBits::modify) != 0) bits |= wanted & ACCESS4_XAWRITE;
  return bits;
}

}  // namespace

Op4<ACCESS4resok> access(Compound& compound, const ACCESS4args& args) {
  static_assert(ACCESS4_READ == vfs::AccessBits::read && ACCESS4_LOOKUP == vfs::AccessBits::lookup &&
                ACCESS4_MODIFY == vfs::AccessBits::modify && ACCESS4_EXTEND == vfs::AccessBits::extend &&
                ACCESS4_DELETE == vfs::AccessBits::remove && ACCESS4_EXECUTE == vfs::AccessBits::execute);
  const std::uint32_t known = compound.minor_version() < 2 ? basic : basic | xattrs;
  if ((args.access & ~known) != 0) co_await refuse(nfsstat4::NFS4ERR_INVAL);
  const Place& at = compound.current();
  std::optional<vfs::Attributes>& seen = compound.seen();
  if (at.pseudo()) {
    const std::uint32_t supported = args.access & basic & meaningful(vfs::FileType::directory);
    co_return ACCESS4resok{supported, supported & (ACCESS4_READ | ACCESS4_LOOKUP)};
  }
  if (!seen) {
    const auto attributes = co_await at.attributes().as_result();
    if (!attributes) co_await refuse(attributes.error());
    seen = *attributes;
  }
  const std::uint32_t supported = args.access & meaningful(seen->type);
  const std::uint32_t asked = asked_of_file_system(supported);
  const auto allowed = co_await at.fs().access(at.who, at.file, asked, seen).as_result();
  if (!allowed) co_await refuse(allowed.error());
  co_return ACCESS4resok{supported, answer_of(supported, *allowed)};
}

}  // namespace braid::nfs4::ops
