// Two roles in one process: the exports by NFS, and a test program on a port of its own.
#include "server/run/roles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "server/process.h"
#include "server/role.h"
#include "server/run/status_report.h"
#include "server/server.h"
#include "tests/unit/rpc/tcp_fixture.h"

namespace braid::server {
namespace {

using nlohmann::json;
using rpc::test::RawClient;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint32_t nfs_program = 100003, mount_program = 100005;
constexpr std::uint32_t success = 0, prog_unavail = 1;  // RFC 5531 accept_stat

// What a role was told; outlives the server.
struct Told {
  rpc::test::TestService service;
  std::atomic<std::size_t> threads = 0;
  std::atomic<int> served = 0;
  std::atomic<unsigned> ticks = 0;
  std::atomic<bool> closed = false;
};

class TestRole final : public Role {
 public:
  TestRole(const Shared& shared, Told& told)
      : told_(told),
        programs_{rpc::test::test_program(told.service)},
        rpc_(shared.rpc, programs_, shared.metrics, base::SipKey{1, 2}) {}
  [[nodiscard]] rpc::Server& rpc() override { return rpc_; }
  [[nodiscard]] std::span<const rpc::Program> programs() const override { return programs_; }
  [[nodiscard]] Listen listen() const override {
    return {.addresses = {"127.0.0.1"}, .port = 0, .port_option = "--test-port"};
  }
  void start(std::span<const std::unique_ptr<ServerThread>> threads) override {
    told_.threads = threads.size();
  }
  void served(std::optional<std::uint16_t> rdma_port) override {
    EXPECT_GT(told_.threads, 0U);
    EXPECT_EQ(rdma_port, std::nullopt);
    ++told_.served;
  }
  io::Op<> tick() override {
    ++told_.ticks;
    return io::ready_op();
  }
  io::Op<> close() override {
    told_.closed = true;
    return io::ready_op();
  }
  void describe(std::vector<admin::AdminCommand>& commands) override {
    commands.push_back(
        {{"test", "Answer"}, [](const admin::AdminRequest&) -> io::Op<std::string> { return "{}"; }});
  }
  void report(json& members) const override { members["test"] = told_.threads.load(); }

 private:
  Told& told_;
  const std::vector<rpc::Program> programs_;
  rpc::Server rpc_;
};

class Roles : public testing::Test {
 protected:
  Roles() {
    ::signal(SIGPIPE, SIG_IGN);
    std::string pattern = std::filesystem::temp_directory_path() / "braid-roles-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    std::filesystem::create_directory(directory_ / "shared");
    config_.listen = {"127.0.0.1"};
    config_.port = 0;
    config_.rpcbind = false;
    config_.limits.buffer_bytes_max = 128 * base::MiB;
    config_.exports.emplace_back();
    config_.exports.back().path = "/";
    config_.exports.back().directory = directory_ / "shared";
    makers_ = run::roles_of(config_);
    makers_.push_back({.label = "test", .make = [this](const Shared& shared, const config::Config&) {
                         return std::unique_ptr<Role>(new TestRole(shared, told_));
                       }});
  }
  ~Roles() override { std::filesystem::remove_all(directory_); }

  std::expected<std::unique_ptr<Server>, std::string> create() {
    const auto plan = plan_descriptors(config_, config_.threads, raise_descriptor_limit());
    return Server::create(config_, plan.value(), directory_ / "state", clock_, makers_);
  }
  std::unique_ptr<Server> serve(unsigned threads) {
    config_.threads = threads;
    auto server = create();
    EXPECT_TRUE(server) << server.error();
    EXPECT_TRUE((*server)->start());
    return std::move(*server);
  }
  static rpc::PeerAddress address_of(const Server& server, std::size_t role) {
    return server.roles()[role]->listening.addresses.front();
  }
  // How a call of procedure 0 is answered.
  static std::uint32_t null_stat(RawClient& client, std::uint32_t program, std::uint32_t version) {
    EXPECT_TRUE(client.send(rpc::test::record(rpc::test::call_of(1, program, version, 0))));
    const auto reply = client.receive();
    return reply ? rpc::test::u32_at(*reply, 20) : UINT32_MAX;
  }

  Told told_;
  config::Config config_;
  std::vector<RoleMaker> makers_;
  const base::SystemClock clock_;

