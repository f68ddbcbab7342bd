#include "rpc/call_header.h"

#include <bit>
#include <cstring>

namespace braid::rpc {
namespace {

constexpr std::uint32_t machinename_bytes_max = 255;

// Words of a credential's body, which is one piece of memory.
class BodyReader {
 public:
  explicit BodyReader(base::BytesView body) : body_(body) {}
  bool word(std::uint32_t& out) {
    if (body_.size() < 4) return false;
    std::memcpy(&out, body_.data(), 4);
    if constexpr (std::endian::native == std::endian::little) out = __builtin_bswap32(out);
    body_ = body_.subspan(4);
    return true;
  }
  bool text(std::string_view& out, std::uint32_t limit) {
    std::uint32_t length;
    if (!word(length) || length > limit) return false;
    const std::size_t padded = (std::size_t{length} + 3) & ~std::size_t{3};
    if (padded > body_.size()) return false;
    out = base::text_of(body_.first(length));
    body_ = body_.subspan(padded);
    return true;
  }
  [[nodiscard]] bool at_end() const { return body_.empty(); }

 private:
  base::BytesView body_;
};

// RFC 5531 appendix A: authsys_parms, nothing before and nothing behind it.
bool decode_auth_sys(base::BytesView body, AuthSys& auth) {
  BodyReader in(body);
  std::uint32_t groups;
  if (!in.word(auth.stamp) || !in.text(auth.machinename, machinename_bytes_max) || !in.word(auth.uid) ||
      !in.word(auth.gid) || !in.word(groups) || groups > AuthSys::groups_max)
    return false;
  for (std::uint32_t i = 0; i < groups; ++i)
    if (!in.word(auth.group_list[i])) return false;
  auth.group_count = groups;
  return in.at_end();
}

auth_stat authenticate(std::uint32_t flavor, base::BytesView body, Auth& auth) {
  switch (flavor) {
    case static_cast<std::uint32_t>(auth_flavor::AUTH_NONE):
      return body.empty() ? auth_stat::AUTH_OK : auth_stat::AUTH_BADCRED;
    case static_cast<std::uint32_t>(auth_flavor::AUTH_SYS):
      return decode_auth_sys(body, auth.emplace<AuthSys>()) ? auth_stat::AUTH_OK : auth_stat::AUTH_BADCRED;
    default:
      // Among them AUTH_SHORT: no short-hand was ever given out, so the client has to start anew with the
      // long form.
      return auth_stat::AUTH_REJECTEDCRED;
  }
}

}  // namespace

HeaderOutcome decode_call_header(Call& call) {
  xdr::Decoder& in = call.args;
  std::uint32_t type;
  if (!in.u32(call.xid) || !in.u32(type)) return {};
  if (type == static_cast<std::uint32_t>(msg_type::REPLY)) return {HeaderVerdict::reply};
  std::uint32_t rpcvers;
  if (type != static_cast<std::uint32_t>(msg_type::CALL) || !in.u32(rpcvers)) return {};
  if (rpcvers != RPC_VERSION) return {HeaderVerdict::rpc_mismatch};
  std::uint32_t flavor;
  if (!in.u32(call.program) || !in.u32(call.version) || !in.u32(call.procedure) || !in.u32(flavor)) return {};
  base::BytesView body;
  std::uint32_t verifier_flavor = 0;
  base::BytesView verifier;
  if (!in.opaque(body, AUTH_BODY_BYTES_MAX)) {
    if (in.error() != xdr::Error::limit) return {};
    return {HeaderVerdict::auth_error, auth_stat::AUTH_BADCRED};
  }
  if (auth_stat why = authenticate(flavor, body, call.auth); why != auth_stat::AUTH_OK)
    return {HeaderVerdict::auth_error, why};
  if (!in.u32(verifier_flavor) || !in.opaque(verifier, AUTH_BODY_BYTES_MAX)) {
    if (in.error() != xdr::Error::limit) return {};
    return {HeaderVerdict::auth_error, auth_stat::AUTH_BADVERF};
  }
  // Both flavours that are served come with an AUTH_NONE verifier (RFC 5531 section 10.1 and appendix A).
  if (verifier_flavor != static_cast<std::uint32_t>(auth_flavor::AUTH_NONE) || !verifier.empty())
    return {HeaderVerdict::auth_error, auth_stat::AUTH_BADVERF};
  return {HeaderVerdict::call};
}

}  // namespace braid::rpc
