#include "tests/unit/rdma/test_program.h"

#include <algorithm>

#include "rpc/session.h"

namespace braid::rdma::test {
namespace {

constexpr std::uint32_t bytes_max = 1024 * 1024;

base::Result<io::Payload> patterned(io::SlabPool& pool, std::uint32_t bytes) {
  io::Payload out;
  for (std::size_t at = 0; at < bytes;) {
    auto slab = pool.acquire(io::SlabSize::small);
    if (!slab) return base::fail(slab.error());
    const auto here = static_cast<std::uint32_t>(std::min<std::size_t>(bytes - at, io::small_slab_bytes));
    io::SlabRange range{std::move(*slab), 0, here};
    for (std::size_t i = 0; i < here; ++i) range.writable()[i] = pattern(at + i);
    out.append(std::move(range));
    at += here;
  }
  return out;
}

io::Op<rpc::Answer> read(rpc::Service& service, rpc::Call& call, rpc::Reply& reply) {
  ++static_cast<TestService&>(service).calls;
  std::uint32_t count;
  if (!call.args.count(count, 16, 4)) return rpc::Answer::garbage_args;
  std::vector<std::uint32_t> lengths(count);
  for (std::uint32_t& length : lengths)
    if (!call.args.u32(length) || length > bytes_max) return rpc::Answer::garbage_args;
  xdr::Encoder& out = reply.begin();
  for (const std::uint32_t length : lengths) {
    auto data = patterned(call.cursor.pool(), length);
    if (!data) return rpc::Answer::system_err;
    out.ddp_payload(*data);
  }
  return rpc::Answer::success;
}

io::Op<rpc::Answer> write(rpc::Service& service, rpc::Call& call, rpc::Reply& reply) {
  ++static_cast<TestService&>(service).calls;
  io::Payload data;
  std::uint32_t after;
  if (!call.args.payload(data, bytes_max) || !call.args.u32(after)) return rpc::Answer::garbage_args;
  std::uint32_t sum = 0;
  for (const io::SlabRange& range : data.ranges()) {
    const base::BytesView bytes = range.memory().value();
    for (const std::byte byte : bytes) sum += std::to_integer<std::uint32_t>(byte);
  }
  xdr::Encoder& out = reply.begin();
  out.u32(static_cast<std::uint32_t>(data.size()));
  out.u32(sum);
  out.u32(after);
  return rpc::Answer::success;
}

io::Op<rpc::Answer> list(rpc::Service&, rpc::Call& call, rpc::Reply& reply) {
  std::uint32_t length;
  if (!call.args.u32(length) || length > bytes_max) return rpc::Answer::garbage_args;
  auto data = patterned(call.cursor.pool(), length);
  if (!data) return rpc::Answer::system_err;
  reply.begin().payload(*data);
  return rpc::Answer::success;
}

struct Release {
  TestService& service;
  [[nodiscard]] bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) { service.waiting.push_back(handle); }
  void await_resume() const {}
};

io::Op<rpc::Answer> wait(rpc::Service& service, rpc::Call&, rpc::Reply& reply) {
  co_await Release{static_cast<TestService&>(service)};
  reply.begin();
  co_return rpc::Answer::success;
}

io::Op<rpc::Answer> late(rpc::Service& service, rpc::Call& call, rpc::Reply& reply) {
  co_await Release{static_cast<TestService&>(service)};
  const rpc::Answer answer = co_await read(service, call, reply);
  co_return answer;
}

io::Op<rpc::Answer> way(rpc::Service& service, rpc::Call& call, rpc::Reply& reply) {
  static_cast<TestService&>(service).way_back = call.session->back_channel();
  reply.begin();
  return rpc::Answer::success;
}

constexpr rpc::Procedure procedures[] = {{.name = "NULL"},
                                         {.name = "READ", .handler = read, .reply_bytes_max = bytes_max},
                                         {.name = "WRITE", .handler = write},
                                         {.name = "LIST", .handler = list, .reply_bytes_max = bytes_max},
                                         {.name = "WAIT", .handler = wait},
                                         {.name = "WAY", .handler = way},
                                         {.name = "LATE", .handler = late, .reply_bytes_max = bytes_max}};
constexpr rpc::Version versions[] = {{1, procedures}};

}  // namespace

rpc::Program program_of(TestService& service) {
  return {.number = program_number, .name = "RDMA_TEST", .versions = versions, .service = &service};
}

}  // namespace braid::rdma::test
