// Layouts that somebody wants back: CB_LAYOUTRECALL, what the client may answer, and who waits for it (RFC
// 8881 sections 12.5.5 and 20.3).
#include "tests/unit/pnfs_mds/layouts/recall_fixture.h"

namespace braid::pnfs_mds::layouts::test {
namespace {

TEST_F(RecallTest, a_truncation_by_another_client_waits_for_the_layout) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto granted = layoutget(*alice_, "file", layoutget_args(id));
  ASSERT_TRUE(granted);
  fill(*granted);
  const stateid4 of_bob = open(*bob_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto sent = start_truncation(*bob_, "file", 4);
  const Recalled recalled = await_recall(*alice_peer_);
  EXPECT_EQ(recalled.type, files_type);
  EXPECT_EQ(recalled.iomode, layoutiomode4::LAYOUTIOMODE4_ANY);
  EXPECT_EQ(recalled.of, layoutreturn_type4::LAYOUTRETURN4_FILE);
  EXPECT_EQ(recalled.offset, 0U);
  EXPECT_EQ(recalled.length, to_the_end);
  EXPECT_EQ(recalled.id.other, granted->id.other);
  EXPECT_EQ(recalled.id.seqid, granted->id.seqid + 1) << "Linux takes no other";
  EXPECT_FALSE(world_->ended(sent));
  EXPECT_EQ(size_of("file"), 10U);
  EXPECT_EQ(layoutcommit(*alice_, "file", granted->id), NFS4_OK);
  EXPECT_EQ(layoutget_status(*alice_, "file", layoutget_args(granted->id)), NFS4ERR_RECALLCONFLICT);
  EXPECT_EQ(layoutget_status(*alice_, "file", layoutget_args(id)), NFS4ERR_RECALLCONFLICT);
  EXPECT_EQ(layoutget_status(*bob_, "file", layoutget_args(of_bob)), NFS4ERR_RECALLCONFLICT);
  EXPECT_FALSE(world_->ended(sent));
  EXPECT_EQ(give_back(*alice_, "file", returned(recalled.id)), NFS4_OK);
  EXPECT_EQ(world_->wait(sent).status(), NFS4_OK) << "no time had to pass";
  EXPECT_EQ(size_of("file"), 4U);
  const auto after = layoutget(*alice_, "file", layoutget_args(id));
  ASSERT_TRUE(after);
  EXPECT_GT(handle_of(*after).epoch, handle_of(*granted).epoch);
  EXPECT_TRUE(layoutget(*bob_, "file", layoutget_args(of_bob)));
  EXPECT_EQ(recalls(*alice_peer_), 1U);
  EXPECT_TRUE(counted("braid_pnfs_layouts_recalled_total 1"));
  EXPECT_TRUE(counted(R"(braid_pnfs_layouts_ended_total{how="returned"} 1)"));
  EXPECT_TRUE(counted("braid_pnfs_client_bars_total 0"));
}

TEST_F(RecallTest, who_has_no_session_is_nobodys_holder) {
  const Granted granted = written_by(*alice_, "file");
  fill(granted);
  const SizeToSet to(1);
  const auto sent = world_->start(Request(0)
                                      .add(OP_PUTROOTFH)
                                      .add(OP_LOOKUP, LOOKUP4args{"file"})
                                      .add(OP_SETATTR, SETATTR4args{anonymous(), to.wire}));
  EXPECT_EQ(give_back(*alice_, "file", returned(await_recall(*alice_peer_).id)), NFS4_OK);
  EXPECT_EQ(ended(sent), NFS4_OK);
}

TEST_F(RecallTest, an_open_that_truncates_waits_too) {
  const Granted granted = written_by(*alice_, "file");
  fill(granted);
  const SizeToSet to(0);
  OPEN4args args;
  args.share_access = OPEN4_SHARE_ACCESS_BOTH;
  args.owner.owner = base::bytes_of(std::string_view("owner"));
  args.openhow = openflag4::with_how(createhow4::with_createattrs(createmode4::UNCHECKED4, to.wire));
  args.claim = open_claim4::with_file("file");
  const auto sent = world_->start(bob_->request().add(OP_PUTROOTFH).add(OP_OPEN, args), bob_->caller());
  EXPECT_EQ(give_back(*alice_, "file", returned(await_recall(*alice_peer_).id)), NFS4_OK);
  EXPECT_EQ(ended(sent), NFS4_OK);
  EXPECT_EQ(size_of("file"), 0U);
}

TEST_F(RecallTest, the_last_close_is_a_return_too) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto granted = layoutget(*alice_, "file", layoutget_args(id));
  ASSERT_TRUE(granted);
  fill(*granted);
  const auto sent = start_truncation(*bob_, "file", 4);
  (void)await_recall(*alice_peer_);
  EXPECT_EQ(close(*alice_, "file", id), NFS4_OK);
  EXPECT_EQ(world_->wait(sent).status(), NFS4_OK);
}

TEST_F(RecallTest, a_part_that_is_returned_leaves_the_rest_recalled) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto reading = layoutget(*alice_, "file", layoutget_args(id, reads));
  ASSERT_TRUE(reading);
  const auto both = layoutget(*alice_, "file", layoutget_args(reading->id));
  ASSERT_TRUE(both);
  fill(*both);
  const auto sent = start_truncation(*bob_, "file", 4);
  const Recalled recalled = await_recall(*alice_peer_);
  EXPECT_EQ(give_back(*alice_, "file", returned(recalled.id, writes)), NFS4_OK);
  EXPECT_FALSE(world_->ended(sent));
  EXPECT_EQ(give_back(*alice_, "file", returned(recalled.id, reads)), NFS4_OK);
  EXPECT_EQ(ended(sent), NFS4_OK);
}

