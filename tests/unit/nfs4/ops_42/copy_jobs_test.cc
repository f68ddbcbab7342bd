// Copies in the background: their stateids, their end, and who hears of it.
#include "nfs4/copy_jobs.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "nfs4/state/clients/client_table.h"
#include "nfs4/state/state_id.h"
#include "vfs/faulty/faulty.h"
#include "vfs/posix/file_system.h"

namespace braid::nfs4 {
namespace {

constexpr clientid4 alice = 7;
constexpr clientid4 bob = 8;

state::ClientRef client_of(clientid4 id) {
  return std::make_shared<state::Client>(id, state::Introduction{}, base::TimePoint());
}

class CopyJobsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/copies-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    std::ofstream(directory_ + "/from") << text_;
    std::ofstream(directory_ + "/to");
    vfs::posix::PosixOptions options;
    options.directory = directory_;
    options.slabs = &slabs_;
    options.tree.sync = false;
    fs_ = std::make_shared<vfs::FaultyFileSystem>(vfs::posix::PosixFileSystem::open(options, clock_).value());
    reactor_ = io::Reactor::create({.ring_entries = 16}, clock_).value();
    thread_ = std::jthread([this] { reactor_->run(); });
    make_jobs({});
  }
  void TearDown() override {
    close_jobs();
    jobs_.reset();
    reactor_->stop();
    thread_.join();
    fs_.reset();
    std::filesystem::remove_all(directory_);
  }
  void make_jobs(const CopyJobLimits& limits) {
    CopyCallbacks callbacks{.reachable = [this](clientid4 /*client*/) { return reachable_; },
                            .tell = [this](clientid4 client, CB_OFFLOAD4args args) -> io::Op<bool> {
                              told_.push_back({client, args.coa_stateid, args.coa_offload_info});
                              return answers_;
                            }};
    jobs_.emplace(*reactor_, std::move(callbacks), 5, limits);
  }
  template <class T>
  static T run(vfs::VfsOp<T> op) {
    op.start({});
    return std::move(op.result()).value();
  }
  vfs::OpenFileRef open(std::string_view name, vfs::OpenAccess access) {
    const vfs::Credentials who;
    const vfs::FileRef root = fs_->root();
    const vfs::FileRef file = run(fs_->lookup(who, root, name)).file;
    return run(fs_->open(who, file, access, vfs::OpenRule::caller));
  }
  std::optional<stateid4> start(clientid4 client = alice) { return start(client_of(client)); }
  std::optional<stateid4> start(state::ClientRef client, io::PeerId peer = {}) {
    return jobs_->start({.client = std::move(client),
                         .who = {},
                         .from = open("from", vfs::OpenAccess::read),
                         .to = open("to", vfs::OpenAccess::write),
                         .from_offset = 0,
                         .to_offset = 0,
                         .length = text_.size(),
                         .peer = peer});
  }
  // Calls f on the reactor's thread, where nothing else runs meanwhile.
  template <class F>
  auto on_reactor(F f) {
    std::packaged_task<std::invoke_result_t<F>()> task(std::move(f));
    auto result = task.get_future();
    reactor_->post(std::function<void()>([&task] { task(); }));
    return result.get();
  }
  // Waits for `done`, asked on the reactor's thread.
  template <class F>
  void until(F done) {
    while (!on_reactor(done)) std::this_thread::yield();
  }
  // What `make` makes, to its end.
  template <class F>
  auto await(F make) {
    std::optional<std::invoke_result_t<F>> op;
    on_reactor([&] {
      op.emplace(make());
      op->start({});
    });
    until([&] { return op->done(); });
    return on_reactor([&] {
      auto result = std::move(op->result());
      op.reset();
      return result;
    });
  }
  void close_jobs() {
    EXPECT_TRUE(await([&] { return jobs_->close(); }));
  }
  bool cancel(clientid4 client, const stateid4& id) {
    return await([&] { return jobs_->cancel(client, id); }).value_or(false);
  }
  // A copy whose second slice has been asked for and is late.
  stateid4 start_slowly() {
    fs_->inject({.operation = vfs::Operation::copy, .skip = 1, .delay = std::chrono::milliseconds(100)});
    const auto id = start();
    until([&] { return jobs_->status(alice, *id)->copied == slice_bytes; });
    return *id;
  }
  [[nodiscard]] std::string copied() const {
    std::ostringstream out;
    out << std::ifstream(directory_ + "/to").rdbuf();
    return out.str();
  }

