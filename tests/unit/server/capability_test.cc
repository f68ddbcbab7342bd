// What a capability adds to the role that serves the exports.
#include "server/roles/nfs/capability.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "base/clock.h"
#include "server/process.h"
#include "server/run/content_sources.h"
#include "server/run/roles.h"
#include "server/server.h"
#include "tests/unit/rpc/tcp_fixture.h"

namespace braid::server {
namespace {

using rpc::test::RawClient;

class TestCapability final : public roles::nfs::Capability {
 public:
  std::vector<vfs::ContentSource*> sources(const config::ExportConfig& /*config*/) override {
    ++asked_for_sources;
    return {};
  }
  [[nodiscard]] bool takes_pipes() const override { return false; }
  void join(const Shared& /*shared*/, nfs4::EngineParts& /*parts*/) override { joined = true; }
  [[nodiscard]] std::vector<rpc::Program> programs() override { return {rpc::test::test_program(service_)}; }
  void start(std::span<const std::unique_ptr<ServerThread>> threads, nfs4::Nfs4Engine& /*engine*/) override {
    started = joined && threads.size() == 2;
  }
  io::Op<> tick() override {
    ++ticks;
    return io::ready_op();
  }
  io::Op<> close() override {
    closed = started;
    return io::ready_op();
  }

  int asked_for_sources = 0, ticks = 0;
  bool joined = false, started = false, closed = false;

 private:
  rpc::test::TestService service_;
};

TEST(Capability, joins_the_role_with_programs_and_contents) {
  ::signal(SIGPIPE, SIG_IGN);
  std::string pattern = std::filesystem::temp_directory_path() / "braid-capability-XXXXXX";
  const std::filesystem::path directory = ::mkdtemp(pattern.data());
  std::filesystem::create_directory(directory / "shared");
  config::Config config;
  config.listen = {"127.0.0.1"};
  config.port = 0;
  config.threads = 2;
  config.rpcbind = false;
  config.limits.buffer_bytes_max = 128 * base::MiB;
  config.exports.emplace_back();
  config.exports.back().path = "/";
  config.exports.back().directory = directory / "shared";
  const auto capability = std::make_shared<TestCapability>();
  const roles::nfs::Capabilities capabilities{capability};
  const base::SystemClock clock;
  const ContentSources sources = run::content_sources_of(capabilities);
  EXPECT_FALSE(sources.take_pipes);
  EXPECT_TRUE(run::content_sources_of({}).take_pipes);
  {
    auto server = Server::create(config, plan_descriptors(config, 2, raise_descriptor_limit()).value(),
                                 directory / "state", clock, run::roles_of(config, capabilities), sources);
    ASSERT_TRUE(server) << server.error();
    EXPECT_EQ(capability->asked_for_sources, 1);
    EXPECT_EQ((*server)->roles().front()->role->programs().size(), 3U) << "rpcbind is told of NFS alone";
    ASSERT_TRUE((*server)->start());
    EXPECT_TRUE(capability->started);
    RawClient client((*server)->addresses().front());
    EXPECT_TRUE(client.send(
        rpc::test::record(rpc::test::call_of(1, rpc::test::program_number, rpc::test::version_low, 0))));
    const auto reply = client.receive();
    ASSERT_TRUE(reply);
    EXPECT_EQ(rpc::test::u32_at(*reply, 20), 0U);
    rpc::test::Loop loop(clock);
    loop.run([&] { return (*server)->tick(); });
    EXPECT_EQ(capability->ticks, 1);
    EXPECT_TRUE((*server)->stop(rpc::test::plenty));
    EXPECT_TRUE(capability->closed);
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace braid::server
