#include "pnfs/hello.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace braid::pnfs {
namespace {

using enum control_status;
using enum control_role;

const base::TimePoint start{std::chrono::hours(1)};

class HelloTest : public testing::Test {
 protected:
  HelloTest() {
    metadata_.nonce[0] = std::byte{1};
    data_.nonce[0] = std::byte{2};
    data_.addresses = addresses_;
  }
  static ClusterSecret secret_of(std::uint8_t byte) {
    return ClusterSecret::from(base::Bytes(32, std::byte{byte})).value();
  }
  auto greet(std::uint64_t session = 9, std::string_view host = "10.0.0.1", base::TimePoint now = start) {
    return reception_.greet(metadata_, data_, session, host, now);
  }

  const ClusterSecret secret_ = secret_of(1);
  Reception reception_{secret_};
  control_hello metadata_{.role = ROLE_METADATA,
                          .revision_min = 1,
                          .revision_max = 3,
                          .cluster = {std::byte{7}},
                          .server = {},
                          .name = "mds",
                          .addresses = {},
                          .nonce = {},
                          .boot = {},
                          .channel = 0,
                          .signs_bulk = false};
  const std::array<control_address, 2> addresses_{
      {{.netid = "tcp", .uaddr = "10.0.0.2.8.1"}, {.netid = "rdma", .uaddr = "10.0.0.2.78.83"}}};
  control_hello data_{.role = ROLE_DATA,
                      .revision_min = 1,
                      .revision_max = 2,
                      .cluster = {std::byte{7}},
                      .server = {std::byte{8}},
                      .name = "ds0",
                      .addresses = {},
                      .nonce = {},
                      .boot = {std::byte{3}},
                      .channel = 4,
                      .signs_bulk = false};
};

TEST_F(HelloTest, both_sides_have_the_key_of_the_session_and_the_newest_common_revision) {
  const auto welcome = greet();
  ASSERT_TRUE(welcome);
  const auto met = meet(secret_, data_, *welcome);
  ASSERT_TRUE(met);
  const auto admitted = reception_.admit(met->prove, start);
  ASSERT_TRUE(admitted);
  EXPECT_EQ(admitted->session_key.bytes(), met->session_key.bytes());
  EXPECT_EQ(met->revision, 2U);
  EXPECT_EQ(admitted->revision, 2U);
  EXPECT_EQ(admitted->channel, (Channel{.boot = {std::byte{3}}, .number = 4}));
}

TEST_F(HelloTest, bulk_data_is_signed_where_either_side_says_so) {
  const auto signed_for = [&](bool metadata, bool data) {
    metadata_.signs_bulk = metadata;
    data_.signs_bulk = data;
    const auto met = meet(secret_, data_, greet().value()).value();
    const auto admitted = reception_.admit(met.prove, start);
    EXPECT_EQ(admitted->signs_bulk, met.signs_bulk);
    return met.signs_bulk;
  };
  EXPECT_FALSE(signed_for(false, false));
  EXPECT_TRUE(signed_for(true, false));
  EXPECT_TRUE(signed_for(false, true));
  EXPECT_TRUE(signed_for(true, true));
}

TEST_F(HelloTest, every_session_has_a_key_of_its_own) {
  const auto first = meet(secret_, data_, greet(1).value()).value();
  data_.nonce[5] = std::byte{1};
  const auto second = meet(secret_, data_, greet(1).value()).value();
  EXPECT_NE(first.session_key.bytes(), second.session_key.bytes());
}

TEST_F(HelloTest, without_the_secret_nobody_is_believed) {
  const auto welcome = greet();
  ASSERT_TRUE(welcome);
  EXPECT_EQ(meet(secret_of(2), data_, *welcome).error(), CONTROL_REFUSED);
  control_welcome echoed = *welcome;
  const auto met = meet(secret_, data_, *welcome);
  ASSERT_TRUE(met);
  PROVEargs forged = met->prove;
  forged.proof = echoed.proof;  // the other side's own proof sent back
  EXPECT_FALSE(reception_.admit(forged, start));
  EXPECT_FALSE(reception_.admit(met->prove, start)) << "one attempt for each hello";
}

TEST_F(HelloTest, what_was_said_on_the_way_cannot_be_changed) {
  const auto welcome = greet();
  ASSERT_TRUE(welcome);
  const auto refused = [&](auto change) {
    control_hello ours = data_;
    control_welcome theirs = *welcome;
    change(ours, theirs);
    const auto met = meet(secret_, ours, theirs);
    return !met && met.error() == CONTROL_REFUSED;
  };
  EXPECT_TRUE(refused([](auto&, auto& theirs) { theirs.revision = 1; }));
  EXPECT_TRUE(refused([](auto&, auto& theirs) { ++theirs.session; }));
  EXPECT_TRUE(refused([](auto&, auto& theirs) { theirs.hello.name = "other"; }));
  EXPECT_TRUE(refused([](auto&, auto& theirs) { theirs.hello.nonce[31] = std::byte{1}; }));
  EXPECT_TRUE(refused([](auto& ours, auto&) { ours.revision_max = 1; }));
  EXPECT_TRUE(refused([](auto& ours, auto&) { ours.addresses = ours.addresses.first(1); }));
  EXPECT_TRUE(refused([](auto& ours, auto&) { ours.boot = {}; }));
  EXPECT_TRUE(refused([](auto& ours, auto&) { ours.channel = 0; }));
  EXPECT_TRUE(refused([](auto& ours, auto&) { ours.signs_bulk = true; }));
  EXPECT_TRUE(refused([](auto&, auto& theirs) { theirs.hello.signs_bulk = true; }));
}

TEST_F(HelloTest, only_servers_that_fit_together_meet) {
  const auto judged = [&](auto change) {
    control_hello theirs = data_;
    change(theirs);
    return judge(metadata_, theirs);
  };
  EXPECT_EQ(judged([](auto&) {}), CONTROL_OK);
  EXPECT_EQ(judged([](auto& d) { d.cluster = {}; }), CONTROL_OK) << "it joins";
  EXPECT_EQ(judged([](auto& d) { d.cluster[3] = std::byte{1}; }), CONTROL_OTHER_CLUSTER);
  EXPECT_EQ(judged([](auto& d) { d.role = ROLE_METADATA; }), CONTROL_WRONG_ROLE);
  EXPECT_EQ(judged([](auto& d) { d.server = {}; }), CONTROL_OTHER_SERVER);
  EXPECT_EQ(judged([](auto& d) { d.revision_min = 4, d.revision_max = 9; }), CONTROL_REVISION_MISMATCH);
  EXPECT_EQ(judged([](auto& d) { d.revision_max = 0; }), CONTROL_REVISION_MISMATCH);
}

TEST_F(HelloTest, hellos_that_nobody_proves_are_few_and_end) {
  for (std::uint64_t i = 0; i < Reception::per_host_max; ++i) EXPECT_TRUE(greet(i));
  EXPECT_EQ(greet(99).error(), CONTROL_BUSY);
  EXPECT_TRUE(greet(100, "10.0.0.2")) << "another host has its own share";
  EXPECT_TRUE(greet(101, "10.0.0.1", start + Reception::patience));
  for (std::uint64_t i = 0; i < 2 * Reception::pending_max; ++i)
    (void)greet(200 + i, std::to_string(i), start + Reception::patience);
  EXPECT_EQ(greet(99, "x", start + Reception::patience).error(), CONTROL_BUSY);
}

TEST_F(HelloTest, a_proof_that_comes_late_is_none) {
  const auto met = meet(secret_, data_, greet().value()).value();
  EXPECT_FALSE(reception_.admit(met.prove, start + Reception::patience));
}

TEST_F(HelloTest, nonces_and_sessions_differ) {
  EXPECT_NE(random_nonce(), random_nonce());
  EXPECT_NE(random_session(), random_session());
  EXPECT_NE(random_boot(), random_boot());
}

}  // namespace
}  // namespace braid::pnfs