TEST_F(RecallTest, several_holders_are_asked_and_all_waited_for) {
  const Granted of_alice = written_by(*alice_, "file");
  const Granted of_bob = written_by(*bob_, "file");
  fill(of_alice);
  CallbackPeer peer(*world_);
  SessionClient carol(*world_, 2U, "carol", Caller{.connection = peer.connection()});
  const auto sent = start_truncation(carol, "file", 4);
  EXPECT_EQ(give_back(*alice_, "file", returned(await_recall(*alice_peer_).id)), NFS4_OK);
  const Recalled second = await_recall(*bob_peer_);
  EXPECT_FALSE(world_->ended(sent));
  EXPECT_EQ(give_back(*bob_, "file", returned(second.id)), NFS4_OK);
  EXPECT_EQ(ended(sent), NFS4_OK);
}

TEST_F(RecallTest, who_waits_too_long_comes_again_and_finds_the_recall_under_way) {
  const Granted granted = written_by(*alice_, "file");
  fill(granted);
  EXPECT_EQ(ended(start_truncation(*bob_, "file", 4)), NFS4ERR_DELAY);
  EXPECT_EQ(size_of("file"), 10U);
  const auto sent = start_truncation(*bob_, "file", 4);
  EXPECT_FALSE(world_->ended(sent));
  EXPECT_EQ(give_back(*alice_, "file", returned(granted.id)), NFS4_OK);
  EXPECT_EQ(ended(sent), NFS4_OK);
  EXPECT_EQ(recalls(*alice_peer_), 1U);
  EXPECT_EQ(size_of("file"), 4U);
}

TEST_F(RecallTest, a_client_that_has_none_ends_it) {
  const Granted granted = written_by(*alice_, "file");
  fill(granted);
  alice_peer_->status = NFS4ERR_NOMATCHING_LAYOUT;
  EXPECT_EQ(world_->wait(start_truncation(*bob_, "file", 4)).status(), NFS4_OK);
  EXPECT_EQ(layouts(), 0U);
  EXPECT_EQ(recalls(*alice_peer_), 1U);
  EXPECT_EQ(give_back(*alice_, "file", returned(granted.id)), NFS4ERR_BAD_STATEID);
}

TEST_F(RecallTest, a_client_that_wants_time_is_asked_again_with_the_same_stateid) {
  fill(written_by(*alice_, "file"));
  alice_peer_->status = NFS4ERR_DELAY;
  const auto sent = start_truncation(*bob_, "file", 4);
  const Recalled first = await_recall(*alice_peer_);
  alice_peer_->status = NFS4_OK;
  const Recalled second = await_later_recall(*alice_peer_, 2);
  EXPECT_EQ(second.id, first.id);
  EXPECT_EQ(give_back(*alice_, "file", returned(second.id)), NFS4_OK);
  EXPECT_EQ(ended(sent), NFS4_OK);
}

