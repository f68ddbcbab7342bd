// LAYOUTGET: who gets a layout, and what it says (RFC 8881 sections 13.3 and 18.43).
#include <set>

#include "tests/unit/pnfs_mds/layouts/layouts_fixture.h"

namespace braid::pnfs_mds::layouts::test {
namespace {

TEST_F(LayoutsTest, a_new_file_gets_a_layout_of_all_its_servers) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto granted = layoutget(*alice_, "file", layoutget_args(id));
  ASSERT_TRUE(granted);
  EXPECT_TRUE(granted->return_on_close);
  EXPECT_EQ(granted->layout.lo_offset, 0U);
  EXPECT_EQ(granted->layout.lo_length, to_the_end);
  EXPECT_EQ(granted->layout.lo_iomode, layoutiomode4::LAYOUTIOMODE4_RW);
  EXPECT_EQ(granted->file.nfl_util, unit);
  EXPECT_EQ(granted->file.nfl_pattern_offset, 0U);
  EXPECT_LT(granted->file.nfl_first_stripe_index, servers);
  ASSERT_EQ(granted->handles.size(), servers) << "as many as there are servers: Linux splits I/O only then";
  EXPECT_EQ(granted->id.seqid, 1U);
  EXPECT_EQ(layouts(), 1U);
}

TEST_F(LayoutsTest, each_handle_is_for_its_server_object_and_client) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto granted = layoutget(*alice_, "file", layoutget_args(id));
  ASSERT_TRUE(granted);
  std::optional<pnfs::ObjectId> object;
  std::set<std::uint32_t> indices;
  for (std::uint32_t i = 0; i < servers; ++i) {
    std::optional<pnfs::DataHandle> handle;
    for (std::uint32_t server = 1; server <= servers && !handle; ++server)
      handle = opened(server, granted->handles[i]);
    ASSERT_TRUE(handle);
    EXPECT_TRUE(indices.insert(handle->index).second) << "each object once";
    if (i == granted->file.nfl_first_stripe_index) {
      EXPECT_EQ(handle->index, handle->striping.first) << "the first stripe unit is in the first object";
    }
    EXPECT_EQ(handle->iomode, pnfs::Iomode::read_write);
    EXPECT_EQ(handle->client, pnfs::client_tag(cluster_->id(), base::bytes_of(std::string_view("alice"))));
    EXPECT_EQ(handle->size, 0U);
    EXPECT_EQ(handle->object, object.value_or(handle->object));
    object = handle->object;
  }
}

TEST_F(LayoutsTest, a_stateid_is_asked_for_what_it_allows) {
  const stateid4 writer = open(*alice_, "file", OPEN4_SHARE_ACCESS_WRITE);
  const stateid4 reader = open(*bob_, "file", OPEN4_SHARE_ACCESS_READ);
  EXPECT_EQ(layoutget_status(*bob_, "file", layoutget_args(reader)), NFS4ERR_OPENMODE);
  EXPECT_EQ(layoutget_status(*bob_, "file", layoutget_args(writer)), NFS4ERR_BAD_STATEID) << "another's";
  EXPECT_EQ(layoutget_status(*bob_, "file", layoutget_args(anonymous())), NFS4ERR_BAD_STATEID);
  EXPECT_EQ(layoutget_status(*bob_, "file", layoutget_args(reader, reads)), NFS4_OK);
  EXPECT_EQ(layoutget_status(*alice_, "file", layoutget_args(writer)), NFS4_OK);
  EXPECT_EQ(layouts(), 2U) << "several writers and readers at once are normal";
}

TEST_F(LayoutsTest, a_layout_stateid_asks_for_more_and_its_seqid_counts) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto first = layoutget(*alice_, "file", layoutget_args(id, reads));
  ASSERT_TRUE(first);
  const auto second = layoutget(*alice_, "file", layoutget_args(first->id));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->id.other, first->id.other);
  EXPECT_EQ(second->id.seqid, 2U);
  EXPECT_TRUE(layoutget(*alice_, "file", layoutget_args(first->id)))
      << "several may be under way with one seqid";
  stateid4 later = second->id;
  later.seqid += 7;
  EXPECT_EQ(layoutget_status(*alice_, "file", layoutget_args(later)), NFS4ERR_BAD_STATEID);
  EXPECT_EQ(layouts(), 1U);
}

