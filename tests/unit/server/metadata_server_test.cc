// A whole server with a striped export, and a data server whose objects are in memory.
#include "server/roles/mds/metadata_server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "pnfs/control_peer.h"
#include "pnfs/secret_file.h"
#include "pnfs_ds/store_directory.h"
#include "server/process.h"
#include "server/run/admin_commands.h"
#include "server/run/capabilities.h"
#include "server/run/content_sources.h"
#include "server/run/data_servers.h"
#include "server/run/roles.h"
#include "server/run/status_report.h"
#include "server/server.h"
#include "tests/unit/pnfs/caller.h"
#include "tests/unit/pnfs_mds/data_side.h"
#include "tests/unit/rpc/tcp_fixture.h"

namespace braid::server {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class MetadataServerTest : public testing::Test {
 protected:
  MetadataServerTest() {
    ::signal(SIGPIPE, SIG_IGN);
    std::string pattern = "/dev/shm/braid-mds-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    std::filesystem::create_directory(directory_ / "shared");
    config_.listen = {"127.0.0.1"};
    config_.port = 0;
    config_.threads = 2;
    config_.rpcbind = false;
    config_.limits.buffer_bytes_max = 128 * base::MiB;
    config_.pnfs.on = true;
    config_.pnfs.stripes.unit = 64 * base::KiB;
    config_.exports.emplace_back();
    config_.exports.back().path = "/";
    config_.exports.back().directory = directory_ / "shared";
    config_.exports.back().data = config::Data::striped;
  }
  ~MetadataServerTest() override { std::filesystem::remove_all(directory_); }
  void SetUp() override {
    if (!may_keep_trusted_attributes()) GTEST_SKIP() << "needs root";
  }
  std::string state() const { return directory_ / "state"; }

  void start() {
    auto capabilities = run::capabilities_of(config_, state(), clock_);
    ASSERT_TRUE(capabilities) << capabilities.error();
    capabilities_ = *capabilities;
    auto server =
        Server::create(config_, plan_descriptors(config_, 2, raise_descriptor_limit()).value(), state(),
                       clock_, run::roles_of(config_, capabilities_), run::content_sources_of(capabilities_));
    ASSERT_TRUE(server) << server.error();
    server_ = std::move(*server);
    ASSERT_TRUE(server_->start());
  }
  void stop() {
    EXPECT_TRUE(server_->stop(rpc::test::plenty));
    server_.reset();
    capabilities_.clear();
  }
  pnfs_mds::Cluster& cluster() {
    return static_cast<roles::mds::MetadataServer&>(*capabilities_.front()).cluster();
  }
  // Runs f(), an Op<>, on a thread of the server.
  template <class F>
  void on_server(F f) {
    server_->threads().back()->run(std::move(f)).get();
  }
  std::shared_ptr<vfs::FileSystem> file_system() {
    return server_->exports().table().current()->all().front().file_system;
  }

  const base::SystemClock clock_;
  std::filesystem::path directory_;
  config::Config config_;
  roles::nfs::Capabilities capabilities_;
  std::unique_ptr<Server> server_;
};

// A data server that has said hello, and that it is alive.
class JoinedServer {
 public:
  JoinedServer(const base::Clock& clock, const std::filesystem::path& secret_file,
               const rpc::PeerAddress& mds)
      : secret_(pnfs::read_secret(secret_file).value()),
        service_(clock, secret_, [this] { return own(); }, data_) {
    const std::vector<rpc::Program> programs{service_.program()};
    server_ = std::make_unique<rpc::test::TcpServer>(rpc::test::TcpServerOptions{}, programs);
    port_ = server_->address.port;
    caller_.thread.call([&] {
      peer_.emplace(
          pnfs::over_tcp(*caller_.tcp), caller_.pool, mds, secret_, [this] { return own(); },
          [](const pnfs::Introduction&) { return pnfs::control_status::CONTROL_OK; });
    });
    caller_.thread.await([this] { return beat(); });
  }
  ~JoinedServer() {
    caller_.thread.await([this] { return peer_->close(); });
    caller_.thread.call([this] { peer_.reset(); });
  }
  JoinedServer(const JoinedServer&) = delete;
  JoinedServer& operator=(const JoinedServer&) = delete;

  pnfs_mds::fake::Objects objects;
  bool heard = false;

 private:
  pnfs::Introduction own() const {
    const std::uint16_t port = port_;
    return {.role = pnfs::control_role::ROLE_DATA,
            .cluster = {},
            .server = {std::byte{9}},
            .name = "ds",
            .addresses = {{"tcp", fmt::format("127.0.0.1.{}.{}", port >> 8U, port & 0xffU)}}};
  }
  io::Op<> beat() {
    const auto args =
        pnfs::to_metadata_args::with_heartbeat({.bytes_total = base::GiB, .bytes_available = base::GiB});
    const auto reply = co_await peer_->call_metadata(args, 10s).as_result();
    heard = reply.has_value();
  }

