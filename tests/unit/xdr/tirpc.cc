#include "tests/unit/xdr/tirpc.h"

#include <rpc/rpc.h>

#include <array>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

#include "base/assert.h"

namespace braid::xdr_tests::tirpc {
namespace {

constexpr u_int stream_bytes = 65536;

// What `write(stream)` writes.
template <class F>
base::Bytes written(F write) {
  base::Bytes bytes(stream_bytes);
  XDR stream;
  xdrmem_create(&stream, reinterpret_cast<char*>(bytes.data()), stream_bytes, XDR_ENCODE);
  base::check(write(&stream) != 0, "libtirpc encodes");
  bytes.resize(xdr_getpos(&stream));
  xdr_destroy(&stream);
  return bytes;
}

// Element routines of the type that libtirpc calls them with.
bool_t code_int(XDR* stream, ...) {
  va_list arguments;
  va_start(arguments, stream);
  int* number = va_arg(arguments, int*);
  va_end(arguments);
  return xdr_int(stream, number);
}
bool_t code_void(XDR*, ...) { return TRUE; }

bool_t code_bytes(XDR* stream, std::string& text, u_int limit) {
  char* data = stream->x_op == XDR_ENCODE ? text.data() : nullptr;
  u_int length = static_cast<u_int>(text.size());
  if (!xdr_bytes(stream, &data, &length, limit)) return FALSE;
  if (stream->x_op == XDR_DECODE) {
    text.assign(data, length);
    std::free(data);
  }
  return TRUE;
}

bool_t code_text(XDR* stream, std::string& text, u_int limit) {
  char* data = stream->x_op == XDR_ENCODE ? text.data() : nullptr;
  if (!xdr_string(stream, &data, limit)) return FALSE;
  if (stream->x_op == XDR_DECODE) {
    text = data;
    std::free(data);
  }
  return TRUE;
}

bool_t code_strings(XDR* stream, Strings& strings) {
  strings.fixed.resize(5);
  return xdr_opaque(stream, strings.fixed.data(), 5) && code_bytes(stream, strings.variable, 10) &&
         code_bytes(stream, strings.open, 255) && code_bytes(stream, strings.tighter, 4) &&
         code_text(stream, strings.text, 8);
}

}  // namespace

base::Bytes encode(const Numbers& numbers) {
  return written([n = numbers](XDR* stream) mutable {
    bool_t h = n.h ? TRUE : FALSE;
    enum_t i = n.i;
    enum_t j = static_cast<enum_t>(n.j);
    quad_t d = n.d;
    u_quad_t e = n.e;
    return xdr_int(stream, &n.a) && xdr_u_int(stream, &n.b) && xdr_u_int(stream, &n.c) &&
           xdr_hyper(stream, &d) && xdr_u_hyper(stream, &e) && xdr_float(stream, &n.f) &&
           xdr_double(stream, &n.g) && xdr_bool(stream, &h) && xdr_enum(stream, &i) && xdr_enum(stream, &j);
  });
}

base::Bytes encode(const Strings& strings) {
  return written([copy = strings](XDR* stream) mutable { return code_strings(stream, copy); });
}

std::optional<Strings> decode_strings(base::Bytes bytes) {
  XDR stream;
  xdrmem_create(&stream, reinterpret_cast<char*>(bytes.data()), static_cast<u_int>(bytes.size()), XDR_DECODE);
  Strings strings;
  if (!code_strings(&stream, strings) || xdr_getpos(&stream) != bytes.size()) return std::nullopt;
  return strings;
}

base::Bytes encode_array(std::vector<std::int32_t> numbers) {
  return written([&](XDR* stream) {
    char* data = reinterpret_cast<char*>(numbers.data());
    u_int count = static_cast<u_int>(numbers.size());
    return xdr_array(stream, &data, &count, 4, sizeof(std::int32_t), code_int);
  });
}

base::Bytes encode_optional(std::optional<std::int32_t> number) {
  return written([&](XDR* stream) {
    char* data = number ? reinterpret_cast<char*>(&*number) : nullptr;
    return xdr_pointer(stream, &data, sizeof(std::int32_t), code_int);
  });
}

base::Bytes encode_union(std::int32_t discriminant, std::int32_t number) {
  const std::array<xdr_discrim, 4> arms{{{0, code_int}, {10, code_int}, {-5, code_int}, {0, nullptr}}};
  return written([&](XDR* stream) {
    enum_t tag = discriminant;
    return xdr_union(stream, &tag, reinterpret_cast<char*>(&number), arms.data(), nullptr);
  });
}

base::Bytes encode(const Call& call) {
  rpc_msg message{};
  message.rm_xid = call.xid;
  message.rm_direction = CALL;
  message.rm_call.cb_rpcvers = RPC_MSG_VERSION;
  message.rm_call.cb_prog = call.program;
  message.rm_call.cb_vers = call.version;
  message.rm_call.cb_proc = call.procedure;
  std::string body = call.credential;
  message.rm_call.cb_cred.oa_flavor = static_cast<enum_t>(call.flavor);
  message.rm_call.cb_cred.oa_base = body.data();
  message.rm_call.cb_cred.oa_length = static_cast<u_int>(body.size());
  message.rm_call.cb_verf.oa_flavor = AUTH_NONE;
  return written([&](XDR* stream) { return xdr_callmsg(stream, &message); });
}

base::Bytes encode(const Reply& reply) {
  rpc_msg message{};
  message.rm_xid = reply.xid;
  message.rm_direction = REPLY;
  message.rm_reply.rp_stat = reply.denied ? MSG_DENIED : MSG_ACCEPTED;
  if (reply.denied) {
    rejected_reply& rejected = message.rm_reply.rp_rjct;
    rejected.rj_stat = static_cast<reject_stat>(reply.status);
    if (rejected.rj_stat == RPC_MISMATCH) {
      rejected.rj_vers.low = reply.low;
      rejected.rj_vers.high = reply.high;
    } else {
      rejected.rj_why = static_cast<auth_stat>(reply.auth_status);
    }
  } else {
    accepted_reply& accepted = message.rm_reply.rp_acpt;
    accepted.ar_stat = static_cast<accept_stat>(reply.status);
    if (accepted.ar_stat == SUCCESS) {
      accepted.ar_results.proc = code_void;
    } else {
      accepted.ar_vers.low = reply.low;
      accepted.ar_vers.high = reply.high;
    }
  }
  return written([&](XDR* stream) { return xdr_replymsg(stream, &message); });
}

base::Bytes encode(const Unix& credential) {
  Unix copy = credential;
  authunix_parms parms{};
  parms.aup_time = copy.stamp;
  parms.aup_machname = copy.machine.data();
  parms.aup_uid = copy.uid;
  parms.aup_gid = copy.gid;
  parms.aup_len = static_cast<u_int>(copy.groups.size());
  parms.aup_gids = copy.groups.data();
  return written([&](XDR* stream) { return xdr_authunix_parms(stream, &parms); });
}

}  // namespace braid::xdr_tests::tirpc