TEST_F(LayoutsTest, who_comes_with_an_open_again_has_forgotten_its_layout) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto first = layoutget(*alice_, "file", layoutget_args(id));
  const auto second = layoutget(*alice_, "file", layoutget_args(id));
  ASSERT_TRUE(first && second);
  EXPECT_NE(second->id.other, first->id.other);
  EXPECT_EQ(second->id.seqid, 1U);
  EXPECT_EQ(layouts(), 1U);
  EXPECT_EQ(give_back(*alice_, "file", returned(first->id)), NFS4ERR_BAD_STATEID);
}

TEST_F(LayoutsTest, bad_arguments_are_refused) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto status_of_changed = [&](const std::function<void(LAYOUTGET4args&)>& change) {
    LAYOUTGET4args args = layoutget_args(id);
    change(args);
    return layoutget_status(*alice_, "file", args);
  };
  EXPECT_EQ(status_of_changed([](auto& a) { a.loga_layout_type = 4; }), NFS4ERR_UNKNOWN_LAYOUTTYPE);
  EXPECT_EQ(status_of_changed([](auto& a) { a.loga_iomode = layoutiomode4::LAYOUTIOMODE4_ANY; }),
            NFS4ERR_BADIOMODE);
  EXPECT_EQ(status_of_changed([](auto& a) { a.loga_length = 0; }), NFS4ERR_INVAL);
  EXPECT_EQ(status_of_changed([](auto& a) { a.loga_length = 4095; }), NFS4ERR_INVAL)
      << "less than the minimum";
  EXPECT_EQ(status_of_changed([](auto& a) {
              a.loga_offset = 4096;
              a.loga_length = to_the_end - 1;
            }),
            NFS4ERR_INVAL)
      << "beyond 64 bits";
  EXPECT_EQ(status_of_changed([](auto& a) { a.loga_maxcount = 100; }), NFS4ERR_TOOSMALL);
  EXPECT_EQ(layouts(), 0U);
}

TEST_F(LayoutsTest, what_is_not_striped_has_no_layout) {
  world_->write_local("plain", "some bytes");
  const stateid4 id = open(*alice_, "plain", OPEN4_SHARE_ACCESS_BOTH);
  EXPECT_EQ(layoutget_status(*alice_, "plain", layoutget_args(id)), NFS4ERR_LAYOUTUNAVAILABLE);
  Request request = alice_->request().add(OP_PUTROOTFH).add(OP_LAYOUTGET, layoutget_args(id));
  const nfsstat4 of_root = alice_->send(request).status();
  EXPECT_TRUE(of_root == NFS4ERR_BAD_STATEID || of_root == NFS4ERR_LAYOUTUNAVAILABLE);
}

TEST_F(LayoutsTest, a_client_that_cannot_be_called_gets_none) {
  SessionClient carol(*world_, 2, "carol", {.address = "192.0.2.3"});
  const stateid4 id = open(carol, "file", OPEN4_SHARE_ACCESS_BOTH);
  EXPECT_EQ(layoutget_status(carol, "file", layoutget_args(id)), NFS4ERR_LAYOUTUNAVAILABLE);
}

TEST_F(LayoutsTest, before_reclaim_complete_there_is_grace) {
  CallbackPeer peer(*world_);
  SessionClient dave(*world_, 2, "dave", {.address = "192.0.2.4", .connection = peer.connection()}, false);
  open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  EXPECT_EQ(layoutget_status(dave, "file", layoutget_args(anonymous())), NFS4ERR_GRACE);
}

TEST_F(LayoutsTest, what_was_written_under_a_layout_is_in_the_size) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto granted = layoutget(*alice_, "file", layoutget_args(id));
  ASSERT_TRUE(granted);
  write_by(*granted, 5000);
  EXPECT_EQ(size_of("file"), 5000U);
  EXPECT_EQ(layoutcommit(*alice_, "file", granted->id), NFS4_OK);
  const auto again =
      layoutget(*bob_, "file", layoutget_args(open(*bob_, "file", OPEN4_SHARE_ACCESS_READ), reads));
  ASSERT_TRUE(again);
  for (std::uint32_t server = 1; server <= servers; ++server)
    if (const auto handle = opened(server, again->handles[0])) {
      EXPECT_EQ(handle->size, 5000U);
      EXPECT_EQ(handle->iomode, pnfs::Iomode::read);
    }
}