  const pnfs::ClusterSecret secret_;
  pnfs_mds::test::DataSide data_{objects};
  pnfs::ControlService service_;
  std::unique_ptr<rpc::test::TcpServer> server_;
  std::atomic<std::uint16_t> port_{0};  // of it; its threads ask
  pnfs::test::Caller caller_;
  std::optional<pnfs::ControlPeer> peer_;
};

TEST_F(MetadataServerTest, new_files_are_on_data_servers_and_go_with_their_names) {
  start();
  JoinedServer data(clock_, state() + "/pnfs/secret", server_->addresses().front());
  ASSERT_TRUE(data.heard);
  const std::string bytes(100'000, 'x');
  io::SlabPool pool({.bytes_max = 16 * base::MiB, .huge_pages = false});
  on_server([&]() -> io::Op<> {
    const auto fs = file_system();
    const vfs::Credentials root;
    vfs::Wcc wcc;
    vfs::CreateHow how;
    const auto made = co_await fs->create(root, fs->root(), "f", how, wcc).as_result();
    EXPECT_TRUE(made.has_value());
    const vfs::Borrowed io = fs->borrow(root, made->file);
    io::SlabRange slab{pool.acquire(io::SlabSize::large).value(), 0, 100'000};
    std::ranges::copy(base::bytes_of(bytes), slab.writable().begin());
    const io::Payload payload(slab);
    const auto written = co_await io->write(root, 0, payload, vfs::Stability::file_sync).as_result();
    EXPECT_TRUE(written.has_value() && written->count == bytes.size());
    const auto now = co_await fs->getattr(made->file).as_result();
    EXPECT_EQ(now->size, bytes.size());
    const auto status = co_await fs->status(fs->root()).as_result();
    EXPECT_EQ(status->bytes_total, base::GiB);
  });
  EXPECT_EQ(data.objects.count(), 1U);
  EXPECT_TRUE(std::filesystem::exists(directory_ / "shared" / "f"));
  on_server([&]() -> io::Op<> {
    vfs::Wcc wcc;
    const auto removed = co_await file_system()->remove({}, file_system()->root(), "f", wcc).as_result();
    EXPECT_TRUE(removed.has_value());
  });
  EXPECT_TRUE(rpc::test::eventually([&] { return data.objects.count() == 0; }));
  stop();
}

TEST_F(MetadataServerTest, its_data_servers_and_where_a_file_lies_are_told) {
  start();
  JoinedServer data(clock_, state() + "/pnfs/secret", server_->addresses().front());
  ASSERT_TRUE(data.heard);
  const auto commands = run::admin_commands(*server_, clock_.now(), [] { return run::ReloadOutcome(); });
  const auto ask = [&](const nlohmann::json& request) {
    rpc::test::Loop loop(clock_);
    std::string answer;
    const std::string line = request.dump() + "\n";
    loop.run([&]() -> io::Op<> { answer = co_await admin::admin_answer(line, commands); });
    return nlohmann::json::parse(answer);
  };
  const auto servers = ask({{"command", "data-servers"}}).at("data-servers");
  ASSERT_EQ(servers.size(), 1U);
  EXPECT_EQ(servers[0].at("name"), "ds");
  EXPECT_EQ(servers[0].at("state"), "in contact");
  EXPECT_EQ(servers[0].at("bytes_total"), base::GiB);
  EXPECT_TRUE(ask({{"command", "data-servers"}, {"from", "1"}}).at("data-servers").empty());
  EXPECT_TRUE(ask({{"command", "data-servers"}, {"from", "x"}}).contains("error"));

  std::filesystem::create_directory(directory_ / "shared" / "d");
  on_server([&]() -> io::Op<> {
    const auto fs = file_system();
    const auto found = co_await fs->lookup({}, fs->root(), "d").as_result();
    vfs::Wcc wcc;
    const auto made = co_await fs->create({}, found->file, "f", {}, wcc).as_result();
    const auto placed = co_await fs->place(made->file, cluster().source(), {}).as_result();
    EXPECT_TRUE(placed.has_value());
    (void)co_await fs->create({}, fs->root(), "empty", {}, wcc).as_result();
  });
  const auto location = [&](const std::filesystem::path& path) {
    return ask({{"command", "location"}, {"path", path.string()}});
  };
  const auto place = location(directory_ / "shared/d/f");
  EXPECT_EQ(place.at("file"), "/:/d/f");
  EXPECT_EQ(place.at("unit"), 64 * base::KiB);
  EXPECT_EQ(place.at("epoch"), 1);
  EXPECT_EQ(place.at("servers")[0].at("name"), "ds");
  EXPECT_THAT(place.at("servers")[0].at("object_file").get<std::string>(), HasSubstr(".0000"));
  EXPECT_THAT(location(directory_ / "shared/empty").at("error").get<std::string>(), HasSubstr("no bytes on"));
  EXPECT_THAT(location(directory_ / "shared/none").at("error").get<std::string>(),
              HasSubstr("cannot be found"));
  EXPECT_THAT(location("/etc/passwd").at("error").get<std::string>(), HasSubstr("in no striped export"));
  EXPECT_TRUE(location("").contains("error"));
  stop();
}

TEST_F(MetadataServerTest, what_an_earlier_run_intended_is_looked_at) {
  start();
  const auto remember = [&](pnfs_mds::RemovalIntent intent) {
    on_server([&]() -> io::Op<> { (void)co_await cluster().removals().intend(intent).as_result(); });
  };
  pnfs_mds::RemovalIntent gone{pnfs::ObjectId(70), {pnfs::ServerNumber(1)}, {}};
  on_server([&]() -> io::Op<> {
    const auto fs = file_system();
    vfs::Wcc wcc;
    const auto made = co_await fs->create({}, fs->root(), "f", {}, wcc).as_result();
    gone.file = (*made).file->handle();
    (void)co_await fs->remove({}, fs->root(), "f", wcc).as_result();
  });
  remember(gone);
  pnfs_mds::RemovalIntent foreign{pnfs::ObjectId(71), {pnfs::ServerNumber(1)}, {}};
  foreign.file.size = 5;
  remember(foreign);
  stop();
  start();
  EXPECT_EQ(cluster().removals().earlier(), 2U);
  rpc::test::Loop loop(clock_);
  loop.run([&] { return server_->tick(); });
  EXPECT_TRUE(rpc::test::eventually([&] { return cluster().removals().earlier() == 1; }));
  EXPECT_EQ(cluster().removals().backlog(), 1U) << "its server is not there";
  stop();
}

TEST_F(MetadataServerTest, data_servers_of_the_same_process_are_known_and_found_again) {
  config_.data_servers.resize(2);
  for (config::DataServerConfig& server : config_.data_servers) {
    server.name = &server == config_.data_servers.data() ? "one" : "two";
    server.listen = {"127.0.0.1"};
    server.port = 0;
  }
  const auto known = [&] {
    std::vector<std::string> out;
    for (const auto& server : cluster().servers().all())
      if (server.in_contact && server.room.bytes_total > 0)
        out.push_back(fmt::format("{} {}", server.name, pnfs_ds::hex_of(server.id)));
    std::ranges::sort(out);
    return out;
  };
  std::vector<std::string> first;
  for (const bool again : {false, true}) {
    ASSERT_TRUE(run::place_data_servers(config_, state()));
    EXPECT_EQ(config_.data_servers.back().directory, state() + "/data-servers/two");
    start();
    ASSERT_EQ(server_->roles().size(), 3U);
    EXPECT_EQ(server_->roles()[1]->label, "ds1");
    EXPECT_EQ(server_->roles()[2]->label, "ds2");
    EXPECT_TRUE(rpc::test::eventually([&] { return known().size() == 2; }));
    EXPECT_EQ(server_->failure(), "");
    const auto report = nlohmann::json::parse(run::status_json(*server_, clock_.now()));
    EXPECT_EQ(report.at("roles").at("ds2").at("data_server").at("mds"), server_->addresses().front().text());
    EXPECT_THAT(server_->metrics().prometheus(), HasSubstr("braid_pnfs_contact{role=\"ds1\"} 1\n"));
    if (again)
      EXPECT_EQ(known(), first);
    else
      first = known();
    stop();
  }
}

TEST_F(MetadataServerTest, what_a_data_server_has_is_not_for_clients) {
  config_.data_servers.resize(1);
  config_.data_servers.front().name = "ds1";
  config_.data_servers.front().directory = directory_ / "shared/objects";
  EXPECT_THAT(run::place_data_servers(config_, state()).error(), HasSubstr("which clients see"));
  config_.data_servers.front().directory = directory_ / "shared2";
  EXPECT_TRUE(run::place_data_servers(config_, state()));
  EXPECT_EQ(config_.data_servers.front().secret, state() + "/pnfs/secret");
  config_.data_servers.front().directory.clear();
  EXPECT_THAT(run::place_data_servers(config_, directory_ / "shared").error(),
              HasSubstr("which clients see"));
  config_.data_servers.front().directory.clear();
  config_.data_servers.front().mds = "mds:2049";
  EXPECT_TRUE(run::place_data_servers(config_, state()));
  EXPECT_EQ(config_.data_servers.front().directory, "") << "its metadata server is another process";
}

TEST_F(MetadataServerTest, a_secret_that_cannot_be_used_is_told) {
  config_.pnfs.secret = directory_ / "none";
  const auto refused = run::capabilities_of(config_, state(), clock_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("none cannot be read"));
}

TEST_F(MetadataServerTest, without_a_section_a_reload_brings_no_striped_export) {
  config::Config plain = config_;
  plain.pnfs.on = false;
  EXPECT_TRUE(run::can_reload(config_, config_));
  EXPECT_THAT(run::can_reload(plain, config_).error(), HasSubstr("the export / is striped"));
  plain.exports.front().data = config::Data::local;
  EXPECT_TRUE(run::can_reload(config_, plain));
  EXPECT_TRUE(run::capabilities_of(plain, state(), clock_)->empty());
}

}  // namespace
}  // namespace braid::server
