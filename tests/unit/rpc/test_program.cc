#include "tests/unit/rpc/test_program.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <variant>

namespace braid::rpc::test {
namespace {

constexpr std::uint32_t echo_bytes_max = 1024 * 1024;

io::Op<Answer> echo(Service&, Call& call, Reply& reply) {
  io::Payload data;
  if (!call.args.payload(data, echo_bytes_max)) return Answer::garbage_args;
  reply.begin().payload(data);
  return Answer::success;
}

io::Op<Answer> count(Service& service, Call&, Reply& reply) {
  auto& test = static_cast<TestService&>(service);
  test.bulk_before_count = test.bulk.load();
  reply.begin().u32(++test.counted);
  return Answer::success;
}

io::Op<Answer> wait(Service& service, Call&, Reply& reply) {
  auto& test = static_cast<TestService&>(service);
  co_await test.until_released();
  reply.begin().u32(++test.waited);
  co_return Answer::success;
}

io::Op<Answer> garbage(Service&, Call&, Reply&) { return Answer::garbage_args; }
io::Op<Answer> fail(Service&, Call&, Reply&) { return Answer::system_err; }
io::Op<Answer> end_with_errno(Service&, Call&, Reply&) { return base::fail(EIO); }

io::Op<Answer> bulk(Service& service, Call& call, Reply& reply) {
  auto& test = static_cast<TestService&>(service);
  ++test.bulk;
  if (test.at_bulk) test.at_bulk();
  std::uint32_t left;
  if (!call.args.u32(left) || left > TestService::bulk_bytes_max) return Answer::garbage_args;
  io::Payload data;
  while (left > 0) {
    const auto step = std::min<std::uint32_t>(left, io::small_slab_bytes);
    auto range = call.cursor.carve(step);
    if (!range) return Answer::system_err;
    std::memset(range->writable().data(), 0x5a, step);
    data.append(std::move(*range));
    left -= step;
  }
  reply.begin().payload(data);
  return Answer::success;
}

io::Op<Answer> who(Service&, Call& call, Reply& reply) {
  xdr::Encoder& out = reply.begin();
  const auto* sys = std::get_if<AuthSys>(&call.auth);
  out.u32(sys == nullptr ? 0 : 1);
  out.u32(sys == nullptr ? 0 : sys->uid);
  out.u32(sys == nullptr ? 0 : sys->gid);
  out.u32(sys == nullptr ? 0 : sys->group_count);
  if (sys != nullptr)
    for (const std::uint32_t group : sys->groups()) out.u32(group);
  return Answer::success;
}

io::Op<Answer> sleepy(Service&, Call& call, Reply& reply) {
  io::Payload data;
  if (!call.args.payload(data, echo_bytes_max)) co_return Answer::garbage_args;
  struct Turn {
    [[nodiscard]] bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
      io::ReadyQueue::current().push(io::ReadyItem::of(handle));
    }
    void await_resume() const {}
  };
  co_await Turn{};
  reply.begin().payload(data);
  co_return Answer::success;
}

io::Op<Answer> too_weak(Service&, Call&, Reply&) { return Answer::auth_tooweak; }

io::Op<Answer> piped(Service& service, Call& call, Reply& reply) {
  auto& test = static_cast<TestService&>(service);
  std::uint32_t count;
  if (!call.args.u32(count) || count > TestService::bulk_bytes_max) return Answer::garbage_args;
  if (call.pipes == nullptr) return Answer::system_err;
  auto slab = call.pipes->take();
  if (!slab) return Answer::system_err;
  if (slab->pipe()->fill(test.file, 0, count) != count) return Answer::system_err;
  ++test.piped;
  reply.begin().payload(io::Payload(io::SlabRange{std::move(*slab), 0, count}));
  return Answer::success;
}

std::optional<std::uint32_t> store_bulk(xdr::Decoder& args) {
  std::uint32_t where, bytes;
  if (!args.u32(where) || !args.u32(bytes)) return std::nullopt;
  return bytes;
}

io::Op<Answer> store(Service& service, Call& call, Reply& reply) {
  auto& test = static_cast<TestService&>(service);
  std::uint32_t where, last;
  io::Payload data;
  if (!call.args.u32(where) || !call.args.payload(data, TestService::bulk_bytes_max) || !call.args.u32(last))
    return Answer::garbage_args;
  if (data.piped()) ++test.piped;
  std::uint64_t at = where;
  for (const io::SlabRange& range : data.ranges()) {
    if (io::Pipe* pipe = range.slab.pipe(); pipe != nullptr) {
      if (pipe->drain_to_file(test.file, at, range.length) != range.length) return Answer::system_err;
    } else if (::pwrite(test.file, range.memory().value().data(), range.length, static_cast<off_t>(at)) !=
               static_cast<ssize_t>(range.length)) {
      return Answer::system_err;
    }
    at += range.length;
  }
  reply.begin().u32(last);
  return Answer::success;
}

constexpr std::array<Procedure, 15> procedures{{
    {.name = "NULL"},
    {.name = "ECHO", .handler = echo, .reply_bytes_max = echo_bytes_max},
    {.name = "COUNT", .handler = count, .replay = Replay::cached, .reply_bytes_max = 4},
    {.name = "HOLE"},
    {.name = "WAIT", .handler = wait, .replay = Replay::cached, .reply_bytes_max = 4},
    {.name = "GARBAGE", .handler = garbage},
    {.name = "FAIL", .handler = fail, .replay = Replay::cached},
    {.name = "BULK", .handler = bulk, .reply_bytes_max = TestService::bulk_bytes_max},
    {.name = "WHO", .handler = who, .reply_bytes_max = 128},
    {.name = "ERRNO", .handler = end_with_errno},
    {.name = "SLEEPY", .handler = sleepy, .reply_bytes_max = echo_bytes_max},
    {.name = "WEAK", .handler = too_weak, .replay = Replay::cached},
    {.name = "PIPED", .handler = piped, .reply_bytes_max = TestService::bulk_bytes_max},
    {.name = "STORE", .handler = store, .reply_bytes_max = 4, .bulk = store_bulk},
    {.name = "PIPED_KEPT",
     .handler = piped,
     .replay = Replay::cached,
     .reply_bytes_max = TestService::bulk_bytes_max},
}};
constexpr std::array<Version, 2> versions{{
    {.number = version_high, .procedures = procedures},
    {.number = version_low, .procedures = procedures},
}};

}  // namespace

std::span<const Version> test_versions() { return versions; }

}  // namespace braid::rpc::test