// As Linux sends it.
TEST_F(LayoutsTest, a_getattr_behind_layoutcommit_takes_what_that_has_found) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto granted = layoutget(*alice_, "file", layoutget_args(id));
  ASSERT_TRUE(granted);
  Reply found =
      alice_->send(alice_->request().add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"file"}).add(OP_GETFH));
  EXPECT_EQ(found.status_of(OP_PUTROOTFH), NFS4_OK);
  EXPECT_EQ(found.status_of(OP_LOOKUP), NFS4_OK);
  const auto getfh = found.result<GETFH4res>(OP_GETFH);
  ASSERT_EQ(getfh.status, NFS4_OK);
  const base::Bytes handle(getfh.resok4()->object.begin(), getfh.resok4()->object.end());
  const std::array<std::uint32_t, 1> wanted{1U << FATTR4_SIZE};
  const auto commit = [&] {
    Reply reply = alice_->send(alice_->request()
                                   .add(OP_PUTFH, PUTFH4args{handle})
                                   .add(OP_LAYOUTCOMMIT, layoutcommit_args(granted->id))
                                   .add(OP_GETATTR, GETATTR4args{wanted}));
    EXPECT_EQ(reply.status_of(OP_PUTFH), NFS4_OK);
    const auto newsize = reply.result<LAYOUTCOMMIT4res>(OP_LAYOUTCOMMIT);
    EXPECT_EQ(newsize.locr_status, NFS4_OK);
    const std::uint64_t size = number_in(reply);
    EXPECT_EQ(*newsize.locr_resok4()->locr_newsize.ns_size(), size);
    return size;
  };
  write_by(*granted, 1000);
  EXPECT_EQ(commit(), 1000U);
  write_by(*granted, 2000);
  EXPECT_EQ(commit(), 2000U);
  EXPECT_EQ(objects_.expecting(), servers) << "the second in a row";
  write_unannounced(*granted, 3000);
  EXPECT_EQ(commit(), 3000U);
  EXPECT_EQ(objects_.calls("stat"), 3 * servers) << "LAYOUTCOMMIT alone asks";
  write_unannounced(*granted, 4000);
  EXPECT_EQ(size_of(*bob_, "file"), 4000U);
}

// As Linux opens a new file. It is placed by that LAYOUTGET, which moves the change attribute.
TEST_F(LayoutsTest, a_getattr_behind_layoutget_tells_what_is_so_then) {
  OPEN4args args;
  args.share_access = OPEN4_SHARE_ACCESS_BOTH;
  args.owner.owner = base::bytes_of(std::string_view("owner"));
  args.openhow = openflag4::with_how(createhow4::with_createattrs(createmode4::UNCHECKED4, fattr4()));
  args.claim = open_claim4::with_file("new");
  const stateid4 of_open{.seqid = 1, .other = {}};  // RFC 8881 16.2.3.1.2: the current one
  const std::array<std::uint32_t, 1> wanted{1U << FATTR4_CHANGE};
  Reply reply = alice_->send(alice_->request()
                                 .add(OP_PUTROOTFH)
                                 .add(OP_OPEN, args)
                                 .add(OP_GETATTR, GETATTR4args{wanted})
                                 .add(OP_LAYOUTGET, layoutget_args(of_open))
                                 .add(OP_GETATTR, GETATTR4args{wanted}));
  EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
  EXPECT_EQ(reply.result<OPEN4res>(OP_OPEN).status, NFS4_OK);
  const std::uint64_t before = number_in(reply);
  EXPECT_EQ(reply.result<LAYOUTGET4res>(OP_LAYOUTGET).logr_status, NFS4_OK);
  const std::uint64_t behind = number_in(reply);
  Reply later = on_file(*alice_, "new", OP_GETATTR, GETATTR4args{wanted});
  EXPECT_EQ(number_in(later), behind);
  EXPECT_GT(behind, before);
}

