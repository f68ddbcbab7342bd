// Headers of RPC messages: what the hand-written decoder of calls accepts, the generated codec accepts too,
// with the same meaning. Input: how the message is cut into slabs, then the message.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/assert.h"
#include "base/bytes.h"
#include "io/slab.h"
#include "rpc/call_header.h"

namespace {

using braid::base::BytesView;
using braid::base::check;
using namespace braid;

io::Payload in_pieces(io::SlabPool& pool, BytesView bytes, std::size_t piece) {
  io::Payload out;
  while (!bytes.empty()) {
    const std::size_t here = std::min(piece, bytes.size());
    io::SlabRange range{pool.acquire(io::SlabSize::small).value(), 0, static_cast<std::uint32_t>(here)};
    std::ranges::copy(bytes.first(here), range.writable().begin());
    out.append(std::move(range));
    bytes = bytes.subspan(here);
  }
  return out;
}

void compare(const rpc::Call& call, const io::Payload& message) {
  xdr::Arena arena;
  xdr::Decoder in(message, arena);
  rpc::rpc_msg generated;
  check(decode(in, generated), "the generated codec accepts the header");
  const rpc::call_body* body = generated.body.cbody();
  check(body != nullptr && generated.xid == call.xid && body->prog == call.program &&
            body->vers == call.version && body->proc == call.procedure,
        "both read the same call");
  check(in.position() == call.args.position(), "both find the arguments at the same place");
  const auto* sys = std::get_if<rpc::AuthSys>(&call.auth);
  if (sys == nullptr) return;
  check(sys->groups().size() <= rpc::AuthSys::groups_max && sys->machinename.size() <= 255, "limits hold");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static io::SlabPool pool({.bytes_max = 512 * base::MiB, .huge_pages = false});
  const BytesView message = std::as_bytes(std::span(data, size)).subspan(1);
  const std::size_t piece = data[0] == 0 ? io::small_slab_bytes : data[0];
  if (message.size() / piece > 256) return 0;
  io::SlabCursor cursor(pool);
  rpc::Call call(in_pieces(pool, message, piece), rpc::PeerAddress{}, cursor);
  const rpc::HeaderOutcome outcome = rpc::decode_call_header(call);
  check((outcome.verdict == rpc::HeaderVerdict::auth_error) == (outcome.why != rpc::auth_stat::AUTH_OK),
        "a refused credential has a reason");
  if (outcome.verdict == rpc::HeaderVerdict::call) compare(call, call.message);
  if (outcome.verdict == rpc::HeaderVerdict::reply) {
    xdr::Arena arena;
    xdr::Decoder in(call.message, arena);
    rpc::rpc_msg reply;
    (void)decode(in, reply);
  }
  return 0;
}
