// How layouts end: LAYOUTRETURN, the last CLOSE, DELEGRETURN, an administrator (RFC 8881 sections 12.5.5
// and 18.44).
#include <sys/stat.h>

#include <deque>

#include "tests/unit/pnfs_mds/layouts/layouts_fixture.h"

namespace braid::pnfs_mds::layouts::test {
namespace {

TEST_F(LayoutsTest, what_is_returned_of_both_iomodes_leaves_the_other) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto first = layoutget(*alice_, "file", layoutget_args(id, reads));
  ASSERT_TRUE(first);
  const auto both = layoutget(*alice_, "file", layoutget_args(first->id, writes));
  ASSERT_TRUE(both);
  Reply reply = on_file(*alice_, "file", OP_LAYOUTRETURN, returned(both->id, writes));
  const auto result = reply.result<LAYOUTRETURN4res>(OP_LAYOUTRETURN);
  ASSERT_NE(result.lorr_stateid(), nullptr);
  ASSERT_TRUE(result.lorr_stateid()->lrs_present);
  const stateid4 left = *result.lorr_stateid()->lrs_stateid();
  EXPECT_EQ(left.other, both->id.other);
  EXPECT_EQ(left.seqid, both->id.seqid + 1);
  EXPECT_EQ(layoutcommit(*alice_, "file", left), NFS4ERR_BADIOMODE) << "nothing is written by what is left";
  EXPECT_EQ(give_back(*alice_, "file", returned(left)), NFS4_OK);
  EXPECT_EQ(layouts(), 0U);
  EXPECT_EQ(give_back(*alice_, "file", returned(left)), NFS4ERR_BAD_STATEID);
  EXPECT_EQ(layoutcommit(*alice_, "file", left), NFS4ERR_BAD_STATEID);
}

TEST_F(LayoutsTest, a_part_of_the_range_leaves_the_layout) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto granted = layoutget(*alice_, "file", layoutget_args(id));
  ASSERT_TRUE(granted);
  LAYOUTRETURN4args part = returned(granted->id);
  part.lora_layoutreturn.lr_layout()->lrf_length = 4096;
  EXPECT_EQ(give_back(*alice_, "file", part), NFS4_OK);
  EXPECT_EQ(layouts(), 1U);
}

TEST_F(LayoutsTest, all_of_a_client_go_at_once_and_no_other_clients) {
  for (const char* const name : {"one", "two"}) {
    EXPECT_TRUE(layoutget(*alice_, name, layoutget_args(open(*alice_, name, OPEN4_SHARE_ACCESS_BOTH))));
    EXPECT_TRUE(layoutget(*bob_, name, layoutget_args(open(*bob_, name, OPEN4_SHARE_ACCESS_BOTH))));
  }
  EXPECT_EQ(layouts(), 4U);
  LAYOUTRETURN4args all{
      .lora_reclaim = false,
      .lora_layout_type = files_type,
      .lora_iomode = layoutiomode4::LAYOUTIOMODE4_ANY,
      .lora_layoutreturn = layoutreturn4::with_default(layoutreturn_type4::LAYOUTRETURN4_FSID)};
  EXPECT_EQ(give_back(*alice_, "one", all), NFS4_OK);
  EXPECT_EQ(layouts(), 2U);
  all.lora_layoutreturn = layoutreturn4::with_default(layoutreturn_type4::LAYOUTRETURN4_ALL);
  EXPECT_EQ(give_back(*bob_, "one", all), NFS4_OK);
  EXPECT_EQ(layouts(), 0U);
  all.lora_reclaim = true;
  EXPECT_EQ(give_back(*bob_, "one", all), NFS4ERR_NO_GRACE);
  all.lora_layout_type = 5;
  EXPECT_EQ(give_back(*bob_, "one", all), NFS4ERR_UNKNOWN_LAYOUTTYPE);
}

TEST_F(LayoutsTest, grants_and_their_ends_are_counted) {
  static base::MetricRegistry metrics;  // outlives what the client leaves behind
  layouts_->counters().register_in(metrics);
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto first = layoutget(*alice_, "file", layoutget_args(id, reads));
  const auto both = layoutget(*alice_, "file", layoutget_args(first->id, writes));
  EXPECT_EQ(give_back(*alice_, "file", returned(both->id, writes)), NFS4_OK);
  EXPECT_TRUE(layoutget(*alice_, "file", layoutget_args(id, reads))) << "it has dropped what was left";
  const std::string text = metrics.prometheus();
  const auto has = [&](const std::string& line) { return text.find(line + "\n") != text.npos; };
  EXPECT_TRUE(has(R"(braid_pnfs_layouts_granted_total{iomode="read"} 2)")) << text;
  EXPECT_TRUE(has(R"(braid_pnfs_layouts_granted_total{iomode="read-write"} 1)"));
  EXPECT_TRUE(has(R"(braid_pnfs_layouts_ended_total{how="replaced"} 1)"));
  EXPECT_TRUE(has(R"(braid_pnfs_layouts_ended_total{how="returned"} 0)")) << "a part was left";
}