TEST_F(LayoutsTest, a_truncation_raises_the_epoch_of_what_is_granted_next) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto before = layoutget(*alice_, "file", layoutget_args(id));
  ASSERT_TRUE(before);
  write_by(*before, 5000);
  const auto sent = start_truncation(*bob_, "file", 5);
  (void)alice_peer_->await(nfs_cb_opnum4::OP_CB_LAYOUTRECALL);
  EXPECT_EQ(give_back(*alice_, "file", returned(before->id)), NFS4_OK);
  EXPECT_EQ(ended(sent), NFS4_OK);
  const auto after = layoutget(*alice_, "file", layoutget_args(id));
  ASSERT_TRUE(before && after);
  EXPECT_GT(handle_of(*after).epoch, handle_of(*before).epoch);
}

TEST_F(LayoutsTest, a_truncation_by_the_holder_leaves_its_handles_in_force) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto first = layoutget(*alice_, "file", layoutget_args(id));
  ASSERT_TRUE(first);
  objects_.put(pnfs::ServerNumber(1), {handle_of(*first).object, 0}, 0, "some bytes");
  EXPECT_EQ(truncate(*alice_, "file", 0, id), NFS4_OK);
  EXPECT_EQ(truncate(*alice_, "file", 5, anonymous()), NFS4_OK);
  (void)open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH, 0);
  const auto second = layoutget(*alice_, "file", layoutget_args(first->id));
  ASSERT_TRUE(second);
  EXPECT_EQ(handle_of(*second).epoch, handle_of(*first).epoch);
  EXPECT_EQ(size_of("file"), 0U);
  for (const CallbackPeer::Call& call : alice_peer_->calls())
    EXPECT_NE(call.op, nfs_cb_opnum4::OP_CB_LAYOUTRECALL);
}

TEST(EndedGrantsTest, clients_have_nothing_to_do_with_each_other_as_long_as_they_are_few) {
  EndedGrants ended;
  using pnfs::GrantNumber;
  EXPECT_TRUE(ended.all_before(1, GrantNumber(1)));
  ended.note(1, GrantNumber(5));
  ended.note(1, GrantNumber(4));
  EXPECT_FALSE(ended.all_before(1, GrantNumber(5)));
  EXPECT_TRUE(ended.all_before(1, GrantNumber(6)));
  EXPECT_TRUE(ended.all_before(2, GrantNumber(1)));
  for (clientid4 client = 2; client <= EndedGrants::clients_max + 1; ++client)
    ended.note(client, GrantNumber(9));
  EXPECT_FALSE(ended.all_before(1, GrantNumber(9)));
  EXPECT_TRUE(ended.all_before(1, GrantNumber(10)));
}

