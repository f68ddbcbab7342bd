#include "server/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/unit/server/config_text.h"

namespace braid::server::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Config, delegations_are_chosen_and_bounded) {
  const auto config = parse_config(
      "[server]\ndelegations = \"write\"\n[limits]\ndelegations_max = 200\n"
      "[[export]]\npath = \"/\"\ndirectory = \"/srv\"\n");
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->delegations, nfs4::Delegations::write);
  EXPECT_EQ(config->limits.delegations_max, 200u);
}

TEST(Config, what_nfs4_clients_may_hold_is_bounded) {
  const auto config = parse_config(
      "[limits]\nclients_max = 50\nstates_max = 5000\nclient_states_max = 500\nfile_locks_max = 100\n"
      "session_replies_bytes_max = \"8MiB\"\n[[export]]\npath = \"/\"\ndirectory = \"/srv\"\n");
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->limits.clients_max, 50u);
  EXPECT_EQ(config->limits.states_max, 5000u);
  EXPECT_EQ(config->limits.client_states_max, 500u);
  EXPECT_EQ(config->limits.file_locks_max, 100u);
  EXPECT_EQ(config->limits.session_replies_bytes_max, 8u << 20);
}

TEST(Config, owners_have_a_domain_and_may_be_sent_by_name) {
  const auto config =
      parse_config("[server]\nidmap_domain = \"Example.COM\"\nsend_names = true\n" + std::string(one_export));
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->idmap_domain, "example.com");
  EXPECT_TRUE(config->send_names);
}

TEST(Config, rdma_is_off_unless_asked_for_and_can_be_tuned) {
  const auto plain = parse_config(std::string(one_export));
  ASSERT_TRUE(plain.has_value());
  EXPECT_FALSE(plain->rdma.on);
  EXPECT_EQ(plain->rdma.port, 20049);
  EXPECT_EQ(plain->rdma.credits, 128u);
  EXPECT_EQ(plain->rdma.inline_bytes_max, 4096u);
  EXPECT_EQ(plain->rdma.registration, rdma::Registration::cache);
  const auto tuned = parse_config(
      "[server]\nrdma = true\n[rdma]\nport = 20050\ncredits = 32\ninline_bytes_max = \"8KiB\"\n"
      "registration = \"odp\"\n[[export]]\npath = \"/\"\ndirectory = \"/srv\"\n");
  ASSERT_TRUE(tuned.has_value());
  EXPECT_TRUE(tuned->rdma.on);
  EXPECT_EQ(tuned->rdma.port, 20050);
  EXPECT_EQ(tuned->rdma.credits, 32u);
  EXPECT_EQ(tuned->rdma.inline_bytes_max, 8192u);
  EXPECT_EQ(tuned->rdma.registration, rdma::Registration::odp);
}

TEST(Config, a_wrong_registration_and_inline_size_are_told) {
  EXPECT_EQ(complaints(std::string("[rdma]\ninline_bytes_max = 1500\nregistration = \"none\"") +
                       std::string(one_export)),
            "braid.toml:2: 'inline_bytes_max' is no multiple of 1 KiB; write e.g. \"4KiB\"\n"
            "braid.toml:3: 'registration' is \"none\"; write cache, dynamic or odp\n");
}

