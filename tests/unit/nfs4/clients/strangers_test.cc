// CREATE_SESSION by somebody else than who introduced the client (RFC 8881 18.36.4).
#include <vector>

#include "tests/unit/nfs4/clients/client_table_fixture.h"

namespace braid::nfs4::state {
namespace {

using enum nfsstat4;

// Somebody else: another principal, or the same one at another address.
class StrangersTest : public ClientTableTest {
 protected:
  static std::vector<CreateSessionRequest> by_strangers(clientid4 client, std::uint32_t sequence) {
    CreateSessionRequest elsewhere = request(client, sequence);
    elsewhere.address = address(2);
    return {request(client, sequence, 11), elsewhere};
  }
};

TEST_F(StrangersTest, use_up_no_sequence_id_of_an_unconfirmed_client) {
  const clientid4 client = introduce(who("owner")).client;
  for (std::uint32_t sequence = 0; sequence < 3; ++sequence)
    for (const CreateSessionRequest& wish : by_strangers(client, sequence))
      EXPECT_EQ(table_.create_session(wish, now_).error(), NFS4ERR_CLID_INUSE);
  EXPECT_EQ(table_.session_count(), 0U);
  EXPECT_TRUE(table_.create_session(request(client, 1), now_));
}

TEST_F(StrangersTest, do_not_learn_what_another_was_answered) {
  const clientid4 client = introduce(who("owner")).client;
  const auto session = table_.create_session(request(client, 1), now_);
  ASSERT_TRUE(session);
  for (const CreateSessionRequest& wish : by_strangers(client, 1))
    EXPECT_EQ(table_.create_session(wish, now_).error(), NFS4ERR_CLID_INUSE);
  EXPECT_EQ(table_.create_session(request(client, 1), now_)->session, session->session);
}

TEST_F(StrangersTest, may_be_another_principal_of_a_confirmed_client) {
  const clientid4 client = client_of(confirmed("owner").session);
  const auto second = table_.create_session(request(client, 2, 11), now_);
  ASSERT_TRUE(second);
  EXPECT_EQ(table_.create_session(request(client, 2, 11), now_)->session, second->session);
  EXPECT_EQ(table_.create_session(request(client, 2), now_).error(), NFS4ERR_CLID_INUSE);
}

}  // namespace
}  // namespace braid::nfs4::state
