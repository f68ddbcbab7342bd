#include "server/roles/stores/rounds.h"

#include <gtest/gtest.h>

namespace braid::server::roles::stores {
namespace {

using Stage = Rounds::Stage;

TEST(Rounds, a_round_waits_runs_and_ends) {
  Rounds rounds;
  EXPECT_FALSE(rounds.wanted());
  EXPECT_EQ(rounds.stage_of(0), Stage::unknown);
  EXPECT_EQ(rounds.stage_of(1), Stage::unknown);
  EXPECT_EQ(rounds.ask(), 1U);
  EXPECT_EQ(rounds.ask(), 1U) << "it has not begun: it does for both";
  EXPECT_EQ(rounds.stage_of(1), Stage::waiting);
  EXPECT_TRUE(rounds.wanted());
  EXPECT_TRUE(rounds.waiting());
  EXPECT_FALSE(rounds.running());
  rounds.begin();
  EXPECT_EQ(rounds.stage_of(1), Stage::running);
  EXPECT_TRUE(rounds.running());
  EXPECT_FALSE(rounds.waiting());
  rounds.end();
  EXPECT_EQ(rounds.stage_of(1), Stage::ended);
  EXPECT_FALSE(rounds.wanted());
  EXPECT_FALSE(rounds.running());
}

TEST(Rounds, who_asks_while_one_runs_gets_the_next_one) {
  Rounds rounds;
  rounds.ask();
  rounds.begin();
  EXPECT_EQ(rounds.ask(), 2U);
  EXPECT_EQ(rounds.stage_of(1), Stage::running);
  EXPECT_EQ(rounds.stage_of(2), Stage::waiting);
  rounds.end();
  EXPECT_EQ(rounds.stage_of(1), Stage::ended);
  EXPECT_EQ(rounds.stage_of(2), Stage::waiting);
  EXPECT_TRUE(rounds.wanted());
}

TEST(Rounds, what_is_due_does_not_come_on_top_of_what_is_to_be_done) {
  Rounds rounds;
  rounds.ask_if_idle();
  rounds.ask_if_idle();
  EXPECT_EQ(rounds.asked(), 1U);
  rounds.begin();
  rounds.ask_if_idle();
  EXPECT_EQ(rounds.asked(), 1U);
  EXPECT_FALSE(rounds.waiting());
  rounds.end();
  rounds.ask_if_idle();
  EXPECT_EQ(rounds.asked(), 2U);
}

TEST(Rounds, one_that_begins_while_another_runs_ends_for_both) {
  Rounds rounds;
  rounds.ask();
  rounds.begin();
  rounds.ask();
  rounds.begin();
  EXPECT_EQ(rounds.stage_of(1), Stage::running);
  EXPECT_EQ(rounds.stage_of(2), Stage::running);
  rounds.end();
  EXPECT_EQ(rounds.stage_of(1), Stage::ended);
  EXPECT_EQ(rounds.stage_of(2), Stage::ended);
}

}  // namespace
}  // namespace braid::server::roles::stores
