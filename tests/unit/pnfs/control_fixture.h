// The calling side of the control protocol and the one that is called, over TCP: what their tests share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/manual/manual_clock.h"
#include "pnfs/control_peer.h"
#include "pnfs/control_service.h"
#include "tests/unit/pnfs/caller.h"
#include "tests/unit/rpc/tcp_fixture.h"

namespace braid::pnfs::test {

using namespace std::chrono_literals;
using enum control_status;
using enum control_role;

inline constexpr base::Duration patience = 20s;

inline ClusterSecret secret_of(std::uint8_t byte) {
  return ClusterSecret::from(base::Bytes(32, std::byte{byte})).value();
}
inline base::Bytes bytes_of_text(std::string_view text) {
  const base::BytesView view = base::bytes_of(text);
  return {view.begin(), view.end()};
}
inline std::string text_of(const io::Payload& payload) {
  return std::string(base::text_of(payload.in_memory().value().bytes()));
}
inline Introduction metadata_server() {
  return {.role = ROLE_METADATA,
          .cluster = {std::byte{7}},
          .server = {},
          .name = "mds",
          .addresses = {{"tcp", "127.0.0.1.8.1"}}};
}
inline Introduction data_server(std::uint8_t number = 1) {
  return {.role = ROLE_DATA,
          .cluster = {},
          .server = {std::byte{number}},
          .name = "ds" + std::to_string(number),
          .addresses = {{"tcp", "127.0.0.1.8.2"}, {"rdma", "127.0.0.1.78.83"}}};
}

// Answers with what it was sent, unless told otherwise by the body.
class Echo final : public ControlHandler {
 public:
  control_status look_at(const control_hello& hello, const rpc::PeerAddress& /*peer*/) override {
    ++hellos;
    return hello.name == "unwanted" ? CONTROL_OTHER_SERVER : CONTROL_OK;
  }
  ControlOp<> admit(const ControlCaller& caller) override {
    ++admitted;
    if (caller.hello.name == "late") return base::fail(CONTROL_OTHER_SERVER);
    return base::Result<void, control_status>();
  }
  ControlOp<ControlAnswer> handle(const ControlRequest& request) override {
    ++calls;
    const std::string body = text_of(request.body);
    if (body == "delay") co_return base::fail(CONTROL_DELAY);
    if (body == "who") co_return ControlAnswer{bytes_of_text(request.from.hello.name), {}};
    if (body == "sleep") (void)co_await io::Reactor::current()->sleep(500ms).as_result();
    while (body == "wait" && !released) (void)co_await io::Reactor::current()->sleep(1ms).as_result();
    ++ended;
    co_return ControlAnswer{request.body.in_memory()->bytes(), request.bulk};
  }
  std::atomic<int> hellos{0}, admitted{0}, calls{0}, ended{0};
  std::atomic<bool> released{false};  // what waits ends
};

using Outcome = base::Result<std::string, PeerError>;

// A peer on a thread of its own.
class Peer {
 public:
  explicit Peer(const rpc::PeerAddress& to, std::uint8_t secret = 1, Introduction own = data_server(),
                control_status accepts = CONTROL_OK, const ControlPeerOptions& options = {})
      : secret_(secret_of(secret)) {
    on.thread.call([&] {
      peer_.emplace(
          over_tcp(*on.tcp), on.pool, to, secret_, [own] { return own; },
          [accepts](const Introduction&) { return accepts; }, options);
    });
  }
  ~Peer() {
    close();
    on.thread.call([this] { peer_.reset(); });
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  void close() {
    on.thread.await([this] { return peer_->close(); });
  }
  Outcome call(std::string_view body, std::string_view bulk = {}, base::Duration timeout = patience) {
    std::optional<Outcome> out;
    on.thread.await([&]() { return keep(out, body, bulk, timeout); });
    return *out;
  }
  // False: nothing may be said of the last call that failed, as it may run.
  bool outlast() {
    bool done = false;
    on.thread.await([&]() -> io::Op<> { done = (co_await peer_->outlast(last_).as_result()).has_value(); });
    return done;
  }
  // So many at once.
  std::vector<Outcome> calls(std::size_t count) {
    std::vector<std::optional<Outcome>> out(count);
    std::latch ended(static_cast<std::ptrdiff_t>(count));
    on.thread.call([&] {
      for (auto& one : out) io::spawn(gate_, keep_and_count(one, ended));
    });
    ended.wait();
    on.thread.await([this]() -> io::Op<> { co_await gate_.drained(); });
    std::vector<Outcome> all;
    all.reserve(count);
    for (const auto& one : out) all.push_back(one.value());
    return all;
  }
  template <class F>
  auto with(F f) {
    return on.thread.call([&] { return f(*peer_); });
  }
  Caller on;

 private:
  io::Payload payload(std::string_view text) {
    io::Payload out;
    while (!text.empty()) {
      const std::size_t step = std::min<std::size_t>(text.size(), io::small_slab_bytes);
      io::SlabRange range{on.pool.acquire(io::SlabSize::small).value(), 0, static_cast<std::uint32_t>(step)};
      std::ranges::copy(base::bytes_of(text.substr(0, step)), range.writable().begin());
      out.append(std::move(range));
      text.remove_prefix(step);
    }
    return out;
  }
  io::Op<> keep(std::optional<Outcome>& out, std::string_view body, std::string_view bulk,
                base::Duration timeout) {
    const ControlPeer::ReplyBytes room{.body = BODY_BYTES_MAX, .bulk = BULK_BYTES_MAX};
    auto reply = co_await peer_->call(bytes_of_text(body), payload(bulk), timeout, room).as_result();
    if (reply)
      out.emplace(text_of(reply->body) + text_of(reply->bulk));
    else
      out.emplace(std::unexpect, PeerError{.fault = reply.error().fault, .status = reply.error().status});
    if (!reply) last_ = reply.error();
  }
  io::Op<> keep_and_count(std::optional<Outcome>& out, std::latch& ended) {
    co_await keep(out, "one", {}, patience);
    ended.count_down();
  }

  const ClusterSecret secret_;
  std::optional<ControlPeer> peer_;
  PeerError last_;
  io::Gate gate_;
};

class ControlChannel : public testing::Test {
 protected:
  explicit ControlChannel(ControlServiceLimits limits = {}, ControlService::Own own = metadata_server)
      : service_(clock_, secret_, std::move(own), handler_, limits) {
    open();
  }
  void open() {
    const std::vector<rpc::Program> programs{service_.program()};
    rpc::test::TcpServerOptions options;
    options.tcp.record_bytes_max = 8 * base::MiB;
    options.reactors = 2;
    server_ = std::make_unique<rpc::test::TcpServer>(options, programs);
  }
  [[nodiscard]] const rpc::PeerAddress& address() const { return server_->address; }

  base::ManualClock clock_;
  const ClusterSecret secret_ = secret_of(1);
  Echo handler_;
  ControlService service_;
  std::unique_ptr<rpc::test::TcpServer> server_;
};

inline const PeerError unreachable{.fault = PeerFault::unreachable};
inline PeerError refused(control_status status) { return {PeerFault::refused, status}; }

}  // namespace braid::pnfs::test
