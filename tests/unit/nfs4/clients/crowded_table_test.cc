// Who has to go when there are as many clients as there may be.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/nfs4/clients/client_table_fixture.h"

namespace braid::nfs4::state {
namespace {

using enum nfsstat4;

// Clients of several addresses, in a table for few.
class CrowdedTableTest : public ClientTableTest {
 protected:
  // An address of IPv4.
  static PeerBytes host(std::uint8_t number) {
    PeerBytes out = address(number);
    out[10] = out[11] = 0xff;
    return out;
  }
  static ClientOptions for_few() {
    ClientOptions options{.lease = 90s, .courtesy = 1h};
    options.clients_max = 60;
    options.sessions_max = 120;
    options.unconfirmed_max = 10;
    return options;
  }
  ExchangeIdOutcome introduce_from(std::uint8_t from) {
    Introduction introduction = who("client " + std::to_string(++made_));
    introduction.address = host(from);
    return table().exchange_id(std::move(introduction), false, now_).value();
  }
  base::Result<CreateSessionOutcome, nfsstat4> session_from(std::uint8_t from,
                                                            const ExchangeIdOutcome& client) {
    CreateSessionRequest asked = request(client.client, client.sequence);
    asked.address = host(from);
    return few_.create_session(asked, now_);
  }
  // A client with a session; each comes a little later than the one before.
  std::pair<clientid4, nfsstat4> come(std::uint8_t from) {
    now_ += 10ms;
    const ExchangeIdOutcome client = introduce_from(from);
    const auto session = session_from(from, client);
    return {client.client, session ? NFS4_OK : session.error()};
  }
  std::vector<clientid4> come(std::uint8_t from, std::size_t count) {
    std::vector<clientid4> out;
    for (std::size_t i = 0; i < count; ++i) {
      const auto [client, status] = come(from);
      EXPECT_EQ(status, NFS4_OK) << i;
      out.push_back(client);
    }
    return out;
  }
  std::set<clientid4> gone_of_few() {
    std::set<clientid4> out;
    for (const auto& one : few_.take_gone()) out.insert(one.client->id);
    return out;
  }
  ClientTable& table() { return few_; }

  std::set<clientid4> reclaimers_;

