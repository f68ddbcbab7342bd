#include "server/control.h"

#include <csignal>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.h"
#include "server/http.h"
#include "server/server.h"
#include "server/state_report.h"
#include "server/status_report.h"

namespace braid::server {

Control::Control(io::Reactor& reactor, Server& server, Signals& signals, ControlOptions options)
    : reactor_(reactor),
      server_(server),
      signals_(signals),
      started_(reactor.clock().now()),
      reload_(std::move(options.reload)),
      commands_(admin_commands()),
      admin_(reactor, std::move(options.admin_listener),
             {.name = "admin", .request_bytes_max = admin_request_bytes_max}, admin_dialogue()),
      sweep_timer_(reactor) {
  if (options.metrics_listener)
    metrics_.emplace(reactor, std::move(options.metrics_listener),
                     RequestServerOptions{.name = "metrics", .request_bytes_max = http_request_bytes_max},
                     metrics_dialogue());
}

std::vector<AdminCommand> Control::admin_commands() {
  std::vector<AdminCommand> commands = state_commands(server_);
  commands.insert(commands.begin(), {"status", [this](const AdminRequest&) -> io::Op<std::string> {
                                       return status_json(server_, started_, reactor_.clock().now());
                                     }});
  commands.push_back({"accept", [this](const AdminRequest& request) -> io::Op<std::string> {
                        if (request.path.empty()) return admin_error("the request has no \"path\"");
                        const auto done = server_.exports().accept(request.path);
                        if (!done) return admin_error(done.error());
                        return nlohmann::json{{"accepted", request.path}}.dump();
                      }});
  return commands;
}

Dialogue Control::admin_dialogue() {
  return {admin_complete, [this](std::string_view line) { return admin_answer(line, commands_); }};
}

Dialogue Control::metrics_dialogue() {
  const HttpPages pages = [this](std::string_view path) -> std::optional<HttpPage> {
    if (path == "/healthz") return HttpPage{.body = "ok\n"};
    if (path != "/metrics") return std::nullopt;
    return HttpPage{.body = server_.metrics().prometheus(),
                    .content_type = "text/plain; version=0.0.4; charset=utf-8"};
  };
  return {http_complete,
          [pages](std::string_view request) -> io::Op<std::string> { return http_answer(request, pages); }};
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
  do {
    last_signal_ = co_await signals_.next(reactor_);
    if (last_signal_ == SIGHUP) reload_();
  } while (last_signal_ == SIGHUP);
  co_await admin_.stop();
  if (metrics_) co_await metrics_->stop();
  gate_.close();
  sweep_timer_.cancel();
  while (gate_.count() > 1) co_await reactor_.yield();
  reactor_.stop();
}

io::Op<> Control::sweep() {
  constexpr base::Duration interval = std::chrono::seconds(1);
  while (!gate_.closed()) {
    (void)co_await sweep_timer_.until(reactor_.clock().now() + interval);
    (void)co_await server_.tick().as_result();
  }
}

}  // namespace braid::server