// Linux opens a file that is there, gets its layout, and cuts it then.
TEST_F(LayoutsTest, a_truncation_by_the_holder_ends_what_others_have_had) {
  const stateid4 of_bob = open(*bob_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto others = layoutget(*bob_, "file", layoutget_args(of_bob));
  ASSERT_TRUE(others);
  write_by(*others, 100);
  EXPECT_EQ(close(*bob_, "file", of_bob), NFS4_OK);
  const stateid4 before = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  ASSERT_TRUE(layoutget(*alice_, "file", layoutget_args(before)));
  EXPECT_EQ(close(*alice_, "file", before), NFS4_OK);
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto read_only = layoutget(*alice_, "file", layoutget_args(id, reads));
  ASSERT_TRUE(read_only);
  const auto granted = layoutget(*alice_, "file", layoutget_args(read_only->id));
  ASSERT_TRUE(granted);
  const pnfs::DataHandle handle = handle_of(*granted);
  EXPECT_EQ(truncate(*alice_, "file", 0, id), NFS4_OK);
  const pnfs::KeptHandles expected{.client = handle.client, .from = handle.grant};
  for (std::uint32_t index = 0; index < servers; ++index) {
    const pnfs::ServerNumber server(index + 1);
    for (std::uint32_t i = 0; i < servers; ++i) {
      const ObjectKey key{handle.object, i};
      if (objects_.epoch(server, key) == pnfs::Epoch()) continue;
      EXPECT_EQ(objects_.epoch(server, key).value(), handle.epoch.value() + 1);
      EXPECT_EQ(objects_.kept(server, key), expected);
    }
  }
  EXPECT_EQ(close(*alice_, "file", id), NFS4_OK);
  const stateid4 again = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto next = layoutget(*alice_, "file", layoutget_args(again));
  ASSERT_TRUE(next);
  EXPECT_EQ(truncate(*alice_, "file", 5, again), NFS4_OK);
  EXPECT_EQ(handle_of(*layoutget(*alice_, "file", layoutget_args(next->id))).epoch.value(),
            handle.epoch.value() + 2)
      << "what was returned has ended";
}

// Nobody knows which of them the client has returned.
TEST_F(LayoutsTest, a_layout_that_began_before_another_one_ended_is_not_kept) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const stateid4 of_other = open(*alice_, "other", OPEN4_SHARE_ACCESS_BOTH);
  const auto first = layoutget(*alice_, "file", layoutget_args(id));
  ASSERT_TRUE(first);
  write_by(*first, 100);
  const pnfs::DataHandle handle = handle_of(*first);
  EXPECT_EQ(give_back(*alice_, "file", returned(first->id)), NFS4_OK);
  for (std::uint32_t server = 1; server <= servers; ++server)
    objects_.set_slow(pnfs::ServerNumber(server), std::chrono::milliseconds(3));
  written(handle.object);
  const vfs::FileHandle file = cluster_->source().living(handle.object)->file();
  const auto sent = world_->start(
      alice_->request(1).add(OP_PUTFH, PUTFH4args{file.view()}).add(OP_LAYOUTGET, layoutget_args(id)),
      alice_->caller());
  const auto other = layoutget(*alice_, "other", layoutget_args(of_other));
  ASSERT_TRUE(other);
  EXPECT_EQ(give_back(*alice_, "other", returned(other->id)), NFS4_OK);
  EXPECT_FALSE(world_->ended(sent));
  EXPECT_EQ(ended(sent), NFS4_OK);
  for (std::uint32_t server = 1; server <= servers; ++server)
    objects_.set_slow(pnfs::ServerNumber(server), {});
  EXPECT_EQ(truncate(*alice_, "file", 0, id), NFS4_OK);
  for (std::uint32_t server = 1; server <= servers; ++server)
    for (std::uint32_t i = 0; i < servers; ++i) {
      EXPECT_NE(objects_.epoch(pnfs::ServerNumber(server), {handle.object, i}), handle.epoch);
      EXPECT_EQ(objects_.kept(pnfs::ServerNumber(server), {handle.object, i}), std::nullopt);
    }
}

TEST_F(LayoutsTest, data_servers_learn_what_they_ask_of_files_with_layouts_alone) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto granted = layoutget(*alice_, "file", layoutget_args(id));
  ASSERT_TRUE(granted);
  pnfs::ObjectId object{};
  for (std::uint32_t server = 1; server <= servers; ++server)
    if (const auto handle = opened(server, granted->handles[0])) object = handle->object;
  const auto ask = [&](pnfs::ObjectId of) {
    std::optional<base::Result<FileFacts, vfs::Error>> facts;
    world_->on_engine(
        [&](Nfs4Engine& /*engine*/) -> io::Op<> { facts = co_await cluster_->file_facts(of).as_result(); });
    return *facts;
  };
  const auto facts = ask(object);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->size, 0U);
  EXPECT_EQ(ask(pnfs::ObjectId(object.value() + 1)).error(), vfs::Error::stale);
  EXPECT_EQ(close(*alice_, "file", id), NFS4_OK);
  EXPECT_EQ(ask(object).error(), vfs::Error::stale) << "the layout went with the last close";
}

class FewStates : public LayoutsTest {
 protected:
  FewStates() : LayoutsTest(options()) {}
  static EngineOptions options() {
    EngineOptions out;
    out.states.states_per_client = 1;
    return out;
  }
};