TEST(Config, a_minimal_file_has_the_documented_defaults) {
  const auto config = parse_config(one_export);
  ASSERT_TRUE(config.has_value()) << problems_text("f", config.error());
  EXPECT_EQ(config->port, 2049);
  EXPECT_TRUE(config->listen.empty());
  EXPECT_EQ(config->threads, 0u);
  EXPECT_FALSE(config->metrics.has_value());
  EXPECT_FALSE(config->rpcbind.has_value());
  EXPECT_EQ(config->log_level, base::Level::info);
  EXPECT_EQ(config->limits.payload_bytes_max, 1u << 20);
  EXPECT_EQ(config->limits.buffer_bytes_max, 1u << 30);
  EXPECT_EQ(config->limits.replay_cache_bytes_max, 16u << 20);
  EXPECT_EQ(config->limits.connection_bytes_max, 16u << 20);
  EXPECT_EQ(config->limits.blocking_threads_max, 16u);
  EXPECT_EQ(config->limits.idle_seconds, 360u);
  EXPECT_EQ(config->limits.drain_seconds, 15u);
  EXPECT_EQ(config->limits.lease_seconds, 90u);
  EXPECT_EQ(config->limits.courtesy_seconds, 86400u);
  EXPECT_EQ(config->limits.delegations_max, 16384u);
  EXPECT_EQ(config->limits.clients_max, 10'000u);
  EXPECT_EQ(config->limits.states_max, 4'194'304u);
  EXPECT_EQ(config->limits.client_states_max, 1'048'576u);
  EXPECT_EQ(config->limits.file_locks_max, 16'384u);
  EXPECT_EQ(config->limits.session_replies_bytes_max, 256u << 20);
  EXPECT_EQ(config->idmap_domain, "");
  EXPECT_FALSE(config->send_names);
  EXPECT_EQ(config->delegations, nfs4::Delegations::read);
  ASSERT_EQ(config->exports.size(), 1u);
  const ExportConfig& e = config->exports[0];
  EXPECT_EQ(e.path, "/data");
  EXPECT_EQ(e.directory, "/srv/data");
  EXPECT_EQ(e.squash, vfs::Squash::root);
  EXPECT_EQ(e.anon_uid, 65534u);
  EXPECT_EQ(e.anon_gid, 65534u);
  EXPECT_FALSE(e.read_only);
  EXPECT_TRUE(e.sync);
  EXPECT_TRUE(e.clients.empty());
}

TEST(Config, every_key_is_taken) {
  const auto config = parse_config(R"(
[server]
listen = ["192.0.2.1", "::1"]
port = 12049
threads = 3
state_dir = "/var/lib/other"
admin_socket = "/run/other.sock"
metrics = "[::1]:9100"
rpcbind = false
log_level = "warning"
[limits]
payload_bytes_max = "256KiB"
buffer_bytes_max = "64 MiB"
replay_cache_bytes_max = 1048576
connection_bytes_max = "4MiB"
connections_max = 500
open_files_max = 1000
blocking_threads_max = 4
idle_seconds = 0
drain_seconds = 3
[[export]]
path = "/"
directory = "/srv"
squash = "all"
anon_uid = 1000
anon_gid = 1001
read_only = true
sync = false
clients = ["10.0.0.0/8", "fd00::/8", "192.0.2.7"]
security = ["sys"]
)");
  ASSERT_TRUE(config.has_value()) << problems_text("f", config.error());
  EXPECT_THAT(config->listen, ElementsAre("192.0.2.1", "::1"));
  EXPECT_EQ(config->port, 12049);
  EXPECT_EQ(config->threads, 3u);
  EXPECT_EQ(config->state_dir, "/var/lib/other");
  EXPECT_EQ(config->admin_socket, "/run/other.sock");
  EXPECT_EQ(config->metrics->text(), "[::1]:9100");
  EXPECT_EQ(config->rpcbind, false);
  EXPECT_EQ(config->log_level, base::Level::warning);
  EXPECT_EQ(config->limits.payload_bytes_max, 256u << 10);
  EXPECT_EQ(config->limits.buffer_bytes_max, 64u << 20);
  EXPECT_EQ(config->limits.replay_cache_bytes_max, 1u << 20);
  EXPECT_EQ(config->limits.connection_bytes_max, 4u << 20);
  EXPECT_EQ(config->limits.connections_max, 500u);
  EXPECT_EQ(config->limits.open_files_max, 1000u);
  EXPECT_EQ(config->limits.blocking_threads_max, 4u);
  EXPECT_EQ(config->limits.idle_seconds, 0u);
  EXPECT_EQ(config->limits.drain_seconds, 3u);
  const ExportConfig& e = config->exports.at(0);
  EXPECT_EQ(e.squash, vfs::Squash::all);
  EXPECT_EQ(e.anon_uid, 1000u);
  EXPECT_EQ(e.anon_gid, 1001u);
  EXPECT_TRUE(e.read_only);
  EXPECT_FALSE(e.sync);
  EXPECT_THAT(e.clients, ElementsAre("10.0.0.0/8", "fd00::/8", "192.0.2.7"));
}

struct Mistake {
  std::string_view name;
  std::string_view text;  // put before one right export
  std::string_view complaint;
};

class ConfigMistake : public testing::TestWithParam<Mistake> {};

TEST_P(ConfigMistake, is_named_with_its_line_and_a_remedy) {
  EXPECT_EQ(complaints(std::string(GetParam().text) + std::string(one_export)), GetParam().complaint);
}

constexpr Mistake mistakes[] = {
    {"unknown_key_near_a_known_one", "[server]\nprot = 2049\n",
     "braid.toml:2: unknown key 'prot' in [server]; did you mean 'port'?\n"},
    {"unknown_key_in_another_spelling", "[limits]\nidleSeconds = 3\n",
     "braid.toml:2: unknown key 'idleSeconds' in [limits]; did you mean 'idle_seconds'?\n"},
    {"unknown_key_far_from_all", "[server]\nxylophone = 1\n",
     "braid.toml:2: unknown key 'xylophone' in [server]; known keys are listen, port, threads, state_dir, "
     "admin_socket, metrics, rpcbind, rdma, log_level, delegations, idmap_domain, "
     "send_names\n"},
    {"no_fsid", "[[export]]\npath = \"/\"\ndirectory = \"/srv\"\nfsid = \"\"\n",
     "braid.toml:4: 'fsid' has 0 bytes; write 1 to 64, e.g. fsid = \"archive\"\n"},
    {"unknown_section", "[sever]\nport = 1\n",
     "braid.toml:1: unknown key 'sever' in the file; did you mean 'server'?\n"},
    {"section_that_is_a_value", "server = 3\n",
     "braid.toml:1: 'server' is an integer; write the section [server]\n"},
    {"delegations_unknown", "[server]\ndelegations = \"all\"\n",
     "braid.toml:2: 'delegations' is \"all\"; write none, read or write\n"},
    {"port_as_text", "[server]\nport = \"2049\"\n",
     "braid.toml:2: 'port' is a string; write an integer from 1 to 65535\n"},
    {"port_too_great", "[server]\nport = 65536\n",
     "braid.toml:2: 'port' is 65536; write an integer from 1 to 65535\n"},
    {"port_zero", "[server]\nport = 0\n", "braid.toml:2: 'port' is 0; write an integer from 1 to 65535\n"},
    {"port_negative", "[server]\nport = -1\n",
     "braid.toml:2: 'port' is -1; write an integer from 1 to 65535\n"},
    {"port_fraction", "[server]\nport = 20.49\n",
     "braid.toml:2: 'port' is a number with a fraction; write an integer from 1 to 65535\n"},
    {"listen_one_text", "[server]\nlisten = \"::\"\n",
     "braid.toml:2: 'listen' is a string; write an array of strings: listen = [\"0.0.0.0\", \"::\"]\n"},
    {"listen_of_numbers", "[server]\nlisten = [\"::\",\n 4]\n",
     "braid.toml:3: 'listen' holds an integer; write an array of strings: listen = [\"0.0.0.0\", \"::\"]\n"},
    {"listen_with_port", "[server]\nlisten = [\"192.0.2.1:2049\"]\n",
     "braid.toml:2: 'listen' holds \"192.0.2.1:2049\", which is no IP address; write an address without a "
     "port, e.g. "
     "\"192.0.2.1\" or \"::\"; the port is the key 'port'\n"},
    {"metrics_without_port", "[server]\nmetrics = \"127.0.0.1\"\n",
     "braid.toml:2: 'metrics' is \"127.0.0.1\"; write an address with a port: metrics = "
     "\"127.0.0.1:9049\"\n"},
    {"metrics_on_the_port_of_nfs", "[server]\nmetrics = \"127.0.0.1:2049\"\n",
     "braid.toml:2: 'metrics' and 'port' both use port 2049; write another port: metrics = "
     "\"127.0.0.1:9049\"\n"},
    {"relative_state_dir", "[server]\nstate_dir = \"state\"\n",
     "braid.toml:2: 'state_dir' is \"state\"; write an absolute path: state_dir = \"/var/lib/braid\"\n"},
    {"log_level", "[server]\nlog_level = \"loud\"\n",
     "braid.toml:2: 'log_level' is \"loud\"; write debug, info, warning or error\n"},
    {"boolean_as_text", "[server]\nrpcbind = \"yes\"\n",
     "braid.toml:2: 'rpcbind' is a string; write rpcbind = true or rpcbind = false\n"},
    {"size_with_wrong_unit", "[limits]\nbuffer_bytes_max = \"1 gigabyte\"\n",
     "braid.toml:2: 'buffer_bytes_max' is \"1 gigabyte\"; write a size from \"16 MiB\" to \"1 TiB\"\n"},
    {"size_negative", "[limits]\nbuffer_bytes_max = -5\n",
     "braid.toml:2: 'buffer_bytes_max' is -5; write a size from \"16 MiB\" to \"1 TiB\"\n"},
    {"size_too_small", "[limits]\nreplay_cache_bytes_max = 12\n",
     "braid.toml:2: 'replay_cache_bytes_max' is 12; write a size from \"64 KiB\" to \"64 GiB\"\n"},
    {"size_beyond_64_bits", "[limits]\nbuffer_bytes_max = \"99999999999 TiB\"\n",
     "braid.toml:2: 'buffer_bytes_max' is \"99999999999 TiB\"; write a size from \"16 MiB\" to \"1 TiB\"\n"},
    {"size_of_another_type", "[limits]\nbuffer_bytes_max = true\n",
     "braid.toml:2: 'buffer_bytes_max' is a boolean; write a size from \"16 MiB\" to \"1 TiB\"\n"},
    {"payload_no_multiple_of_pages", "[limits]\npayload_bytes_max = 5000\n",
     "braid.toml:2: 'payload_bytes_max' is no multiple of 4 KiB; write e.g. \"1MiB\"\n"},
    {"connection_greater_than_all",
     "[limits]\nconnection_bytes_max = \"64MiB\"\nbuffer_bytes_max = \"32MiB\"\n",
     "braid.toml:2: 'connection_bytes_max' (64 MiB) is more than 'buffer_bytes_max' (32 MiB); write less, or "
     "a "
     "greater buffer_bytes_max\n"},
    {"states", "[limits]\nstates_max = 1000\n",
     "braid.toml:2: 'states_max' is 1000; write an integer from 1024 to 16000000\n"},
    {"domain", "[server]\nidmap_domain = \"user@example.com\"\n",
     "braid.toml:2: 'idmap_domain' is \"user@example.com\", which is no domain; write e.g. idmap_domain = "
     "\"example.com\"\n"},
    {"empty_domain", "[server]\nidmap_domain = \"\"\n",
     "braid.toml:2: 'idmap_domain' is \"\", which is no domain; write e.g. idmap_domain = \"example.com\"\n"},
    {"names_without_a_domain", "[server]\nsend_names = true\n",
     "braid.toml:2: 'send_names' needs a domain; write it: idmap_domain = \"example.com\"\n"},
    {"seconds_as_text", "[limits]\ndrain_seconds = \"15s\"\n",
     "braid.toml:2: 'drain_seconds' is a string; write an integer from 0 to 3600\n"},
    {"same_path_twice", "[[export]]\npath = \"/data\"\ndirectory = \"/srv/a\"\n",
     "braid.toml:6: the path \"/data\" is exported twice (first on line 2); write another path\n"},
    {"export_without_directory", "[[export]]\npath = \"/x\"\n",
     "braid.toml:1: [[export]] has no 'directory'; write directory = \"/srv/data\"\n"},
    {"export_without_path", "[[export]]\ndirectory = \"/srv\"\n",
     "braid.toml:1: [[export]] has no 'path'; write path = \"/data\"\n"},
    {"path_without_slash", "[[export]]\npath = \"x\"\ndirectory = \"/srv\"\n",
     "braid.toml:2: 'path' is \"x\", which does not begin with '/'; write e.g. path = \"/data\"\n"},
    {"path_with_trailing_slash", "[[export]]\npath = \"/x/\"\ndirectory = \"/srv\"\n",
     "braid.toml:2: 'path' is \"/x/\", which ends with '/'; write e.g. path = \"/data\"\n"},
    {"path_with_dot_dot", "[[export]]\npath = \"/x/../y\"\ndirectory = \"/srv\"\n",
     "braid.toml:2: 'path' is \"/x/../y\", which has an empty, '.' or '..' component; write e.g. path = "
     "\"/data\"\n"},
    {"relative_directory", "[[export]]\npath = \"/x\"\ndirectory = \"srv\"\n",
     "braid.toml:3: 'directory' is \"srv\"; write an absolute path: directory = \"/srv/data\"\n"},
    {"directory_with_nul", "[[export]]\npath = \"/x\"\ndirectory = \"/srv\\u0000/x\"\n",
     "braid.toml:3: 'directory' contains a NUL character; write: directory = \"/srv/data\"\n"},
    {"squash", "[[export]]\npath = \"/x\"\ndirectory = \"/srv\"\nsquash = \"no\"\n",
     "braid.toml:4: 'squash' is \"no\"; write \"none\", \"root\" or \"all\"\n"},
    {"anonymous_id_without_squash",
     "[[export]]\npath = \"/x\"\ndirectory = \"/srv\"\nsquash = \"none\"\nanon_uid = 99\n",
     "braid.toml:5: 'anon_uid' has no effect with squash = \"none\"; remove it, or write squash = \"root\" "
     "or "
     "\"all\"\n"},
    {"anonymous_id_of_minus_one", "[[export]]\npath = \"/x\"\ndirectory = \"/srv\"\nanon_uid = 4294967295\n",
     "braid.toml:4: 'anon_uid' is 4294967295; write an integer from 0 to 4294967294\n"},
    {"network", "[[export]]\npath = \"/x\"\ndirectory = \"/srv\"\nclients = [\"10.0.0.0/33\"]\n",
     "braid.toml:4: 'clients' holds \"10.0.0.0/33\", which is no network; write e.g. \"10.0.0.0/8\", "
     "\"fd00::/8\" or "
     "one address\n"},
    {"network_with_host_bits",
     "[[export]]\npath = \"/x\"\ndirectory = \"/srv\"\nclients = [\"10.0.0.5/8\", \"10.0.0.0/8\"]\n",
     "braid.toml:4: 'clients' holds \"10.0.0.5/8\", whose address has bits behind the prefix; write "
     "\"10.0.0.0/8\" for "
     "the network, or \"10.0.0.5\" for the one address\n"},
    {"no_clients", "[[export]]\npath = \"/x\"\ndirectory = \"/srv\"\nclients = []\n",
     "braid.toml:4: 'clients' is empty, so nobody could mount this export; write networks, or remove the key "
     "to "
     "allow everybody\n"},
    {"security", "[[export]]\npath = \"/x\"\ndirectory = \"/srv\"\nsecurity = [\"krb5\"]\n",
     "braid.toml:4: 'security' holds \"krb5\"; this version offers \"sys\" only: write security = "
     "[\"sys\"]\n"},
    {"no_security", "[[export]]\npath = \"/x\"\ndirectory = \"/srv\"\nsecurity = []\n",
     "braid.toml:4: 'security' is empty; write security = [\"sys\"]\n"},
    {"two_mistakes_in_the_order_of_lines",
     "[server]\nport = 0\n[limits]\nfoo_bar_baz_qux = 1\nidle_seconds = -1\n",
     "braid.toml:2: 'port' is 0; write an integer from 1 to 65535\n"
     "braid.toml:4: unknown key 'foo_bar_baz_qux' in [limits]; known keys are payload_bytes_max, "
     "buffer_bytes_max, "
     "replay_cache_bytes_max, connection_bytes_max, connections_max, open_files_max, blocking_threads_max, "
     "idle_seconds, drain_seconds, lease_seconds, courtesy_seconds, delegations_max, clients_max, "
     "states_max, "
     "client_states_max, file_locks_max, session_replies_bytes_max\n"
     "braid.toml:5: 'idle_seconds' is -1; write an integer from 0 to 2592000\n"},
};

INSTANTIATE_TEST_SUITE_P(Config, ConfigMistake, testing::ValuesIn(mistakes),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Config, times_of_nfs4_clients) {
  const auto config = parse_config(
      "[limits]\nlease_seconds = 20\ncourtesy_seconds = 0\n[[export]]\npath = \"/\"\ndirectory = \"/srv\"\n");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->limits.lease_seconds, 20u);
  EXPECT_EQ(config->limits.courtesy_seconds, 0u);
}

TEST(Config, a_file_without_export_is_wrong_as_a_whole) {
  EXPECT_EQ(complaints("[server]\nport = 2049\n"),
            "braid.toml: there is no export; write [[export]], then path = \"/data\" and directory = "
            "\"/srv/data\"\n");
}

TEST(Config, a_single_export_table_is_explained) {
  EXPECT_EQ(
      complaints("[export]\npath = \"/\"\n"),
      "braid.toml:1: [export] is one table; exports are a list; write [[export]], then path = \"/data\" and "
      "directory = \"/srv/data\"\n");
}

TEST(Config, text_that_is_no_toml_is_named_with_its_line) {
  const std::string text = complaints("[server]\nport = \n");
  EXPECT_THAT(text, testing::StartsWith("braid.toml:2: "));
  EXPECT_THAT(text, HasSubstr("write TOML"));
}

TEST(Config, a_key_given_twice_is_an_error) {
  EXPECT_THAT(complaints("[server]\nport = 1\nport = 2\n"), testing::StartsWith("braid.toml:3: "));
}

TEST(Config, a_file_that_cannot_be_read_says_why) {
  const auto missing = read_text("/nonexistent/braid.toml");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(problems_text("/nonexistent/braid.toml", missing.error()),
            "/nonexistent/braid.toml: cannot be read: No such file or directory\n");
  EXPECT_FALSE(read_text("/").has_value());
}

TEST(Config, a_file_is_read_whole) {
  const std::string file = testing::TempDir() + "config_test.toml";
  std::ofstream(file) << one_export;
  EXPECT_EQ(read_text(file), one_export);
}

}  // namespace
}  // namespace braid::server::config