TEST_F(RecallTest, a_client_that_is_ahead_is_asked_with_a_newer_stateid) {
  fill(written_by(*alice_, "file"));
  alice_peer_->status = NFS4ERR_OLD_STATEID;
  const auto sent = start_truncation(*bob_, "file", 4);
  const Recalled first = await_recall(*alice_peer_);
  alice_peer_->status = NFS4_OK;
  const Recalled second = await_later_recall(*alice_peer_, 2);
  EXPECT_EQ(second.id.other, first.id.other);
  EXPECT_EQ(second.id.seqid, first.id.seqid + 1);
  EXPECT_EQ(give_back(*alice_, "file", returned(second.id)), NFS4_OK);
  EXPECT_EQ(ended(sent), NFS4_OK);
}

TEST_F(RecallTest, recalled_ones_are_shown_as_such) {
  fill(written_by(*alice_, "file"));
  const auto sent = start_truncation(*bob_, "file", 4);
  const Recalled recalled = await_recall(*alice_peer_);
  const state::StatePage page = world_->engine().state().states.with([](const state::States& states) {
    return states.list({.kind = state::StateKind::layout, .client = std::nullopt});
  });
  ASSERT_EQ(page.lines.size(), 1U);
  EXPECT_TRUE(page.lines[0].recalled);
  EXPECT_EQ(page.lines[0].made, world_->clock().now());
  EXPECT_EQ(give_back(*alice_, "file", returned(recalled.id)), NFS4_OK);
  EXPECT_EQ(ended(sent), NFS4_OK);
}

// --- Opens that deny what the layout is for.

class DeniedOpens : public RecallTest {
 protected:
  // A layout to write of a client that has the file open for reading alone, by now.
  Granted left_over() {
    constexpr auto alone = OPEN4_SHARE_ACCESS_WANT_NO_DELEG;
    (void)open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH | alone);
    const stateid4 again = open(*alice_, "file", OPEN4_SHARE_ACCESS_READ | alone);
    const auto granted = layoutget(*alice_, "file", layoutget_args(again));
    EXPECT_TRUE(granted);
    OPEN_DOWNGRADE4args args;
    args.open_stateid = again;
    args.share_access = OPEN4_SHARE_ACCESS_READ;
    EXPECT_EQ(on_file(*alice_, "file", OP_OPEN_DOWNGRADE, args).status(), NFS4_OK);
    return granted.value_or(Granted());
  }
};

TEST_F(DeniedOpens, a_layout_that_allows_what_is_denied_is_recalled) {
  const Granted granted = left_over();
  EXPECT_EQ(ended(start_denying(OPEN4_SHARE_DENY_NONE)), NFS4_OK);
  EXPECT_EQ(recalls(*alice_peer_), 0U);
  EXPECT_EQ(ended(start_denying(OPEN4_SHARE_DENY_WRITE)), NFS4ERR_DELAY);
  const Recalled recalled = await_recall(*alice_peer_);
  EXPECT_EQ(recalled.id.other, granted.id.other);
  EXPECT_EQ(give_back(*alice_, "file", returned(recalled.id)), NFS4_OK);
  EXPECT_EQ(ended(start_denying(OPEN4_SHARE_DENY_WRITE)), NFS4_OK);
  EXPECT_EQ(recalls(*alice_peer_), 1U);
}

// The call may overtake the answer that brings the layout.
TEST_F(DeniedOpens, a_client_that_knows_nothing_of_a_new_layout_is_asked_again) {
  (void)left_over();
  alice_peer_->status = NFS4ERR_NOMATCHING_LAYOUT;
  EXPECT_EQ(ended(start_denying(OPEN4_SHARE_DENY_WRITE)), NFS4ERR_DELAY);
  (void)await_recall(*alice_peer_);
  alice_peer_->status = NFS4_OK;
  const Recalled again = await_later_recall(*alice_peer_, 2);
  EXPECT_EQ(ended(start_denying(OPEN4_SHARE_DENY_WRITE)), NFS4ERR_DELAY);
  EXPECT_EQ(give_back(*alice_, "file", returned(again.id)), NFS4_OK);
  EXPECT_EQ(ended(start_denying(OPEN4_SHARE_DENY_WRITE)), NFS4_OK);
}

TEST_F(DeniedOpens, a_client_that_keeps_saying_so_is_believed) {
  (void)left_over();
  alice_peer_->status = NFS4ERR_NOMATCHING_LAYOUT;
  while (ended(start_denying(OPEN4_SHARE_DENY_WRITE)) == NFS4ERR_DELAY) world_->advance(5ms);
  EXPECT_EQ(recalls(*alice_peer_), 5U);
}

