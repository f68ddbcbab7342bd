// SETCLIENTID and SETCLIENTID_CONFIRM of 4.0.
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/nfs4/clients/client_table_fixture.h"
#include "tests/unit/nfs4/state/opens_fixture.h"

namespace braid::nfs4::state {
namespace {

using enum nfsstat4;

// RFC 7530 16.33.5, 16.34.5
class SetClientIdTest : public ClientTableTest {
 protected:
  static CallbackAddress callback(std::uint32_t program) {
    return {.program = program, .ident = 1, .netid = "tcp", .address = "192.0.2.1.8.1"};
  }
  base::Result<SetClientIdOutcome, SetClientIdFailure> set(std::uint8_t verifier_number,
                                                           std::uint32_t uid = 10,
                                                           std::uint32_t program = 7) {
    return table_.set_client_id(who("owner", verifier_number, uid, 0), callback(program), now_);
  }
  nfsstat4 confirm(const SetClientIdOutcome& set, std::uint32_t uid = 10) {
    const auto client = table_.confirm_client_id(set.client, set.confirm, user(uid), now_);
    return client ? NFS4_OK : client.error();
  }
};

TEST_F(SetClientIdTest, a_new_client_counts_once_it_is_confirmed) {
  const auto client = set(1);
  EXPECT_EQ(table_.find(client->client, 0).error(), NFS4ERR_STALE_CLIENTID);
  EXPECT_EQ(confirm(*client), NFS4_OK);
  EXPECT_TRUE(table_.find(client->client, 0));
  EXPECT_EQ(table_.callback_of(client->client), callback(7));
  // A confirmation that is repeated.
  EXPECT_EQ(confirm(*client), NFS4_OK);
}

TEST_F(SetClientIdTest, a_wrong_verifier_id_or_principal_confirms_nothing) {
  const auto client = set(1);
  EXPECT_EQ(confirm({client->client, verifier(99)}), NFS4ERR_STALE_CLIENTID);
  EXPECT_EQ(confirm({client->client + 1, client->confirm}), NFS4ERR_STALE_CLIENTID);
  EXPECT_EQ(confirm(*client, 11), NFS4ERR_CLID_INUSE);
  EXPECT_EQ(confirm(*client), NFS4_OK);
  EXPECT_EQ(confirm({client->client, verifier(99)}), NFS4ERR_STALE_CLIENTID);
}

TEST_F(SetClientIdTest, an_unconfirmed_client_is_replaced) {
  const auto first = set(1);
  const auto second = set(1);
  EXPECT_NE(first->confirm, second->confirm);
  EXPECT_EQ(confirm(*first), NFS4ERR_STALE_CLIENTID);
  EXPECT_EQ(confirm(*second), NFS4_OK);
}

TEST_F(SetClientIdTest, the_same_client_changes_its_callback_and_nothing_else) {
  const auto client = set(1);
  ASSERT_EQ(confirm(*client), NFS4_OK);
  const auto changed = set(1, 10, 8);
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->client, client->client);
  EXPECT_EQ(table_.callback_of(client->client)->program, 7U);
  // Until the change is confirmed the earlier confirmation may still be repeated.
  EXPECT_EQ(confirm(*client), NFS4_OK);
  EXPECT_EQ(table_.callback_of(client->client)->program, 7U);
  EXPECT_EQ(confirm(*changed), NFS4_OK);
  EXPECT_EQ(table_.callback_of(client->client)->program, 8U);
  EXPECT_EQ(confirm(*client), NFS4ERR_STALE_CLIENTID);
  EXPECT_TRUE(gone().empty());
}

TEST_F(SetClientIdTest, a_restarted_client_loses_its_state_when_it_confirms) {
  const auto client = set(1);
  ASSERT_EQ(confirm(*client), NFS4_OK);
  const auto restarted = set(2);
  EXPECT_NE(restarted->client, client->client);
  EXPECT_TRUE(table_.find(client->client, 0));
  EXPECT_EQ(confirm(*restarted), NFS4_OK);
  EXPECT_EQ(table_.find(client->client, 0).error(), NFS4ERR_EXPIRED);
  EXPECT_EQ(gone(), std::set<clientid4>{client->client});
}

TEST_F(SetClientIdTest, another_principal_gets_the_name_only_when_nothing_is_held) {
  const auto client = set(1);
  ASSERT_EQ(confirm(*client), NFS4_OK);
  holders_ = {client->client};
  const auto refused = set(1, 11);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, NFS4ERR_CLID_INUSE);
  EXPECT_EQ(refused.error().address, "192.0.2.1.8.1");
  holders_.clear();
  const auto taken = set(1, 11);
  ASSERT_TRUE(taken);
  EXPECT_EQ(confirm(*taken, 11), NFS4_OK);
  EXPECT_EQ(gone(), std::set<clientid4>{client->client});
}

TEST_F(SetClientIdTest, a_client_without_program_cannot_be_called) {
  const auto client = set(1, 10, 0);
  ASSERT_EQ(confirm(*client), NFS4_OK);
  EXPECT_FALSE(table_.callback_of(client->client));
}

// Its state is released when its record is off the disk. Until then it is of no use either.
TEST_F(SetClientIdTest, what_a_client_that_is_gone_still_has_is_expired) {
  const auto made = set(1);
  ASSERT_EQ(confirm(*made), NFS4_OK);
  const ClientRef client = table_.find_any(made->client);

  int opens_alive = 0;
  DeferredWork after;
  States states(epoch, {});
  const auto open = states.opens().open(
      {.client = client,
       .minor_version = 0,
       .owner = "process",
       .file = test::handle(1),
       .share = test::reads,
       .opener = {},
       .descriptor = std::make_shared<test::FakeOpenFile>(vfs::OpenAccess::read, opens_alive),
       .wish = DelegationWish::none,
       .reclaim = false,
       .also_writes = false,
       .now = now_},
      after);
  ASSERT_TRUE(open.has_value());
  StateUse use{.id = open->id, .minor_version = 0, .client = nullptr, .file = test::handle(1), .now = now_};
  const auto confirmed = states.opens().confirm(use);
  ASSERT_TRUE(confirmed);
  use.id = *confirmed;
  const auto turn = [&] {
    return states.turns()
        .begin(use.id, StateKind::open, 1, nfs_opnum4::OP_CLOSE, now_, after, nullptr)
        .status;
  };
  ASSERT_EQ(test::status_of(states.authorize(use, share_read, after)), NFS4_OK);

  now_ += 200s;
  ASSERT_TRUE(table_.remove(made->client, ExpiryReason::displaced));
  EXPECT_EQ(test::status_of(states.authorize(use, share_read, after)), NFS4ERR_EXPIRED);
  EXPECT_EQ(test::status_of(states.opens().close(use, after)), NFS4ERR_EXPIRED);
  EXPECT_EQ(turn(), NFS4ERR_EXPIRED);
  EXPECT_TRUE(client->lease_over(now_, options_.lease)) << "it is not renewed any more";
}

}  // namespace
}  // namespace braid::nfs4::state
