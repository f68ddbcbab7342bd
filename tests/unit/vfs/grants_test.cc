#include "vfs/posix/grants.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/manual/manual_clock.h"

namespace braid::vfs::posix {
namespace {

using namespace std::chrono_literals;

class GrantsTest : public testing::Test {
 protected:
  GrantsTest() {
    file_.mode = 0644;
    file_.uid = 1;
    file_.gid = 2;
    file_.ctime = {999'999'000, 0};  // long before the clock's wall time
  }
  void remember(Rights rights, std::uint64_t who = 42) {
    grants_.remember(who, rights, file_, clock_.now(), clock_.wall());
  }
  [[nodiscard]] bool holds(Rights rights, std::uint64_t who = 42) const {
    return rights != 0 && grants_.held(who, rights, file_, clock_.now()) == rights;
  }

  Grants grants_;
  Attributes file_;
  base::ManualClock clock_;
};

TEST_F(GrantsTest, nothing_is_granted_at_first) {
  EXPECT_FALSE(holds(R_OK, 0));
  EXPECT_FALSE(holds(0, 0));
}

TEST_F(GrantsTest, a_grant_holds_for_its_caller_and_its_rights_while_the_ctime_stays) {
  remember(R_OK | W_OK);
  clock_.advance(1h);
  EXPECT_TRUE(holds(R_OK));
  EXPECT_TRUE(holds(R_OK | W_OK));
  EXPECT_FALSE(holds(X_OK));
  EXPECT_FALSE(holds(R_OK, 43));
}

TEST_F(GrantsTest, another_ctime_leaves_only_a_short_trust) {
  remember(W_OK);
  file_.ctime.nanoseconds = 1;
  clock_.advance(Grants::trust - 1ns);
  EXPECT_TRUE(holds(W_OK));
  clock_.advance(1ns);
  EXPECT_FALSE(holds(W_OK));
}

TEST_F(GrantsTest, another_mode_or_owner_ends_a_grant_at_once) {
  for (std::uint32_t Attributes::* field : {&Attributes::mode, &Attributes::uid, &Attributes::gid}) {
    remember(R_OK);
    file_.*field += 1;
    EXPECT_FALSE(holds(R_OK));
    file_.*field -= 1;
    EXPECT_TRUE(holds(R_OK));
  }
}

TEST_F(GrantsTest, a_ctime_of_the_same_tick_proves_nothing) {
  file_.ctime = {1'000'000'000, 0};  // the clock's wall time
  remember(R_OK);
  clock_.advance(Grants::trust);
  EXPECT_FALSE(holds(R_OK));
}

TEST_F(GrantsTest, rights_found_together_hold_together) {
  remember(R_OK);
  clock_.advance(10ms);
  remember(W_OK);
  EXPECT_TRUE(holds(R_OK | W_OK));
}

TEST_F(GrantsTest, a_later_check_does_not_renew_the_trust_in_an_earlier_one) {
  file_.ctime = {1'000'000'000, 0};
  remember(R_OK);
  clock_.advance(60ms);
  remember(W_OK);
  clock_.advance(60ms);
  EXPECT_FALSE(holds(R_OK));
}

TEST_F(GrantsTest, several_callers_fit) {
  for (std::uint64_t who = 1; who <= 4; ++who) remember(R_OK, who);
  for (std::uint64_t who = 1; who <= 4; ++who) EXPECT_TRUE(holds(R_OK, who));
  remember(R_OK, 5);
  EXPECT_FALSE(holds(R_OK, 1));
  EXPECT_TRUE(holds(R_OK, 5));
}

}  // namespace
}  // namespace braid::vfs::posix