TEST_F(FewStates, who_has_too_many_states_goes_on_without_a_layout) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  Reply reply = on_file(*alice_, "file", OP_LAYOUTGET, layoutget_args(id));
  const auto result = reply.result<LAYOUTGET4res>(OP_LAYOUTGET);
  EXPECT_EQ(result.logr_status, NFS4ERR_LAYOUTTRYLATER);
  EXPECT_TRUE(reply.at_end());
  EXPECT_EQ(layouts(), 0U);
  EXPECT_EQ(close(*alice_, "file", id), NFS4_OK);
}

// A client that is gone by now may have sent it, and somebody else has its locks.
TEST_F(LayoutsTest, who_wants_to_write_waits_until_what_was_sent_before_runs_no_more) {
  const stateid4 of_alice = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const stateid4 of_bob = open(*bob_, "file", OPEN4_SHARE_ACCESS_BOTH);
  ASSERT_EQ(ended(start_write(*bob_, "file", of_bob)), NFS4_OK);
  for (std::uint32_t server = 1; server <= servers; ++server) {
    objects_.set_error(pnfs::ServerNumber(server), vfs::Error::delay);
    objects_.set_running(pnfs::ServerNumber(server), true);
  }
  const auto sent = start_write(*bob_, "file", of_bob);
  CallbackWorld::until([&] { return objects_.calls("write") == 2; });
  for (std::uint32_t server = 1; server <= servers; ++server)
    objects_.set_error(pnfs::ServerNumber(server), std::nullopt);
  ASSERT_TRUE(layoutget(*alice_, "file", layoutget_args(of_alice))) << "it is only slow";
  clock_.advance(StripedContent::slow_change + std::chrono::seconds(1));
  EXPECT_EQ(layoutget_status(*alice_, "file", layoutget_args(of_alice)), NFS4ERR_LAYOUTTRYLATER);
  EXPECT_EQ(layoutget_status(*alice_, "file", layoutget_args(of_alice, reads)), NFS4_OK);
  EXPECT_FALSE(world_->ended(sent));
  for (std::uint32_t server = 1; server <= servers; ++server)
    objects_.set_running(pnfs::ServerNumber(server), false);
  EXPECT_EQ(ended(sent), NFS4ERR_DELAY);
  EXPECT_EQ(layoutget_status(*alice_, "file", layoutget_args(of_alice)), NFS4_OK);
}

TEST_F(LayoutsTest, what_goes_through_the_metadata_server_is_counted_by_who_sent_it) {
  cluster_->source().counters().register_in(metrics_);
  const auto callers = [](std::string_view operation, std::string_view version, std::string_view layout) {
    return "braid_pnfs_in_band_callers_total{operation=\"" + std::string(operation) + "\",version=\"" +
           std::string(version) + "\",layout=\"" + std::string(layout) + "\"}";
  };
  const stateid4 of_alice = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const stateid4 of_bob = open(*bob_, "file", OPEN4_SHARE_ACCESS_BOTH);
  ASSERT_TRUE(layoutget(*alice_, "file", layoutget_args(of_alice)));
  ASSERT_EQ(ended(start_write(*alice_, "file", of_alice)), NFS4_OK);
  ASSERT_EQ(ended(start_write(*bob_, "file", of_bob)), NFS4_OK);
  ASSERT_EQ(on_file(*alice_, "file", OP_READ, READ4args{of_alice, 0, 4}).status(), NFS4_OK);
  EXPECT_TRUE(counted(callers("write", "4.2", "yes") + " 1")) << metrics_.prometheus();
  EXPECT_TRUE(counted(callers("write", "4.1", "no") + " 1"));
  EXPECT_TRUE(counted(callers("read", "4.2", "yes") + " 1"));
  EXPECT_TRUE(counted(callers("write", "4.2", "no") + " 0"));
  EXPECT_TRUE(counted(callers("read", "3", "no") + " 0"));
  EXPECT_EQ(cluster_->source().counters().take_past_layouts(InBand::write), 1U);
  EXPECT_EQ(cluster_->source().counters().take_past_layouts(InBand::write), 0U) << "each is told once";
}

}  // namespace
}  // namespace braid::pnfs_mds::layouts::test
