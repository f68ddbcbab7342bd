#include "tests/e2e/served_directory.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "base/clock.h"
#include "server/config/config.h"
#include "server/process.h"
#include "server/run/roles.h"
#include "server/server.h"

namespace braid::e2e {

struct ServedDirectory::State {
  base::SystemClock clock;
  server::config::Config config;
  std::filesystem::path base, shared, frozen;
  std::unique_ptr<server::Server> server;

  void start() {
    const auto plan = server::plan_descriptors(config, config.threads, server::raise_descriptor_limit());
    if (!plan) throw std::runtime_error(plan.error());
    auto made = server::Server::create(config, *plan, base / "state", clock, server::run::roles_of(config));
    if (!made) throw std::runtime_error(made.error());
    server = std::move(*made);
    if (auto started = server->start(); !started) throw std::runtime_error(started.error());
  }
  void stop() {
    EXPECT_TRUE(server->stop(std::chrono::seconds(60)));
    server.reset();
  }
};

ServedDirectory::ServedDirectory() : state_(std::make_unique<State>()) {
  server::prepare_process();
  std::string pattern = "/dev/shm/braid-e2e-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no directory in /dev/shm");
  State& state = *state_;
  state.base = pattern;
  state.shared = state.base / "shared";
  state.frozen = state.base / "frozen";
  std::filesystem::create_directory(state.shared);
  std::filesystem::create_directory(state.frozen);
  state.config.listen = {"127.0.0.1"};
  state.config.port = 0;
  state.config.threads = 2;
  state.config.rpcbind = false;
  state.config.limits.buffer_bytes_max = 128 * base::MiB;
  server::config::ExportConfig main;
  main.path = "/";
  main.directory = state.shared;
  main.squash = ::geteuid() == 0 ? vfs::Squash::none : vfs::Squash::all;
  server::config::ExportConfig read_only = main;
  read_only.path = "/frozen";
  read_only.directory = state.frozen;
  read_only.read_only = true;
  state.config.exports = {main, read_only};
  state.start();
}

ServedDirectory::~ServedDirectory() {
  state_->stop();
  std::error_code ignored;
  std::filesystem::remove_all(state_->base, ignored);
}

void ServedDirectory::restart() {
  state_->stop();
  state_->start();
}

std::uint16_t ServedDirectory::port() const { return state_->server->port(); }
const std::filesystem::path& ServedDirectory::directory() const { return state_->shared; }
const std::filesystem::path& ServedDirectory::frozen() const { return state_->frozen; }

}  // namespace braid::e2e