TEST_F(DeniedOpens, a_layout_to_write_needs_an_open_for_writing) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const stateid4 only_reads = open(*bob_, "file", OPEN4_SHARE_ACCESS_READ);
  const auto reading = layoutget(*bob_, "file", layoutget_args(only_reads, reads));
  ASSERT_TRUE(reading);
  EXPECT_EQ(layoutget_status(*bob_, "file", layoutget_args(reading->id)), NFS4ERR_OPENMODE);
  EXPECT_EQ(layoutget_status(*bob_, "file", layoutget_args(reading->id, reads)), NFS4_OK);
  const auto of_alice = layoutget(*alice_, "file", layoutget_args(id, reads));
  ASSERT_TRUE(of_alice);
  EXPECT_EQ(layoutget_status(*alice_, "file", layoutget_args(of_alice->id)), NFS4_OK);
}

// --- Of a file system, and of all of them.

TEST_F(RecallTest, exports_that_permit_less_recall_what_they_do_not_permit) {
  (void)written_by(*alice_, "one");
  EXPECT_TRUE(
      layoutget(*alice_, "two", layoutget_args(open(*alice_, "two", OPEN4_SHARE_ACCESS_BOTH), reads)));
  EXPECT_TRUE(layoutget(*bob_, "one", layoutget_args(open(*bob_, "one", OPEN4_SHARE_ACCESS_READ), reads)));
  world_->advance(2s);
  std::vector<vfs::Export> exports = world_->resources().exports.current()->all();
  const vfs::ExportTable same(exports);
  exports.front().read_only = true;
  const vfs::ExportTable read_only(exports);
  const auto recall_by = [&](const vfs::ExportTable& table) {
    change(
        [&](state::DeferredWork& work) { layouts_->recall_unpermitted(table, world_->clock().now(), work); });
  };
  recall_by(same);
  alice_peer_->status = NFS4ERR_DELAY;
  recall_by(read_only);
  const Recalled first = await_recall(*alice_peer_);
  EXPECT_EQ(first.of, layoutreturn_type4::LAYOUTRETURN4_FSID);
  EXPECT_EQ(first.fsid.minor_, exports.front().id.value());
  EXPECT_NE(first.fsid.major_, 0U);
  EXPECT_EQ(layouts(), 3U) << "Linux says so until it has none";
  alice_peer_->status = NFS4ERR_NOMATCHING_LAYOUT;
  (void)await_later_recall(*alice_peer_, 2);
  CallbackWorld::until([&] { return layouts() == 1; });
  EXPECT_EQ(recalls(*bob_peer_), 0U) << "reading is permitted";
  bob_peer_->status = NFS4ERR_NOMATCHING_LAYOUT;
  recall_by(vfs::ExportTable({}));
  (void)await_recall(*bob_peer_);
  CallbackWorld::until([&] { return layouts() == 0; });
}

TEST_F(RecallTest, those_of_an_export_that_is_suspended_are_recalled) {
  (void)written_by(*alice_, "one");
  (void)written_by(*bob_, "two");
  world_->advance(2s);
  const vfs::ExportId own = world_->resources().exports.current()->all().front().id;
  const auto any_of = [&](vfs::ExportId from) {
    bool any = false;
    change(
        [&](state::DeferredWork& work) { any = layouts_->recall_export(from, world_->clock().now(), work); });
    return any;
  };
  EXPECT_FALSE(any_of(vfs::ExportId{own.value() + 1}));
  EXPECT_EQ(recalls(*alice_peer_), 0U);
  alice_peer_->status = NFS4ERR_NOMATCHING_LAYOUT;
  EXPECT_TRUE(any_of(own));
  EXPECT_EQ(await_recall(*alice_peer_).of, layoutreturn_type4::LAYOUTRETURN4_FSID);
  EXPECT_EQ(await_recall(*bob_peer_).of, layoutreturn_type4::LAYOUTRETURN4_FSID);
  CallbackWorld::until([&] { return layouts() == 1; });
  EXPECT_TRUE(any_of(own)) << "bob has not given back";
  EXPECT_EQ(recalls(*bob_peer_), 1U) << "he has been asked already";
}

