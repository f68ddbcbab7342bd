// Makes an RPC handler out of a procedure: decodes the arguments, runs it, encodes the arm that it ended
// with.
#pragma once

#include <array>
#include <chrono>
#include <type_traits>
#include <utility>

#include "io/reactor.h"
#include "nfs3/op3.h"
#include "nfs3/request.h"
#include "nfs3/service.h"
#include "rpc/program.h"
#include "xdr/encoder.h"

namespace braid::nfs3 {

inline void encode(xdr::Encoder&, const Nothing&) {}

template <class Procedure>
struct Signature;
template <class Ok, class Fail, class Arguments>
struct Signature<Op3<Ok, Fail> (*)(Request&, const Arguments&)> {
  using Args = Arguments;
};

template <class Ok, class Fail>
rpc::Answer answer(rpc::Reply& reply, const base::Result<Ok, Failed<Fail>>& result) {
  const nfsstat3 status = result ? nfsstat3::NFS3_OK : result.error().status;
  reply.status = static_cast<std::uint32_t>(status);
  xdr::Encoder& out = reply.begin();
  encode(out, status);
  if (result)
    encode(out, *result);
  else
    encode(out, result.error().body);
  return out.ok() ? rpc::Answer::success : rpc::Answer::system_err;
}

// Calls the procedure again while it ends with NFS3ERR_JUKEBOX, which means that it has done nothing: most
// often a delegation is in its way, which the NFSv4 client returns within milliseconds. Linux, told so, would
// come back after five seconds. For a bit more than a second in all.
template <auto procedure, class Args>
std::invoke_result_t<decltype(procedure), Request&, const Args&> call_again(Request& request,
                                                                            const Args& args) {
  using namespace std::chrono_literals;
  constexpr std::array<base::Duration, 8> pauses{5ms, 10ms, 20ms, 40ms, 80ms, 160ms, 320ms, 640ms};
  for (const base::Duration pause : pauses) {
    (void)co_await io::Reactor::current()->sleep(pause).as_result();
    auto result = co_await procedure(request, args).as_result();
    if (result || result.error().status != nfsstat3::NFS3ERR_JUKEBOX || pause == pauses.back())
      co_return std::move(result);
  }
  std::unreachable();
}

// Bytes after the arguments are ignored, as other servers do: some clients pad their calls.
template <auto procedure>
io::Op<rpc::Answer> glue(rpc::Service& service, rpc::Call& call, rpc::Reply& reply) {
  typename Signature<decltype(procedure)>::Args args;
  if (!decode(call.args, args)) co_return rpc::Answer::garbage_args;
  Request request(static_cast<const Nfs3Service&>(service), call);
  auto result = co_await procedure(request, args).as_result();
  // Tests without a loop cannot wait.
  if (!result && result.error().status == nfsstat3::NFS3ERR_JUKEBOX && io::Reactor::current() != nullptr)
    result = co_await call_again<procedure>(request, args).as_result();
  request.ended(result ? nfsstat3::NFS3_OK : result.error().status);
  co_return answer(reply, result);
}

}  // namespace braid::nfs3
