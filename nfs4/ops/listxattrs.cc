#include <algorithm>

#include "nfs4/ops/extended_operations.h"

namespace braid::nfs4::ops {
namespace {

// lxr_cookie, the number of names, lxr_eof.
constexpr std::size_t listing_frame_bytes = 8 + 4 + 4;

std::size_t name_bytes(std::string_view name) { return 4 + (name.size() + 3) / 4 * 4; }

}  // namespace

Op4<XattrNames> listxattrs(Compound& compound, const LISTXATTRS4args& args) {
  const Place& at = *co_await compound.current_in_export(nfsstat4::NFS4ERR_NOTSUPP);
  // RFC 8276 8.4.3: the whole of LISTXATTRS4resok, XDR overhead included.
  const std::size_t room = std::min<std::size_t>(args.lxa_maxcount, compound.reply_bytes_left());
  XattrNames out{.cookie = args.lxa_cookie, .names = {}, .eof = false};
  std::size_t bytes = listing_frame_bytes;
  const vfs::XattrSink sink = [&](std::string_view name, std::uint64_t cookie) {
    if (bytes + name_bytes(name) > room) return false;
    bytes += name_bytes(name);
    out.names.emplace_back(name);
    out.cookie = cookie;
    return true;
  };
  const auto end = co_await at.fs().list_xattrs(at.who, at.file, args.lxa_cookie, sink).as_result();
  if (!end) co_await refuse(end.error());
  out.eof = *end;
  const bool nothing_fits = out.names.empty() && !out.eof;
  if (nothing_fits || room < listing_frame_bytes) co_await refuse(nfsstat4::NFS4ERR_TOOSMALL);
  co_return out;
}

void encode(xdr::Encoder& out, const XattrNames& result) {
  out.u64(result.cookie);
  out.u32(static_cast<std::uint32_t>(result.names.size()));
  for (const std::string& name : result.names) out.text(name);
  out.boolean(result.eof);
}

std::size_t encoded_size(const XattrNames& result) {
  std::size_t bytes = listing_frame_bytes;
  for (const std::string& name : result.names) bytes += name_bytes(name);
  return bytes;
}

}  // namespace braid::nfs4::ops
