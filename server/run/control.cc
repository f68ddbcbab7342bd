#include "server/run/control.h"

#include <csignal>
#include <utility>

#include "base/log.h"
#include "rpc/peer_account.h"
#include "rpc/socket_address.h"
#include "server/metrics/http.h"
#include "server/run/admin_commands.h"
#include "server/server.h"

namespace braid::server::run {

namespace {

// A peer, as connections of clients are counted.
std::string peer_at(int socket) {
  const auto peer = rpc::peer_of(socket);
  return peer ? rpc::text_of(rpc::peer_key(*peer)) : std::string();
}

}  // namespace

Control::Control(io::Reactor& reactor, Server& server, Signals& signals, ControlOptions options)
    : reactor_(reactor),
      server_(server),
      signals_(signals),
      reload_(std::move(options.reload)),
      commands_(admin_commands(server, reactor.clock().now(), reload_)),
      admin_(reactor, std::move(options.admin_listener),
             {.name = "admin", .request_bytes_max = admin::admin_request_bytes_max}, admin_dialogue()),
      sweep_timer_(reactor) {
  if (options.metrics_listener)
    metrics_.emplace(
        reactor, std::move(options.metrics_listener),
        admin::RequestServerOptions{
            .name = "metrics", .request_bytes_max = metrics::http_request_bytes_max, .peer = peer_at},
        metrics_dialogue());
}

admin::Dialogue Control::admin_dialogue() {
  return {admin::admin_complete,
          [this](std::string_view line) { return admin::admin_answer(line, commands_); }};
}

admin::Dialogue Control::metrics_dialogue() {
  const metrics::HttpPages pages = [this](std::string_view path) -> std::optional<metrics::HttpPage> {
    if (path == "/healthz") return metrics::HttpPage{.body = "ok\n"};
    if (path != "/metrics") return std::nullopt;
    return metrics::HttpPage{.body = server_.metrics().prometheus(),
                             .content_type = "text/plain; version=0.0.4; charset=utf-8"};
  };
  return {metrics::http_complete, [pages](std::string_view request) -> io::Op<std::string> {
            return metrics::http_answer(request, pages);
          }};
}

int Control::run() {
  reactor_.post([this] {
    admin_.start();
    if (metrics_) metrics_->start();
    io::spawn(gate_, sweep());
    io::spawn(gate_, attend());
  });
  reactor_.run();
  return last_signal_;
}

io::Op<> Control::attend() {
  for (;;) {
    const auto signal = co_await signals_.next(reactor_).as_result();
    if (!signal) break;  // by sweep()
    last_signal_ = *signal;
    if (last_signal_ != SIGHUP) break;
    (void)reload_();
  }
  co_await admin_.stop();
  if (metrics_) co_await metrics_->stop();
  gate_.close();
  sweep_timer_.cancel();
  while (gate_.count() > 1) co_await reactor_.yield();
  reactor_.stop();
}

io::Op<> Control::let_go() {
  letting_go_ = true;
  (void)co_await server_.exports().let_go_unserved().as_result();
  letting_go_ = false;
}

io::Op<> Control::sweep() {
  constexpr base::Duration interval = std::chrono::seconds(1);
  while (!gate_.closed()) {
    (void)co_await sweep_timer_.until(reactor_.clock().now() + interval);
    (void)co_await server_.tick().as_result();
    // A medium that takes long holds up nothing else.
    if (!letting_go_ && server_.exports().keeps_unserved()) io::spawn(gate_, let_go());
    // The server ends as after a signal. A signal sent to this process itself could come after the one that
    // somebody else sent, and a second one ends the process at once.
    if (!server_.failure().empty()) signals_.cancel(reactor_);
  }
}

}  // namespace braid::server::run
