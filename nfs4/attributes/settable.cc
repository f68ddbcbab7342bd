#include "nfs4/attributes/settable.h"

#include "nfs4/attributes/table.h"
#include "nfs4/attributes/take.h"

namespace braid::nfs4::attributes {
namespace {

constexpr std::uint32_t nanoseconds_per_second = 1'000'000'000;
constexpr std::uint32_t permission_bits = 0777;

nfsstat4 take_time(xdr::Decoder& in, vfs::Time& out) {
  nfstime4 time;
  if (!decode(in, time)) return nfsstat4::NFS4ERR_BADXDR;
  // RFC 8881 section 3.3.1: nseconds beyond 999,999,999 are invalid.
  if (time.nseconds >= nanoseconds_per_second) return nfsstat4::NFS4ERR_INVAL;
  out = {time.seconds, time.nseconds};
  return nfsstat4::NFS4_OK;
}

nfsstat4 take_set_time(xdr::Decoder& in, vfs::SetTime& out) {
  std::uint32_t how = 0;
  if (!in.u32(how)) return nfsstat4::NFS4ERR_BADXDR;
  switch (static_cast<time_how4>(how)) {
    case time_how4::SET_TO_SERVER_TIME4:
      out.how = vfs::SetTime::How::server;
      return nfsstat4::NFS4_OK;
    case time_how4::SET_TO_CLIENT_TIME4:
      out.how = vfs::SetTime::How::client;
      return take_time(in, out.value);
  }
  return nfsstat4::NFS4ERR_BADXDR;
}

nfsstat4 take_text(xdr::Decoder& in, std::optional<std::string_view>& out) {
  return in.text(out.emplace(), NFS4_OPAQUE_LIMIT) ? nfsstat4::NFS4_OK : nfsstat4::NFS4ERR_BADXDR;
}

}  // namespace

nfsstat4 take_size(xdr::Decoder& in, SetRequest& out) {
  return in.u64(out.size.emplace()) ? nfsstat4::NFS4_OK : nfsstat4::NFS4ERR_BADXDR;
}

nfsstat4 take_acl(xdr::Decoder& in, SetRequest& out) {
  return decode_fattr4_acl(in, out.acl.emplace()) ? nfsstat4::NFS4_OK : nfsstat4::NFS4ERR_BADXDR;
}

nfsstat4 take_mode(xdr::Decoder& in, SetRequest& out) {
  if (!in.u32(out.mode.emplace())) return nfsstat4::NFS4ERR_BADXDR;
  // RFC 8881 section 6.2.4: undefined bits are invalid.
  return (*out.mode & ~mode_bits) == 0 ? nfsstat4::NFS4_OK : nfsstat4::NFS4ERR_INVAL;
}

nfsstat4 take_owner(xdr::Decoder& in, SetRequest& out) { return take_text(in, out.owner); }
nfsstat4 take_group(xdr::Decoder& in, SetRequest& out) { return take_text(in, out.group); }
nfsstat4 take_atime(xdr::Decoder& in, SetRequest& out) { return take_set_time(in, out.atime); }
nfsstat4 take_mtime(xdr::Decoder& in, SetRequest& out) { return take_set_time(in, out.mtime); }

nfsstat4 take_mode_set_masked(xdr::Decoder& in, SetRequest& out) {
  mode_masked4& masked = out.mode_masked.emplace();
  if (!decode(in, masked)) return nfsstat4::NFS4ERR_BADXDR;
  // RFC 8881 section 6.2.5: value bits outside of the mask are ignored, but must be defined.
  const std::uint32_t all = masked.mm_value_to_set | masked.mm_mask_bits;
  return (all & ~mode_bits) == 0 ? nfsstat4::NFS4_OK : nfsstat4::NFS4ERR_INVAL;
}

nfsstat4 take_mode_umask(xdr::Decoder& in, SetRequest& out) {
  mode_umask4 value;
  if (!decode(in, value)) return nfsstat4::NFS4ERR_BADXDR;
  out.mode = value.mu_mode;
  out.umask = value.mu_umask;
  const bool defined = (value.mu_mode & ~mode_bits) == 0 && (value.mu_umask & ~permission_bits) == 0;
  return defined ? nfsstat4::NFS4_OK : nfsstat4::NFS4ERR_INVAL;
}

nfsstat4 take_delegated_atime(xdr::Decoder& in, SetRequest& out) {
  return take_time(in, out.delegated_atime.emplace());
}
nfsstat4 take_delegated_mtime(xdr::Decoder& in, SetRequest& out) {
  return take_time(in, out.delegated_mtime.emplace());
}

base::Result<SetRequest, nfsstat4> decode_settable(const fattr4& attributes, const Bitmap& supported,
                                                   const Bitmap& settable, xdr::Arena& arena) {
  const Bitmap named = Bitmap::of_wire(attributes.attrmask);
  if (!named.within(supported)) return base::fail(nfsstat4::NFS4ERR_ATTRNOTSUPP);
  if (!named.within(settable)) return base::fail(nfsstat4::NFS4ERR_INVAL);
  // RFC 8275 section 5 and RFC 8881 section 6.2.5: one way of setting the mode at a time.
  if ((named & Bitmap{FATTR4_MODE, FATTR4_MODE_UMASK, FATTR4_MODE_SET_MASKED}).count() > 1)
    return base::fail(nfsstat4::NFS4ERR_INVAL);
  SetRequest request;
  request.named = named;
  xdr::Decoder in(attributes.attr_vals, arena);
  nfsstat4 status = nfsstat4::NFS4_OK;
  named.for_each([&](std::uint32_t number) {
    if (status == nfsstat4::NFS4_OK) status = rows()[number].take(in, request);
  });
  if (in.error() == xdr::Error::memory) return base::fail(nfsstat4::NFS4ERR_DELAY);
  if (status != nfsstat4::NFS4_OK) return base::fail(status);
  if (in.remaining() != 0) return base::fail(nfsstat4::NFS4ERR_BADXDR);
  return request;
}

}  // namespace braid::nfs4::attributes