 private:
  ClientTable few_{for_few(), epoch, base::SipKey{1, 2},
                   [this](clientid4 id) { return holders_.contains(id); },
                   [this](const Client& client) { return reclaimers_.contains(client.id); }};
  int made_ = 0;
};

TEST_F(CrowdedTableTest, an_address_has_a_share_of_the_clients_and_its_own_make_room) {
  const std::vector<clientid4> crowd = come(2, 100);
  EXPECT_EQ(table().confirmed_count(), 20U) << "a third of 60";
  EXPECT_EQ(come(3).second, NFS4_OK);
  const std::set<clientid4> left = gone_of_few();
  EXPECT_EQ(left, std::set<clientid4>(crowd.begin(), crowd.begin() + 80)) << "the longest silent first";
}

TEST_F(CrowdedTableTest, who_holds_something_keeps_its_place) {
  const std::vector<clientid4> crowd = come(2, 20);
  holders_.insert(crowd.begin(), crowd.end());
  EXPECT_EQ(come(2).second, NFS4ERR_DELAY);
  EXPECT_EQ(table().refused(), 1U);
  holders_.erase(crowd[7]);
  now_ += 1s;
  EXPECT_EQ(come(2).second, NFS4_OK);
  EXPECT_EQ(gone_of_few(), std::set<clientid4>{crowd[7]});
  EXPECT_EQ(come(3).second, NFS4_OK) << "others have room";
}

TEST_F(CrowdedTableTest, who_was_heard_of_goes_after_who_was_not) {
  const std::vector<clientid4> crowd = come(2, 20);
  table().find_any(crowd[0])->renew(now_);
  EXPECT_EQ(come(2).second, NFS4_OK);
  EXPECT_EQ(gone_of_few(), std::set<clientid4>{crowd[1]});
}

TEST_F(CrowdedTableTest, who_may_still_reclaim_keeps_its_place) {
  const std::vector<clientid4> crowd = come(2, 20);
  reclaimers_ = {crowd[0]};
  EXPECT_EQ(come(2).second, NFS4_OK);
  EXPECT_EQ(gone_of_few(), std::set<clientid4>{crowd[1]});
}

TEST_F(CrowdedTableTest, when_all_is_taken_the_address_with_the_most_makes_room) {
  const std::vector<clientid4> few = come(1, 3);
  const std::vector<clientid4> many = come(2, 19);
  come(3, 16);
  come(4, 16);
  come(5, 6);
  ASSERT_EQ(table().confirmed_count(), 60U);
  EXPECT_EQ(come(6).second, NFS4_OK);
  EXPECT_EQ(gone_of_few(), std::set<clientid4>{many[0]})
      << "although those of address 1 were silent for longer";
  EXPECT_EQ(come(1).second, NFS4_OK);
  EXPECT_EQ(gone_of_few(), std::set<clientid4>{many[1]});
  // Nobody of an address with fewer goes.
  holders_.insert(many.begin(), many.end());
  EXPECT_EQ(come(2).second, NFS4ERR_DELAY) << "it has more than its share, and all are in use";
  EXPECT_TRUE(gone_of_few().empty());
  for (const clientid4 one : few) EXPECT_NE(table().find_any(one), nullptr);
}

TEST_F(CrowdedTableTest, an_address_leaves_memory_for_replies_to_others) {
  options_.reply_bytes_max = base::MiB;
  options_.sessions_per_client = 1000;
  ClientTable table(options_, epoch, {}, [](clientid4) { return false; });
  const auto come = [&](std::uint8_t from) {
    Introduction introduction = who("owner " + std::to_string(from));
    introduction.address = host(from);
    const auto client = table.exchange_id(introduction, false, now_);
    for (std::uint32_t sequence = 1;; ++sequence) {
      CreateSessionRequest asked = request(client->client, sequence);
      asked.address = introduction.address;
      if (const auto made = table.create_session(asked, now_); !made)
        return std::pair(sequence, made.error());
    }
  };
  const auto [sessions, status] = come(1);
  EXPECT_EQ(status, NFS4ERR_DELAY);
  EXPECT_GT(sessions, 100U) << "while nobody else wants them";
  EXPECT_EQ(table.refused(), 1U);
  EXPECT_GT(come(2).first, 8U) << "there is room for others";
  EXPECT_GT(come(3).first, 4U);
}

TEST_F(CrowdedTableTest, an_ipv6_network_is_one_address) {
  const auto come_from = [&](std::uint8_t host) {
    now_ += 10ms;
    Introduction introduction = who("host " + std::to_string(host));
    introduction.address = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 1};
    introduction.address.back() = host;
    const auto client = table().exchange_id(introduction, false, now_);
    CreateSessionRequest asked = request(client->client, client->sequence);
    asked.address = introduction.address;
    return table().create_session(asked, now_).has_value();
  };
  for (std::uint8_t host = 0; host < 30; ++host) EXPECT_TRUE(come_from(host));
  EXPECT_EQ(table().confirmed_count(), 20U);
}

TEST_F(CrowdedTableTest, sessions_have_a_share_too) {
  const auto client = introduce_from(2);
  std::size_t made = 0;
  CreateSessionRequest asked = request(client.client, client.sequence);
  asked.address = host(2);
  for (; table().create_session(asked, now_); ++asked.sequence) ASSERT_LE(++made, 64U);
  EXPECT_EQ(made, 40U) << "a third of 120";
  EXPECT_EQ(table().create_session(asked, now_).error(), NFS4ERR_DELAY);
  EXPECT_EQ(come(3).second, NFS4_OK);
  EXPECT_TRUE(table().remove(client.client, ExpiryReason::evicted));
  EXPECT_EQ(come(2).second, NFS4_OK) << "they are gone with their client";
}

TEST_F(CrowdedTableTest, half_open_clients_push_out_those_of_the_address_with_the_most) {
  const ExchangeIdOutcome other = introduce_from(1);
  for (int i = 0; i < 100; ++i) introduce_from(2);
  EXPECT_TRUE(session_from(1, other));
}

TEST_F(CrowdedTableTest, many_that_are_due_go_in_portions) {
  ClientOptions options = for_few();
  options.clients_max = 1000;
  options.sessions_max = 2000;
  ClientTable table(options, epoch, {}, [](clientid4) { return false; });
  for (int i = 0; i < 300; ++i) {
    const auto client = table.exchange_id(who("client " + std::to_string(i)), false, now_);
    ASSERT_TRUE(table.create_session(request(client->client, 1), now_));
  }
  now_ += 91s;
  EXPECT_TRUE(table.sweep(now_));
  EXPECT_EQ(table.confirmed_count(), 44U);
  EXPECT_FALSE(table.sweep(now_));
  EXPECT_EQ(table.confirmed_count(), 0U);
}

}  // namespace
}  // namespace braid::nfs4::state
