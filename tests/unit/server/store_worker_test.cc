// What a server seals of its own accord, and by command.
#include "server/roles/stores/store_worker.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/unit/store/source_fixture.h"

namespace braid::server::roles::stores {
namespace {

class StoreWorkerTest : public store::test::SourceTest {
 protected:
  StoreWorkerTest() {
    config_.seal_seconds = 0;
    before_opened_ = [this] {
      source_->use(pool_, "store");
      worker_ = std::make_unique<StoreWorker>(config_, *store_, *source_, store::HashJob());
    };
  }
  void SetUp() override {
    SourceTest::SetUp();
    if (IsSkipped()) return;
    reactor_ = std::move(*io::Reactor::create({}, clock_));
    config::ExportConfig config;
    config.path = "/";
    config.directory = options_.directory;
    worker_->add_export(config);
    serve();
    worker_->start(*reactor_, exports_, clock_);
    thread_ = std::thread([this] { reactor_->run(); });
  }
  void TearDown() override {
    if (thread_.joinable()) {
      reactor_->post([this] { io::spawn(gate_, end()); });
      thread_.join();
    }
    exports_.replace(std::make_shared<const vfs::ExportTable>(std::vector<vfs::Export>()));
    worker_.reset();
    reactor_.reset();
    SourceTest::TearDown();
  }
  io::Op<> end() {
    co_await worker_->close();
    reactor_->stop();
  }
  void serve() {
    vfs::Export served;
    served.id = options_.tree.id;
    served.path = "/";
    served.file_system = fs_;
    exports_.replace(std::make_shared<const vfs::ExportTable>(std::vector<vfs::Export>{served}));
  }
  // The server has none of its own descriptors open.
  void anew() {
    root_ = {};
    exports_.replace(std::make_shared<const vfs::ExportTable>(std::vector<vfs::Export>()));
    fs_.reset();
    fs_ = opened();
    root_ = fs_->root();
    serve();
  }
  // Each has bytes of its own.
  void write_files(const std::string& directory, int count) {
    for (int i = 0; i < count; ++i)
      local_write(fmt::format("{}f{}", directory, i), text_of(i).substr(0, 5000));
  }
  std::string text_of(int number) { return bytes_.substr(static_cast<std::size_t>(number) * 1000); }
  // The time limit of the test tells how long that may take.
  template <class Condition>
  static void until(Condition condition) {
    while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  SealJob done(const std::string& path, bool unseals) {
    const auto number = worker_->begin(local(path), unseals);
    EXPECT_TRUE(number);
    until([&] { return worker_->job(*number)->ended; });
    return *worker_->job(*number);
  }

  io::BlockingPool pool_{{.threads_max = 8}};
  config::StoreConfig config_;
  vfs::Exports exports_{std::make_shared<const vfs::ExportTable>(std::vector<vfs::Export>())};
  std::unique_ptr<io::Reactor> reactor_;
  std::unique_ptr<StoreWorker> worker_;
  io::Gate gate_;
  std::thread thread_;
};
BRAID_ON_EVERY_FILE_SYSTEM(StoreWorkerTest);

TEST_P(StoreWorkerTest, all_files_that_are_due_are_sealed_when_it_looks) {
  constexpr int many = 200;
  for (int i = 0; i < many; ++i) {
    ASSERT_TRUE(create(fmt::format("f{}", i)));
    ASSERT_TRUE(write(find(fmt::format("f{}", i)), text_of(i).substr(0, 5000)));
  }
  anew();
  EXPECT_EQ(worker_->counts().resting.waiting, std::size_t{many});
  worker_->wake();
  until([&] { return worker_->counts().sealed + worker_->counts().put_off == many; });
  EXPECT_EQ(worker_->counts().sealed, std::uint64_t{many});
  for (int i = 0; i < many; ++i)
    ASSERT_TRUE(all_of(fmt::format("f{}", i)) == text_of(i).substr(0, 5000)) << i;
}

TEST_P(StoreWorkerTest, by_command_a_tree_is_sealed_and_unsealed) {
  std::filesystem::create_directories(local("dir/below"));
  write_files("dir/", 100);
  write_files("dir/below/", 30);
  // These come one after the other.
  for (int i = 0; i < 3; ++i)
    local_write(fmt::format("dir/large{}", i), text_of(i).substr(0, (1U << 20U) + 1));
  local_write("dir/empty", "");
  local_write("elsewhere", bytes_);
  const SealJob sealed = done("dir", false);
  EXPECT_EQ(sealed.files, 133U);
  EXPECT_EQ(sealed.done, 133U);
  EXPECT_EQ(sealed.failed + sealed.in_use + sealed.already, 0U);
  EXPECT_EQ(sealed.done_bytes, 130U * 5000 + 3 * ((1U << 20U) + 1));
  EXPECT_TRUE(all_of("dir/below/f7") == text_of(7).substr(0, 5000));
  EXPECT_TRUE(all_of("dir/large2") == text_of(2).substr(0, (1U << 20U) + 1));
  anew();
  const SealJob again = done("dir", false);
  EXPECT_EQ(again.already, 133U);
  EXPECT_EQ(again.done, 0U);
  const SealJob unsealed = done("dir", true);
  EXPECT_EQ(unsealed.done, 133U);
  EXPECT_TRUE(local_read("dir/large0") == text_of(0).substr(0, (1U << 20U) + 1));
  EXPECT_TRUE(local_read("dir/f99") == text_of(99).substr(0, 5000));
}

TEST_P(StoreWorkerTest, a_command_for_what_is_not_there_says_so) {
  EXPECT_EQ(done("nothing", false).failed, 1U);
  EXPECT_FALSE(worker_->has("/elsewhere"));
}

}  // namespace
}  // namespace braid::server::roles::stores
