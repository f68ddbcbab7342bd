// A whole data server, and a metadata server that the test plays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "pnfs/control_peer.h"
#include "pnfs/control_service.h"
#include "pnfs_ds/store_directory.h"
#include "server/process.h"
#include "server/run/roles.h"
#include "server/server.h"
#include "tests/unit/rpc/tcp_fixture.h"
#include "vfs/posix/export_root.h"
#include "vfs/posix/write_back.h"

namespace braid::server {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using enum pnfs::control_status;

// Answers heartbeats, and knows every file.
class PlayedMetadata final : public pnfs::ControlHandler {
 public:
  pnfs::control_status look_at(const pnfs::control_hello& /*hello*/,
                               const rpc::PeerAddress& /*peer*/) override {
    return judgement;
  }
  pnfs::ControlOp<> admit(const pnfs::ControlCaller& caller) override {
    known.with([&](auto& all) { all.push_back(caller.hello); });
    return base::Result<void, pnfs::control_status>();
  }
  pnfs::ControlOp<pnfs::ControlAnswer> handle(const pnfs::ControlRequest& request) override {
    xdr::Arena arena;
    pnfs::to_metadata_args args;
    if (!pnfs::decode_body(request.body, arena, args)) return base::fail(CONTROL_BAD_BODY);
    pnfs::to_metadata_res result;
    if (const auto* beat = args.heartbeat()) {
      bytes_total = beat->bytes_total;
      result = pnfs::to_metadata_res::with_heartbeat(
          {.sent = beat->sent, .lowest_grant = 0, .key_oldest = 1, .key_newest = 1, .good_for_ms = 45000});
    } else {
      result = pnfs::to_metadata_res::with_file_facts(pnfs::FILE_FACTSres::with_facts({}));
    }
    return pnfs::answer_of(result, request.memory);
  }
  std::atomic<pnfs::control_status> judgement{CONTROL_OK};
  base::Guarded<std::vector<pnfs::Introduction>> known;
  std::atomic<std::uint64_t> bytes_total{0};
};

class DataServerRoleTest : public testing::Test {
 protected:
  DataServerRoleTest() {
    ::signal(SIGPIPE, SIG_IGN);
    std::string pattern = std::filesystem::temp_directory_path() / "braid-ds-role-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    std::filesystem::create_directory(directory_ / "objects");
    write_secret(std::string(32, '\1'));
    open_metadata_server();
    config_.limits.buffer_bytes_max = 128 * base::MiB;
    config_.threads = 2;
    config::DataServerConfig& config = config_.data_servers.emplace_back();
    config.directory = directory_ / "objects";
    config.mds = mds_->address.text();
    config.secret = directory_ / "secret";
    config.name = "ds1";
    config.listen = {"127.0.0.1"};
    config.port = 0;
  }
  ~DataServerRoleTest() override {
    if (server_) {
      EXPECT_TRUE(server_->stop(rpc::test::plenty));
    }
    server_.reset();
    mds_.reset();
    std::filesystem::remove_all(directory_);
  }

  void write_secret(const std::string& bytes) const {
    std::ofstream(directory_ / "secret") << bytes;
    std::filesystem::permissions(directory_ / "secret", std::filesystem::perms(0600));
  }
  void open_metadata_server() {
    control_.emplace(clock_, secret_, [this] { return introduction_; }, metadata_);
    const std::vector<rpc::Program> programs{control_->program()};
    mds_ = std::make_unique<rpc::test::TcpServer>(rpc::test::TcpServerOptions{}, programs);
  }
  std::string create() {
    const auto plan = plan_descriptors(config_, config_.threads, raise_descriptor_limit());
    auto server = Server::create(config_, plan.value(), directory_ / "state", clock_, run::roles_of(config_));
    if (!server) return server.error();
    server_ = std::move(*server);
    EXPECT_TRUE(server_->start());
    return {};
  }
  [[nodiscard]] json status() const {
    json members;
    server_->roles().front()->role->report(members);
    return members.at("data_server");
  }
  [[nodiscard]] bool reaches_contact() const {
    return rpc::test::eventually([&] { return status().at("contact").get<bool>(); });
  }
  [[nodiscard]] std::string ends_with() const {
    EXPECT_TRUE(rpc::test::eventually([&] { return !server_->failure().empty(); }));
    return server_->failure();
  }