  struct Told {
    clientid4 client = 0;
    stateid4 id;
    offload_info4 info;
  };
  static constexpr std::size_t slice_bytes = 4 * base::MiB;
  const std::string text_ = std::string(10 * base::MiB, 'x') + "end";
  base::SystemClock clock_;
  io::SlabPool slabs_{{.bytes_max = io::region_bytes, .huge_pages = false}};
  std::string directory_;
  std::shared_ptr<vfs::FaultyFileSystem> fs_;
  std::unique_ptr<io::Reactor> reactor_;
  std::jthread thread_;  // of the reactor
  std::optional<CopyJobs> jobs_;
  std::vector<Told> told_;
  bool reachable_ = true;
  bool answers_ = true;
};

TEST_F(CopyJobsTest, a_copy_goes_to_its_end_and_the_client_is_told) {
  const auto id = start();
  ASSERT_TRUE(id);
  EXPECT_EQ(state::unpack(id->other)->kind, state::StateKind::copy);
  until([&] { return !told_.empty(); });
  EXPECT_EQ(copied(), text_);
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].client, alice);
  EXPECT_EQ(told_[0].id.other, id->other);
  ASSERT_NE(told_[0].info.coa_resok4(), nullptr);
  EXPECT_EQ(told_[0].info.coa_resok4()->wr_count, text_.size());
  until([&] { return !jobs_->status(alice, *id); });
}

TEST_F(CopyJobsTest, only_the_client_that_began_it_may_ask_and_cancel) {
  const stateid4 id = start_slowly();
  EXPECT_TRUE(jobs_->status(alice, id));
  EXPECT_FALSE(jobs_->status(alice, id)->ended);
  EXPECT_FALSE(jobs_->status(bob, id));
  EXPECT_FALSE(cancel(bob, id));
  stateid4 other = id;
  other.seqid = 2;
  EXPECT_FALSE(jobs_->status(alice, other));
  EXPECT_TRUE(cancel(alice, id));
  EXPECT_FALSE(jobs_->status(alice, id));
}

// What has been asked of the file system cannot be taken back: the second slice is there when this returns.
TEST_F(CopyJobsTest, who_cancels_a_copy_waits_for_the_slice_that_is_on_its_way) {
  const stateid4 id = start_slowly();
  EXPECT_TRUE(cancel(alice, id));
  EXPECT_EQ(copied().size(), 2 * slice_bytes);
  close_jobs();
  EXPECT_EQ(copied().size(), 2 * slice_bytes);
  EXPECT_TRUE(told_.empty());
}

TEST_F(CopyJobsTest, the_state_of_a_client_that_goes_waits_for_its_slices) {
  start_slowly();
  EXPECT_FALSE(jobs_->stopping(alice));
  on_reactor([&] { jobs_->cancel_all(alice); });
  EXPECT_TRUE(await([&] { return jobs_->stopped(bob); })) << "has nothing to wait for";
  EXPECT_TRUE(await([&] { return jobs_->stopped(alice); }));
  EXPECT_FALSE(jobs_->stopping(alice));
  EXPECT_EQ(copied().size(), 2 * slice_bytes);
}