TEST_F(LayoutsTest, the_last_close_of_the_client_ends_its_layout) {
  const stateid4 first = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const stateid4 of_bob = open(*bob_, "file", OPEN4_SHARE_ACCESS_READ);
  EXPECT_TRUE(layoutget(*alice_, "file", layoutget_args(first)));
  EXPECT_TRUE(layoutget(*bob_, "file", layoutget_args(of_bob, reads)));
  EXPECT_EQ(close(*alice_, "file", first), NFS4_OK);
  EXPECT_EQ(layouts(), 1U);
  EXPECT_EQ(close(*bob_, "file", of_bob), NFS4_OK);
  EXPECT_EQ(layouts(), 0U);
}

TEST_F(LayoutsTest, servers_are_asked_when_they_are_written_to_and_not_because_they_may_be) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  EXPECT_TRUE(layoutget(*alice_, "file", layoutget_args(id)));
  EXPECT_EQ(close(*alice_, "file", id), NFS4_OK);
  (void)size_of("file");
  objects_.forget_calls();
  (void)size_of("file");
  EXPECT_EQ(objects_.calls(), 0U) << "nobody writes: nobody is asked";
  const auto granted =
      layoutget(*alice_, "file", layoutget_args(open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH)));
  ASSERT_TRUE(granted);
  (void)size_of("file");
  EXPECT_EQ(objects_.calls(), 0U) << "nobody has written yet";
  const pnfs::ObjectId object = object_of(*granted);
  written(object);
  (void)size_of("file");
  EXPECT_EQ(objects_.calls("stat"), servers);
}

TEST_F(LayoutsTest, no_older_size_is_told_while_a_server_is_silent) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto granted = layoutget(*alice_, "file", layoutget_args(id));
  ASSERT_TRUE(granted);
  write_by(*granted, 5000);
  for (std::uint32_t server = 1; server <= servers; ++server)
    objects_.set_error(pnfs::ServerNumber(server), vfs::Error::delay);
  const std::array<std::uint32_t, 1> size{1U << FATTR4_SIZE};
  const auto look = [&] {
    return alice_->send(alice_->request()
                            .add(OP_PUTROOTFH)
                            .add(OP_LOOKUP, LOOKUP4args{"file"})
                            .add(OP_GETATTR, GETATTR4args{size}));
  };
  EXPECT_EQ(look().status(), NFS4ERR_DELAY);
  const auto list = [&](std::uint32_t attributes) {
    const std::array<std::uint32_t, 1> wanted{attributes};
    READDIR4args args;
    args.dircount = args.maxcount = 4096;
    args.attr_request = wanted;
    return alice_->send(alice_->request().add(OP_PUTROOTFH).add(OP_READDIR, args)).status();
  };
  EXPECT_EQ(list(size[0]), NFS4ERR_DELAY);
  EXPECT_EQ(list(size[0] | 1U << FATTR4_RDATTR_ERROR), NFS4_OK);
  for (std::uint32_t server = 1; server <= servers; ++server)
    objects_.set_error(pnfs::ServerNumber(server), std::nullopt);
  EXPECT_EQ(size_of("file"), 5000U);
}