TEST_F(RecallTest, what_the_exports_do_not_permit_is_not_granted) {
  const vfs::Address alice = *vfs::Address::parse("192.0.2.1");
  std::vector<vfs::Export> exports = world_->resources().exports.current()->all();
  const vfs::FileHandle file = exports.front().file_system->root()->handle();
  const auto permits = [&](bool writing) {
    return Layouts::permitted(vfs::ExportTable(exports), file, alice, writing);
  };
  EXPECT_TRUE(permits(true));
  exports.front().read_only = true;
  EXPECT_FALSE(permits(true));
  EXPECT_TRUE(permits(false));
  exports.front().clients = {*vfs::Network::parse("192.0.2.7")};
  EXPECT_FALSE(permits(false));
  exports.front().clients = {*vfs::Network::parse("192.0.2.0/24")};
  EXPECT_TRUE(permits(false));
  exports.front().rules.resize(1);
  exports.front().rules[0].clients = {*vfs::Network::parse("192.0.2.1")};
  EXPECT_TRUE(permits(true)) << "by a rule of its own";
  exports.front().rules[0].read_only = true;
  exports.front().read_only = false;
  EXPECT_FALSE(permits(true));
  EXPECT_TRUE(permits(false));
  exports.clear();
  EXPECT_FALSE(permits(false));
}

TEST_F(RecallTest, all_of_a_client_are_recalled_at_once) {
  const Granted one = written_by(*alice_, "one");
  (void)written_by(*alice_, "two");
  (void)written_by(*bob_, "one");
  change([&](state::DeferredWork& work) { layouts_->recall_all(alice_->id(), world_->clock().now(), work); });
  EXPECT_EQ(await_recall(*alice_peer_).of, layoutreturn_type4::LAYOUTRETURN4_ALL);
  EXPECT_EQ(layoutget_status(*alice_, "one", layoutget_args(one.id)), NFS4ERR_RECALLCONFLICT);
  const LAYOUTRETURN4args all{
      .lora_reclaim = false,
      .lora_layout_type = files_type,
      .lora_iomode = layoutiomode4::LAYOUTIOMODE4_ANY,
      .lora_layoutreturn = layoutreturn4::with_default(layoutreturn_type4::LAYOUTRETURN4_ALL)};
  EXPECT_EQ(give_back(*alice_, "one", all), NFS4_OK);
  EXPECT_EQ(layouts(), 1U);
}

// RFC 8881 2.10.6.3
TEST_F(RecallTest, a_client_that_may_not_have_its_layout_yet_is_told_which_answer_to_wait_for) {
  const Granted granted = written_by(*alice_, "file");
  fill(granted);
  const auto sent = start_truncation(*bob_, "file", 4);
  // RECLAIM_COMPLETE, OPEN, LAYOUTGET.
  EXPECT_THAT(
      alice_peer_->await(OP_CB_LAYOUTRECALL).referring,
      testing::ElementsAre(callback::ReferringCall{.session = alice_->session(), .slot = 0, .sequence = 3}));
  EXPECT_EQ(give_back(*alice_, "file", returned(granted.id)), NFS4_OK);
  EXPECT_EQ(ended(sent), NFS4_OK);
}

TEST_F(RecallTest, a_client_that_went_on_has_had_its_answer) {
  const Granted granted = written_by(*alice_, "file");
  fill(granted);
  renew(*alice_);
  const auto sent = start_truncation(*bob_, "file", 4);
  EXPECT_TRUE(alice_peer_->await(OP_CB_LAYOUTRECALL).referring.empty());
  EXPECT_EQ(give_back(*alice_, "file", returned(granted.id)), NFS4_OK);
  EXPECT_EQ(ended(sent), NFS4_OK);
}

TEST_F(RecallTest, a_recall_of_all_refers_to_each_request_once) {
  const Granted one = written_by(*alice_, "one");
  const Granted two = written_by(*alice_, "two");
  change([&](state::DeferredWork& work) { layouts_->recall_all(alice_->id(), world_->clock().now(), work); });
  const auto call = alice_peer_->await(OP_CB_LAYOUTRECALL);
  EXPECT_EQ(call.referring.size(), 1U) << "the last request of the slot";
  EXPECT_EQ(give_back(*alice_, "one", returned(one.id)), NFS4_OK);
  EXPECT_EQ(give_back(*alice_, "two", returned(two.id)), NFS4_OK);
}

}  // namespace
}  // namespace braid::pnfs_mds::layouts::test