// A COPY may be on its way when its client goes.
TEST_F(CopyJobsTest, nothing_begins_for_a_client_that_is_gone) {
  state::ClientTable table({}, 5, {}, [](clientid4) { return false; });
  const base::TimePoint now;
  state::Introduction who;
  who.minor_version = 2;
  const auto met = table.exchange_id(std::move(who), false, now);
  state::CreateSessionRequest request{};
  request.client = met->client;
  request.sequence = met->sequence;
  request.fore = request.back = {.request_bytes_max = 8192,
                                 .response_bytes_max = 8192,
                                 .cached_bytes_max = 2048,
                                 .operations_max = 16,
                                 .slots = 8};
  const auto made = table.create_session(request, now);
  ASSERT_TRUE(made);
  const state::ClientRef client = table.find_session(made->session)->client;
  EXPECT_TRUE(start(client));
  table.remove(client->id, state::ExpiryReason::evicted);
  EXPECT_FALSE(start(client));
}

TEST_F(CopyJobsTest, the_copies_of_a_client_that_goes_end_and_those_of_others_go_on) {
  std::optional<stateid4> gone;
  std::optional<stateid4> stays;
  on_reactor([&] {
    gone = start(alice);
    stays = start(bob);
    jobs_->cancel_all(alice);
    EXPECT_FALSE(jobs_->status(alice, *gone));
    EXPECT_TRUE(jobs_->status(bob, *stays));
  });
  until([&] { return !told_.empty(); });
  close_jobs();
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].client, bob);
}

TEST_F(CopyJobsTest, a_failure_is_reported_with_what_was_copied) {
  fs_->inject({.operation = vfs::Operation::copy, .skip = 1, .times = 1, .error = vfs::Error::nospc});
  ASSERT_TRUE(start());
  until([&] { return !told_.empty(); });
  EXPECT_EQ(told_[0].info.coa_status, nfsstat4::NFS4ERR_NOSPC);
  ASSERT_NE(told_[0].info.coa_bytes_copied(), nullptr);
  EXPECT_EQ(*told_[0].info.coa_bytes_copied(), 4 * base::MiB);
}

TEST_F(CopyJobsTest, a_client_that_does_not_answer_may_still_ask) {
  answers_ = false;
  const auto id = start();
  until([&] { return !told_.empty(); });
  const auto status = jobs_->status(alice, *id);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->ended, nfsstat4::NFS4_OK);
  EXPECT_EQ(status->copied, text_.size());
}

TEST_F(CopyJobsTest, there_are_so_many_of_a_client_and_ended_ones_give_way) {
  make_jobs({.per_client = 2, .together = 3});
  answers_ = false;
  std::optional<stateid4> first;
  on_reactor([&] {
    first = start();
    EXPECT_TRUE(start());
    EXPECT_FALSE(start()) << "two are running";
    EXPECT_TRUE(start(bob));
    EXPECT_FALSE(start(9)) << "three are running";
  });
  until([&] { return told_.size() >= 3; });
  EXPECT_TRUE(start(9));
  EXPECT_FALSE(jobs_->status(alice, *first)) << "the oldest one that ended";
}

TEST_F(CopyJobsTest, without_a_way_to_the_client_nothing_begins) {
  reachable_ = false;
  EXPECT_FALSE(start());
  reachable_ = true;
  close_jobs();
  EXPECT_FALSE(start());
}

TEST_F(CopyJobsTest, an_address_has_a_share_of_all_copies_however_many_clients_it_has) {
  make_jobs({.per_client = 4, .together = 48});
  const auto start_all = [&](clientid4 first, io::PeerId peer) {
    int started = 0;
    for (clientid4 client = first; client < first + 40; ++client)
      started += start(client_of(client), peer) ? 1 : 0;
    return started;
  };
  on_reactor([&] {
    EXPECT_EQ(start_all(100, io::PeerId(1)), 16);
    EXPECT_EQ(start_all(200, io::PeerId(2)), 16);
    EXPECT_TRUE(start(client_of(300), io::PeerId(3)));
  });
}

}  // namespace
}  // namespace braid::nfs4