TEST_F(LayoutsTest, a_file_loses_its_privileges_before_it_is_written_to) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto granted = layoutget(*alice_, "file", layoutget_args(id));
  ASSERT_TRUE(granted);
  const std::string path = world_->directory() + "/file";
  ASSERT_EQ(::chmod(path.c_str(), 06755), 0);
  written(object_of(*granted));
  struct stat now{};
  ASSERT_EQ(::stat(path.c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 07777U, 0755U);
  ASSERT_EQ(::chmod(path.c_str(), 06755), 0);
  (void)size_of("file");
  ASSERT_EQ(::stat(path.c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 07777U, 06755U) << "who sets them after the write has them";
  // Nobody knows the file: whoever settles it next does it.
  EXPECT_EQ(close(*alice_, "file", id), NFS4_OK);
  written(object_of(*granted));
  (void)size_of("file");
  ASSERT_EQ(::stat(path.c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 07777U, 0755U);
}

TEST_F(LayoutsTest, the_lowest_grant_in_use_follows_the_layouts) {
  const auto grant_of = [&](const Granted& granted) {
    for (std::uint32_t server = 1; server <= servers; ++server)
      if (const auto handle = opened(server, granted.handles[0])) return handle->grant;
    return pnfs::GrantNumber();
  };
  const auto lowest = [&] { return layouts_->grants().lowest(); };
  const pnfs::GrantNumber none = lowest();
  const stateid4 one = open(*alice_, "one", OPEN4_SHARE_ACCESS_BOTH);
  const stateid4 two = open(*alice_, "two", OPEN4_SHARE_ACCESS_BOTH);
  const auto first = layoutget(*alice_, "one", layoutget_args(one, reads));
  const auto second = layoutget(*alice_, "two", layoutget_args(two));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(grant_of(*first), none);
  const auto again = layoutget(*alice_, "one", layoutget_args(first->id, writes));
  ASSERT_TRUE(again);
  EXPECT_EQ(lowest(), grant_of(*first)) << "the client may use what it got first";
  EXPECT_EQ(give_back(*alice_, "one", returned(again->id)), NFS4_OK);
  EXPECT_EQ(lowest(), grant_of(*second));
  EXPECT_EQ(close(*alice_, "two", two), NFS4_OK);
  EXPECT_GT(lowest(), grant_of(*again)) << "nobody has a layout";
}

TEST(LiveGrants, a_number_that_is_being_taken_holds_the_lowest_down) {
  fake::Objects objects;
  const base::SystemClock clock;
  std::string directory = testing::TempDir() + "live_grants_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  ClusterOptions options;
  options.state_dir = directory;
  auto cluster = Cluster::open(options, clock, objects);
  ASSERT_TRUE(cluster.has_value());
  Grants& numbers = (*cluster)->grants();
  const auto take = [&] {
    auto taking = numbers.next(1);
    taking.start({});
    return *taking.result();
  };
  LiveGrants live(numbers);
  const pnfs::GrantNumber before = live.lowest();
  LiveGrants::Hold early = live.begin();
  const pnfs::GrantNumber first = take();
  const pnfs::GrantNumber second = take();
  EXPECT_EQ(live.lowest(), before) << "it may become any of them";
  early.narrow(second);
  EXPECT_EQ(live.lowest(), second);
  EXPECT_LT(first, live.lowest());
  early = {};
  EXPECT_GT(live.lowest(), second);
  cluster->reset();
  std::filesystem::remove_all(directory);
}

TEST_F(LayoutsTest, layouts_of_a_file_are_told_apart_by_their_clients) {
  constexpr std::size_t clients = 12;
  std::vector<std::unique_ptr<CallbackPeer>> peers;
  std::deque<SessionClient> all;
  std::vector<std::pair<stateid4, stateid4>> held;  // an open and a layout
  for (std::size_t i = 0; i < clients; ++i) {
    peers.push_back(std::make_unique<CallbackPeer>(*world_));
    SessionClient& client = all.emplace_back(*world_, 1U, "client " + std::to_string(i),
                                             Caller{.connection = peers.back()->connection()});
    const stateid4 id = open(client, "file", OPEN4_SHARE_ACCESS_BOTH);
    const auto granted = layoutget(client, "file", layoutget_args(id));
    ASSERT_TRUE(granted) << i;
    held.emplace_back(id, granted->id);
  }
  EXPECT_EQ(layouts(), clients);
  for (const std::size_t i : {5U, 0U, 11U, 7U}) {
    EXPECT_EQ(give_back(all[i], "file", returned(held[i].second)), NFS4_OK);
    const auto again = layoutget(all[i], "file", layoutget_args(held[i].first));
    ASSERT_TRUE(again) << i;
    EXPECT_EQ(layouts(), clients);
    EXPECT_EQ(close(all[i], "file", held[i].first), NFS4_OK) << "which ends its own";
    EXPECT_EQ(layouts(), clients - 1);
    const stateid4 id = open(all[i], "file", OPEN4_SHARE_ACCESS_BOTH);
    EXPECT_TRUE(layoutget(all[i], "file", layoutget_args(id)));
  }
  all.clear();
}

TEST_F(LayoutsTest, what_an_administrator_takes_back_is_gone_without_a_flag) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto granted = layoutget(*alice_, "file", layoutget_args(id));
  ASSERT_TRUE(granted);
  world_->on_engine(
      [&](Nfs4Engine& engine) -> io::Op<> { (void)co_await engine.revoke(alice_->id()).as_result(); });
  EXPECT_EQ(give_back(*alice_, "file", returned(granted->id)), NFS4ERR_BAD_STATEID);
  world_->tick();
  EXPECT_EQ(layouts(), 0U) << "no FREE_STATEID comes for a layout";
}

TEST_F(LayoutsTest, layouts_go_with_their_client) {
  EXPECT_TRUE(layoutget(*alice_, "file", layoutget_args(open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH))));
  world_->on_engine(
      [&](Nfs4Engine& engine) -> io::Op<> { (void)co_await engine.evict(alice_->id()).as_result(); });
  EXPECT_EQ(layouts(), 0U);
}

}  // namespace
}  // namespace braid::pnfs_mds::layouts::test