 private:
  std::filesystem::path directory_;
};

TEST_F(Roles, a_connection_reaches_the_programs_of_its_role_only) {
  const auto server = serve(2);
  RawClient nfs(address_of(*server, 0)), test(address_of(*server, 1));
  EXPECT_EQ(null_stat(nfs, nfs_program, 3), success);
  EXPECT_EQ(null_stat(nfs, nfs_program, 4), success);
  EXPECT_EQ(null_stat(nfs, mount_program, 3), success);
  EXPECT_EQ(null_stat(nfs, rpc::test::program_number, rpc::test::version_low), prog_unavail);
  EXPECT_EQ(null_stat(test, nfs_program, 3), prog_unavail);
  EXPECT_EQ(null_stat(test, nfs_program, 4), prog_unavail);
  EXPECT_EQ(null_stat(test, mount_program, 3), prog_unavail);
  EXPECT_EQ(null_stat(test, rpc::test::program_number, rpc::test::version_low), success);
  EXPECT_TRUE(server->stop(rpc::test::plenty));
}

TEST_F(Roles, every_thread_serves_all_of_them) {
  const auto server = serve(2);
  EXPECT_EQ(told_.threads, 2U);
  EXPECT_EQ(told_.served, 1);
  // The thread with the fewest connections, of whichever role, gets the next one.
  std::vector<std::unique_ptr<RawClient>> clients;
  for (const std::size_t role : {0U, 1U, 1U, 0U}) {
    RawClient& client = *clients.emplace_back(std::make_unique<RawClient>(address_of(*server, role)));
    EXPECT_EQ(null_stat(client, role == 0 ? nfs_program : rpc::test::program_number, 4), success);
  }
  for (const auto& thread : server->threads()) EXPECT_EQ(thread->connections(), 2U);
  EXPECT_TRUE(server->stop(rpc::test::plenty));
  for (const auto& client : clients) EXPECT_TRUE(client->at_end());
}

TEST_F(Roles, the_end_waits_for_the_running_calls_of_each) {
  const auto server = serve(1);
  ServerThread& thread = *server->threads().front();
  RawClient nfs(address_of(*server, 0)), test(address_of(*server, 1));
  EXPECT_EQ(null_stat(nfs, nfs_program, 3), success);
  ASSERT_TRUE(test.send(rpc::test::record(rpc::test::test_call(7, rpc::test::proc_wait))));
  const auto waiting = [&] {
    return thread.run([&]() -> io::Op<std::size_t> { return told_.service.waiting(); }).get();
  };
  ASSERT_TRUE(rpc::test::eventually([&] { return waiting() == 1; }));
  auto stopped = std::async(std::launch::async, [&] { return server->stop(rpc::test::plenty); });
  ASSERT_TRUE(rpc::test::eventually([&] { return told_.closed.load(); }));
  EXPECT_EQ(stopped.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  thread.run([&] {
    told_.service.release();
    return io::ready_op();
  });
  EXPECT_TRUE(test.receives(rpc::test::words({7, 1, 0, 0, 0, 0, 1})));
  EXPECT_TRUE(stopped.get());
  EXPECT_TRUE(test.at_end());
  EXPECT_TRUE(nfs.at_end());
}

TEST_F(Roles, metrics_and_reports_tell_them_apart) {
  const auto server = serve(1);
  EXPECT_THAT(
      server->metrics().prometheus(),
      AllOf(HasSubstr("\nbraid_rpc_held_bytes 0\n"), HasSubstr("\nbraid_rpc_held_bytes{role=\"test\"} 0\n"),
            HasSubstr("\nbraid_rpc_sent_bytes_total{program=\"nfs\",version=\"3\",procedure=\"READ\"} 0\n"),
            HasSubstr("\nbraid_rpc_sent_bytes_total{role=\"test\",program=\"TEST\",version=\"4\","
                      "procedure=\"ECHO\"} 0\n")));
  const json report = json::parse(run::status_json(*server, base::TimePoint()));
  EXPECT_TRUE(report.contains("nfs4"));
  EXPECT_EQ(report.at("listen").at(0), address_of(*server, 0).text());
  const json& test = report.at("roles").at("test");
  EXPECT_EQ(test.at("listen").at(0), address_of(*server, 1).text());
  EXPECT_EQ(test.at("test"), 1);
  for (const json& row : test.at("procedures")) EXPECT_EQ(row.at("program"), "TEST");
  EXPECT_TRUE(server->stop(rpc::test::plenty));
}

TEST_F(Roles, one_that_cannot_be_made_leaves_nothing_behind) {
  const RoleMaker whole = std::exchange(
      makers_.back(), {.label = "test", .make = [](const Shared&, const config::Config&) {
                         return std::expected<std::unique_ptr<Role>, std::string>(std::unexpect, "no luck");
                       }});
  const auto failed = create();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error(), "no luck");
  // The first role's state directory is free again.
  makers_.back() = whole;
  EXPECT_TRUE(create());
}

TEST_F(Roles, the_tick_reaches_each) {
  const auto server = serve(1);
  rpc::test::Loop loop(clock_);
  loop.run([&] { return server->tick(); });
  EXPECT_EQ(told_.ticks, 1U);
  EXPECT_TRUE(server->stop(rpc::test::plenty));
}

}  // namespace
}  // namespace braid::server
