// [[export.rule]]
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/config/config.h"

namespace braid::server::config {
namespace {

using testing::ElementsAre;

TEST(ConfigRules, are_taken_in_their_order_and_have_what_they_do_not_say_from_the_export) {
  const auto config = parse_config(R"(
[[export]]
path = "/"
directory = "/srv"
squash = "all"
anon_uid = 1000
read_only = true
clients = ["10.0.0.0/8"]
[[export.rule]]
clients = ["10.1.1.1", "fd00::/8"]
read_only = false
squash = "none"
security = ["sys"]
[[export.rule]]
clients = ["10.1.0.0/16"]
anon_gid = 5
[[export]]
path = "/other"
directory = "/srv"
)");
  ASSERT_TRUE(config.has_value()) << problems_text("f", config.error());
  EXPECT_TRUE(config->exports.at(1).rules.empty());
  const ExportConfig& e = config->exports.at(0);
  EXPECT_THAT(e.clients, ElementsAre("10.0.0.0/8"));
  ASSERT_EQ(e.rules.size(), 2u);
  EXPECT_THAT(e.rules[0].clients, ElementsAre("10.1.1.1", "fd00::/8"));
  EXPECT_FALSE(e.rules[0].read_only);
  EXPECT_EQ(e.rules[0].squash, vfs::Squash::none);
  EXPECT_THAT(e.rules[1].clients, ElementsAre("10.1.0.0/16"));
  EXPECT_TRUE(e.rules[1].read_only);
  EXPECT_EQ(e.rules[1].squash, vfs::Squash::all);
  EXPECT_EQ(e.rules[1].anon_uid, 1000u);
  EXPECT_EQ(e.rules[1].anon_gid, 5u);
  EXPECT_TRUE(e.writable());
}

// Of what follows an export, whose lines are the first three.
std::string complaints_of_rules(const std::string& text) {
  const auto config = parse_config("[[export]]\npath = \"/x\"\ndirectory = \"/srv\"\n" + text);
  return config ? "right" : problems_text("braid.toml", config.error());
}

TEST(ConfigRules, a_mistake_is_named_with_its_line_and_a_remedy) {
  EXPECT_EQ(complaints_of_rules("[[export.rule]]\n"),
            "braid.toml:4: [[export.rule]] has no 'clients'; write clients = [\"10.0.0.0/8\"]\n");
  EXPECT_EQ(
      complaints_of_rules("[[export.rule]]\nclients = []\n"),
      "braid.toml:5: 'clients' is empty, so the rule is about nobody; write networks, or remove the rule\n");
  EXPECT_EQ(complaints_of_rules("rule = true\n"),
            "braid.toml:4: 'rule' is a boolean; rules are a list: write [[export.rule]], then clients = "
            "[\"10.0.0.0/8\"]\n");
  EXPECT_EQ(complaints_of_rules("[[export.rule]]\nclients = [\"10.0.0.0/8\"]\nsync = false\n"),
            "braid.toml:6: unknown key 'sync' in [[export.rule]]; known keys are squash, anon_uid, anon_gid, "
            "read_only, clients, security\n");
}

TEST(ConfigRules, one_that_no_client_comes_to_is_a_mistake) {
  const std::string first = "[[export.rule]]\nclients = [\"10.0.0.0/8\", \"fd00::/8\"]\n[[export.rule]]\n";
  EXPECT_EQ(complaints_of_rules(first + "clients = [\"10.1.0.0/16\", \"fd00::1\"]\n"),
            "braid.toml:7: this rule is never reached, as earlier ones name all its clients (one on line 5); "
            "write it before them, or remove it\n");
  EXPECT_EQ(complaints_of_rules(first + "clients = [\"10.1.0.0/16\", \"192.0.2.1\"]\n"), "right");
}

std::string doubts_about_rules(const std::string& clients, const std::string& rules) {
  const auto config = parse_config("[[export]]\npath = \"/\"\ndirectory = \"/srv\"\n" + clients + rules);
  return config ? problems_text("braid.toml", doubts_about(*config)) : "mistakes";
}

TEST(ConfigRules, those_that_leave_the_export_without_clients_are_doubtful) {
  const std::string own = "clients = [\"10.0.0.0/8\", \"fd00::1\"]\n";
  const std::string doubt =
      ": rules name all clients of the export /: what the export itself says of read_only and squash is for "
      "nobody\n";
  EXPECT_EQ(doubts_about_rules(own, "[[export.rule]]\n" + own), "braid.toml:6" + doubt);
  EXPECT_EQ(doubts_about_rules(own, "[[export.rule]]\nclients = [\"10.0.0.0/8\"]\n"), "");
  EXPECT_EQ(doubts_about_rules(own,
                               "[[export.rule]]\nclients = [\"10.0.0.0/8\"]\n"
                               "[[export.rule]]\nclients = [\"fd00::/8\"]\n"),
            "braid.toml:8" + doubt);
  EXPECT_EQ(doubts_about_rules("", "[[export.rule]]\nclients = [\"0.0.0.0/0\"]\n"), "");
  EXPECT_EQ(doubts_about_rules("", "[[export.rule]]\nclients = [\"0.0.0.0/0\", \"::/0\"]\n"),
            "braid.toml:5" + doubt);
}

}  // namespace
}  // namespace braid::server::config