  const base::SystemClock clock_;
  const pnfs::ClusterSecret secret_ = pnfs::ClusterSecret::from(base::Bytes(32, std::byte{1})).value();
  pnfs::Introduction introduction_{.role = pnfs::control_role::ROLE_METADATA,
                                   .cluster = {std::byte{7}},
                                   .server = {},
                                   .name = "mds",
                                   .addresses = {}};
  PlayedMetadata metadata_;
  std::optional<pnfs::ControlService> control_;
  std::unique_ptr<rpc::test::TcpServer> mds_;
  std::filesystem::path directory_;
  config::Config config_;
  std::unique_ptr<Server> server_;
};

TEST_F(DataServerRoleTest, it_introduces_itself_and_joins_the_cluster) {
  ASSERT_EQ(create(), "");
  ASSERT_TRUE(reaches_contact());
  EXPECT_GT(metadata_.bytes_total, 0U);
  const auto known = metadata_.known.with([](const auto& all) { return all; });
  ASSERT_FALSE(known.empty());
  EXPECT_EQ(known[0].name, "ds1");
  EXPECT_EQ(known[0].cluster, pnfs::ClusterId{});
  const std::uint16_t port = server_->port();
  const pnfs::Introduction::Address where{"tcp", fmt::format("127.0.0.1.{}.{}", port / 256, port % 256)};
  EXPECT_THAT(known[0].addresses, testing::ElementsAre(where));
  EXPECT_EQ(status().at("cluster"), "07000000000000000000000000000000");
  EXPECT_THAT(server_->metrics().prometheus(), HasSubstr("braid_pnfs_contact 1\n"));
  EXPECT_EQ(server_->failure(), "");
}

TEST_F(DataServerRoleTest, the_metadata_server_reads_and_writes_objects_over_tcp) {
  ASSERT_EQ(create(), "");
  ASSERT_TRUE(reaches_contact());
  rpc::test::ReactorThread thread(clock_);
  base::MetricRegistry registry;
  rpc::TcpMetrics metrics(registry);
  io::SlabPool pool({.bytes_max = 64 * base::MiB, .huge_pages = false});
  std::optional<rpc::TcpWorker> tcp;
  std::optional<pnfs::ControlPeer> peer;
  thread.call([&] {
    tcp.emplace(thread.reactor(), pool, nullptr, rpc::TcpOptions{}, metrics);
    peer.emplace(
        pnfs::over_tcp(*tcp), pool, server_->addresses().front(), secret_, [this] { return introduction_; },
        [](const pnfs::Introduction& other) {
          return other.name == "ds1" ? CONTROL_OK : CONTROL_OTHER_SERVER;
        });
  });
  io::SlabRange bytes{pool.acquire(io::SlabSize::large).value(), 0, io::large_slab_bytes};
  std::ranges::fill(bytes.writable(), std::byte{'x'});
  thread.await([&]() -> io::Op<> {
    const pnfs::object_key key{.object = 5, .index = 1};
    const auto put =
        pnfs::to_data_args::with_write({.of = key, .offset = 0, .stable = 2, .uid = 0, .gid = 0});
    const auto written = co_await peer->call_data(put, io::Payload(bytes), rpc::test::plenty).as_result();
    EXPECT_TRUE(written && written->result.write()->written()->count == io::large_slab_bytes);
    const auto get = pnfs::to_data_args::with_read({.of = key, .offset = 100, .count = 1 << 20});
    const auto read = co_await peer->call_data(get, {}, rpc::test::plenty).as_result();
    EXPECT_TRUE(read && read->bulk.size() == io::large_slab_bytes - 100);
  });
  thread.await([&]() -> io::Op<> {
    co_await peer->close();
    co_await tcp->close();
    peer.reset();
    tcp.reset();
  });
  EXPECT_TRUE(std::filesystem::exists(directory_ / "objects/objects/05/0000000000000005.0001"));
}

TEST_F(DataServerRoleTest, another_cluster_ends_it) {
  pnfs_ds::StoreDirectory::open(directory_ / "objects").value()->join({std::byte{9}}).value();
  ASSERT_EQ(create(), "");
  EXPECT_THAT(ends_with(), HasSubstr("another cluster"));
}

TEST_F(DataServerRoleTest, another_secret_ends_it) {
  write_secret(std::string(32, '\2'));
  ASSERT_EQ(create(), "");
  EXPECT_THAT(ends_with(), HasSubstr("another secret"));
}

TEST_F(DataServerRoleTest, a_store_that_the_metadata_server_knows_otherwise_ends_it) {
  metadata_.judgement = CONTROL_OTHER_SERVER;
  ASSERT_EQ(create(), "");
  EXPECT_THAT(ends_with(), HasSubstr("wiped or exchanged"));
}

TEST_F(DataServerRoleTest, it_waits_for_a_metadata_server_that_is_not_there) {
  mds_->stop(rpc::test::plenty);
  ASSERT_EQ(create(), "");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(status().at("contact").get<bool>());
  EXPECT_EQ(server_->failure(), "");
}

TEST_F(DataServerRoleTest, what_cannot_work_is_told_at_the_start) {
  std::filesystem::permissions(directory_ / "secret", std::filesystem::perms(0640));
  EXPECT_THAT(create(), HasSubstr("has mode 0640"));
  write_secret("short");
  EXPECT_THAT(create(), HasSubstr("has 5 bytes"));
  write_secret(std::string(32, '\1'));
  config_.data_servers.front().mds = "nowhere.invalid:2049";
  EXPECT_THAT(create(), HasSubstr("cannot be resolved"));
  config_.data_servers.front().mds = "127.0.0.1:1";
  std::ofstream(directory_ / "objects/something") << "x";
  EXPECT_THAT(create(), HasSubstr("is not empty"));
}

TEST_F(DataServerRoleTest, it_may_have_a_store) {
  if (::geteuid() != 0) GTEST_SKIP() << "trusted attributes are root's";
  std::filesystem::create_directory(directory_ / "store");
  config_.stores.push_back({.name = "s", .directory = directory_ / "store", .make = true});
  config_.data_servers.front().store = "s";
  ASSERT_EQ(create(), "");
  ASSERT_TRUE(reaches_contact());
  json members;
  server_->roles().front()->role->report(members);
  EXPECT_EQ(members.at("stores").at(0).at("name"), "s");
  EXPECT_THAT(server_->metrics().prometheus(), HasSubstr("braid_store_files_sealed_total{store=\"s\"} 0\n"));
  EXPECT_TRUE(server_->stop(rpc::test::plenty));
  server_.reset();
  config_.data_servers.front().store.clear();
  config_.stores.clear();
  EXPECT_THAT(create(), HasSubstr("has files whose bytes are elsewhere (trusted.braid.store)"));
  // Clients would not see the key there, but who copies the objects.
  config_.stores.push_back({.name = "s", .directory = directory_ / "objects" / "store", .make = true});
  config_.data_servers.front().store = "s";
  EXPECT_THAT(create(), HasSubstr("lies in the data server's directory"));
}

TEST_F(DataServerRoleTest, it_serves_beside_exports_under_a_label) {
  std::filesystem::create_directory(directory_ / "shared");
  config_.listen = {"127.0.0.1"};
  config_.port = 0;
  config_.rpcbind = false;
  config_.exports.emplace_back();
  config_.exports.back().path = "/";
  config_.exports.back().directory = directory_ / "shared";
  ASSERT_EQ(create(), "");
  ASSERT_EQ(server_->roles().size(), 2U);
  EXPECT_TRUE(rpc::test::eventually([&] {
    return server_->metrics().prometheus().find("braid_pnfs_contact{role=\"data_server\"} 1\n") !=
           std::string::npos;
  }));
  EXPECT_NE(server_->roles()[0]->listening.addresses, server_->roles()[1]->listening.addresses);
  // One write verifier for one disk: the table has it, the export, the data server, and this.
  const auto root = vfs::posix::open_export_root(directory_, {});
  EXPECT_EQ(server_->exports().write_backs()->of(root.value().filesystem).use_count(), 4);
}

}  // namespace
}  // namespace braid::server
