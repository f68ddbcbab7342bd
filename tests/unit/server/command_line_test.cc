#include "server/cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/exit_code.h"
#include "server/cli/cluster_command.h"
#include "server/cli/export_command.h"
#include "server/cli/state_command.h"
#include "server/cli/status_command.h"
#include "server/run/serve.h"

namespace braid::server::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::expected<std::unique_ptr<Command>, Exit> parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "braid");
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

// What a command gets that takes such options.
template <class Options>
Options options_of(const std::unique_ptr<Command>& command) {
  const auto* const taken = dynamic_cast<const CommandOf<Options>*>(command.get());
  EXPECT_NE(taken, nullptr);
  return taken == nullptr ? Options{} : taken->options;
}

run::ServeCommand served(std::vector<const char*> arguments) {
  auto command = parse(std::move(arguments));
  EXPECT_TRUE(command.has_value()) << command.error().text;
  return command ? options_of<run::ServeCommand>(*command) : run::ServeCommand{};
}

// What the user reads; the exit code must be that of a wrong command line.
std::string refused(std::vector<const char*> arguments) {
  const auto command = parse(std::move(arguments));
  if (command) return "accepted";
  EXPECT_EQ(command.error().code, base::exit_usage);
  return command.error().text;
}

TEST(CommandLine, a_directory_alone_is_exported_as_the_root_with_the_defaults) {
  const run::ServeCommand command = served({"serve", "/srv/data"});
  ASSERT_EQ(command.config.exports.size(), 1u);
  const config::ExportConfig& e = command.config.exports[0];
  EXPECT_EQ(e.path, "/");
  EXPECT_EQ(e.directory, "/srv/data");
  EXPECT_EQ(e.squash, vfs::Squash::root);
  EXPECT_FALSE(e.read_only);
  EXPECT_TRUE(e.sync);
  EXPECT_EQ(command.config.port, 2049);
}

TEST(CommandLine, a_data_server_has_a_directory_a_metadata_server_and_a_secret) {
  const run::ServeCommand command =
      served({"data-server", "/srv/objects", "--mds", "mds:2049", "--secret", "/etc/s", "--name", "ds1",
              "--port", "3049", "--listen", "::1", "--advertise", "192.0.2.1", "--advertise", "192.0.2.2:5",
              "--threads", "3"});
  EXPECT_TRUE(command.config.exports.empty());
  EXPECT_EQ(command.config.threads, 3U);
  const config::DataServerConfig& server = command.config.data_servers.at(0);
  EXPECT_EQ(server.directory, "/srv/objects");
  EXPECT_EQ(server.mds, "mds:2049");
  EXPECT_EQ(server.secret, "/etc/s");
  EXPECT_EQ(server.name, "ds1");
  EXPECT_EQ(server.port, 3049);
  EXPECT_THAT(server.listen, ElementsAre("::1"));
  EXPECT_THAT(server.advertise, ElementsAre("192.0.2.1", "192.0.2.2:5"));
  EXPECT_EQ(server.rdma, std::nullopt);
  const auto rdma = [](const std::vector<const char*>& more) {
    std::vector<const char*> words{"data-server", "/o", "--mds", "mds:2049", "--secret", "/s", "--rdma"};
    words.insert(words.end(), more.begin(), more.end());
    return served(words).config.data_servers.at(0).rdma;
  };
  EXPECT_EQ(rdma({}), 20049);
  EXPECT_EQ(rdma({"20051"}), 20051);
  const std::vector<const char*> calls{"data-server",         "/o",  "--mds", "mds:20049", "--secret", "/s",
                                       "--control-transport", "rdma"};
  EXPECT_THAT(refused(calls), HasSubstr("add --rdma"));
  std::vector<const char*> with_rdma = calls;
  with_rdma.push_back("--rdma");
  EXPECT_EQ(server.control_transport, rpc::Transport::tcp);
  EXPECT_FALSE(server.signs_bulk);
  EXPECT_EQ(served(with_rdma).config.data_servers.at(0).control_transport, rpc::Transport::rdma);
  with_rdma[7] = "udp";
  EXPECT_THAT(refused(with_rdma), HasSubstr("write tcp or rdma"));
  with_rdma[7] = "tcp";
  with_rdma.insert(with_rdma.end(), {"--control-integrity", "data"});
  EXPECT_TRUE(served(with_rdma).config.data_servers.at(0).signs_bulk);
  with_rdma.back() = "all";
  EXPECT_THAT(refused(with_rdma), HasSubstr("write headers or data"));
  EXPECT_THAT(refused({"data-server", "/srv/objects", "--mds", "mds:2049"}),
              HasSubstr("--secret is required"));
  EXPECT_THAT(refused({"data-server", "/o", "--mds", "mds", "--secret", "/s"}),
              HasSubstr("write a name or an address with a port"));
}

TEST(CommandLine, data_servers_of_the_process_follow_the_port_and_have_directories_in_turn) {
  const run::ServeCommand command =
      served({"serve", "/srv", "--data-servers", "3", "--port", "12049", "--listen", "::1",
              "--data-directory", "/a", "--data-directory", "/b"});
  EXPECT_TRUE(command.config.pnfs.on);
  EXPECT_TRUE(command.config.pnfs.secret.empty());
  EXPECT_EQ(command.config.exports.at(0).data, config::Data::striped);
  ASSERT_EQ(command.config.data_servers.size(), 3U);
  for (unsigned i = 0; i < 3; ++i) {
    const config::DataServerConfig& server = command.config.data_servers[i];
    EXPECT_EQ(server.port, 12050 + i);
    EXPECT_EQ(server.name, "ds" + std::to_string(i + 1));
    EXPECT_EQ(server.mds, "") << "this process";
    EXPECT_EQ(server.rdma, std::nullopt);
    EXPECT_THAT(server.listen, ElementsAre("::1"));
  }
  EXPECT_EQ(command.config.data_servers[0].directory, "/a");
  EXPECT_EQ(command.config.data_servers[1].directory, "/b");
  EXPECT_EQ(command.config.data_servers[2].directory, "");
  for (const auto& server :
       served({"serve", "/srv", "--port", "0", "--data-servers", "2"}).config.data_servers)
    EXPECT_EQ(server.port, 0);
  const auto by_rdma =
      served({"serve", "/srv", "--rdma", "20060", "--data-servers", "2"}).config.data_servers;
  EXPECT_EQ(by_rdma[0].rdma, 20061);
  EXPECT_EQ(by_rdma[1].rdma, 20062);
  const config::Config plain = served({"serve", "/srv"}).config;
  EXPECT_FALSE(plain.pnfs.on);
  EXPECT_TRUE(plain.data_servers.empty());
}

TEST(CommandLine, a_store_of_the_command_line_is_made_and_is_the_exports) {
  const config::Config config = served({"serve", "/srv", "--store", "/stores/s"}).config;
  ASSERT_EQ(config.stores.size(), 1U);
  EXPECT_EQ(config.stores.front().directory, "/stores/s");
  EXPECT_TRUE(config.stores.front().make);
  EXPECT_EQ(config.exports.front().store, config.stores.front().name);
  EXPECT_THAT(served({"serve", "/srv", "--store", "s"}).config.stores.front().directory,
              testing::StartsWith("/"));
  EXPECT_TRUE(served({"serve", "/srv"}).config.stores.empty());
  EXPECT_EQ(config.stores.front().compression, store::CompressionOptions());
  EXPECT_EQ(
      served({"serve", "/srv", "--store", "/s", "--compression", "zstd:9"}).config.stores.front().compression,
      (store::CompressionOptions{.how = store::Compression::zstd, .level = 9}));
  EXPECT_THAT(refused({"serve", "/srv", "--store", "/s", "--compression", "lz4"}),
              HasSubstr("write none, zstd, or zstd:1 to zstd:19"));
  EXPECT_THAT(refused({"serve", "/srv", "--compression", "zstd"}), HasSubstr("--store"));
  EXPECT_THAT(refused({"serve", "--config", "f", "--store", "/s"}), HasSubstr("belongs to an export"));
  EXPECT_THAT(refused({"serve", "/srv", "--store", "/s", "--data-servers", "2"}),
              HasSubstr("exclude each other"));
}

TEST(CommandLine, data_servers_that_cannot_work_are_refused) {
  EXPECT_THAT(refused({"serve", "/srv", "--data-servers", "0"}), HasSubstr("write a number from 1 to 16"));
  EXPECT_THAT(refused({"serve", "/srv", "--data-servers", "17"}), HasSubstr("write a number from 1 to 16"));
  EXPECT_THAT(refused({"serve", "--config", "f", "--data-servers", "2"}),
              HasSubstr("go with DIR; with a config"));
  EXPECT_THAT(refused({"serve", "--config", "f", "--data-directory", "/a"}), HasSubstr("go with DIR"));
  EXPECT_THAT(refused({"serve", "/srv", "--data-directory", "/a"}), HasSubstr("is for --data-servers N"));
  EXPECT_THAT(
      refused({"serve", "/srv", "--data-servers", "1", "--data-directory", "/a", "--data-directory", "/b"}),
      HasSubstr("2 --data-directory for 1 data servers"));
  EXPECT_THAT(
      refused({"serve", "/srv", "--data-servers", "2", "--data-directory", "/a", "--data-directory", "/a"}),
      HasSubstr("--data-directory /a is there twice"));
  EXPECT_THAT(refused({"serve", "/srv", "--data-servers", "2", "--port", "65534"}),
              HasSubstr("none above 65535"));
  EXPECT_EQ(
      served({"serve", "/srv", "--data-servers", "2", "--port", "65533"}).config.data_servers.at(1).port,
      65535);
}

TEST(CommandLine, help_is_asked_for_by_a_command_too) {
  const auto helped = [](std::vector<const char*> arguments) {
    const auto command = parse(std::move(arguments));
    return !command && command.error().code == 0 ? command.error().text : std::string("no help");
  };
  EXPECT_EQ(helped({"help"}), helped({"--help"}));
  EXPECT_EQ(helped({"help", "serve"}), helped({"serve", "--help"}));
  EXPECT_EQ(helped({"help", "client", "evict"}), helped({"client", "evict", "--help"}));
  EXPECT_THAT(helped({"help", "serve"}), HasSubstr("--port"));
  EXPECT_THAT(refused({"help", "srve"}), HasSubstr("did you mean serve?"));
}

TEST(CommandLine, an_unknown_word_is_named_and_what_may_be_meant) {
  EXPECT_EQ(refused({"srve", "/srv"}),
            "braid: there is no command 'srve'; did you mean serve?\nTry: braid --help\n");
  EXPECT_THAT(refused({"client", "evct", "5"}),
              StartsWith("braid client: there is no command 'evct'; did you"));
  EXPECT_THAT(refused({"frobnicate"}), StartsWith("braid: there is no command 'frobnicate'\n"));
  EXPECT_EQ(refused({"serve", "/srv", "--prot", "1"}),
            "braid serve: there is no option --prot; did you mean --port?\nTry: braid serve --help\n");
  EXPECT_THAT(refused({"serve", "/srv", "--prot=1"}), HasSubstr("there is no option --prot; did you"));
  EXPECT_THAT(refused({"status", "now"}), StartsWith("braid status: 'now' is one word too many\n"));
  EXPECT_THAT(refused({"--config", "x"}),
              StartsWith("braid: there is no option --config before a command\n"));
  EXPECT_THAT(refused({}), StartsWith("braid: a command is missing\n"));
}

TEST(CommandLine, a_number_out_of_range_is_told_its_range) {
  EXPECT_THAT(refused({"serve", "/srv", "--port", "99999"}),
              StartsWith("braid serve: --port: '99999' is wrong; write a number from 0 to 65535\n"));
  EXPECT_THAT(refused({"status", "--port", "0"}), HasSubstr("write a number from 1 to 65535"));
  EXPECT_THAT(refused({"serve", "/srv", "--threads", "many"}), HasSubstr("write a number from 1 to 256"));
  EXPECT_THAT(refused({"serve", "/srv", "--anonuid", "-1"}), HasSubstr("a number from 0 to 4294967295"));
}

TEST(CommandLine, rdma_has_its_usual_port_or_another) {
  EXPECT_FALSE(served({"serve", "/srv"}).config.rdma.on);
  const run::ServeCommand usual = served({"serve", "/srv", "--rdma"});
  EXPECT_TRUE(usual.config.rdma.on);
  EXPECT_EQ(usual.config.rdma.port, 20049);
  EXPECT_EQ(served({"serve", "/srv", "--rdma", "--port", "12049"}).config.rdma.port, 20049);
  EXPECT_EQ(served({"serve", "/srv", "--rdma", "20050"}).config.rdma.port, 20050);
  EXPECT_THAT(refused({"serve", "/srv", "--rdma", "0"}), HasSubstr("--rdma"));
}

TEST(CommandLine, every_option_reaches_the_configuration) {
  const run::ServeCommand command =
      served({"serve",          "--listen",    "127.0.0.1", "--listen",   "::1",         "--port",
              "12049",          "--squash",    "all",       "--anonuid",  "1000",        "--anongid",
              "1001",           "--read-only", "--allow",   "10.0.0.0/8", "--allow",     "::1",
              "--no-sync",      "--threads",   "2",         "--state",    "/tmp/s",      "--metrics",
              "127.0.0.1:9100", "--log-level", "debug",     "--admin",    "/tmp/a.sock", "/srv"});
  const config::Config& c = command.config;
  EXPECT_THAT(c.listen, ElementsAre("127.0.0.1", "::1"));
  EXPECT_EQ(c.port, 12049);
  EXPECT_EQ(c.threads, 2u);
  EXPECT_EQ(c.state_dir, "/tmp/s");
  EXPECT_EQ(c.metrics->text(), "127.0.0.1:9100");
  EXPECT_EQ(c.log_level, base::Level::debug);
  EXPECT_EQ(c.admin_socket, "/tmp/a.sock");
  const config::ExportConfig& e = c.exports.at(0);
  EXPECT_EQ(e.directory, "/srv");
  EXPECT_EQ(e.squash, vfs::Squash::all);
  EXPECT_EQ(e.anon_uid, 1000u);
  EXPECT_EQ(e.anon_gid, 1001u);
  EXPECT_TRUE(e.read_only);
  EXPECT_FALSE(e.sync);
  EXPECT_THAT(e.clients, ElementsAre("10.0.0.0/8", "::1"));
}

TEST(CommandLine, options_of_the_server_win_over_the_file) {
  run::ServeCommand command = served({"serve", "--config", "/etc/braid/braid.toml", "--port", "5000"});
  EXPECT_EQ(command.config_file, "/etc/braid/braid.toml");
  EXPECT_FALSE(command.check_only);
  config::Config from_file;
  from_file.port = 2049;
  from_file.threads = 7;
  run::apply(command.overrides, from_file);
  EXPECT_EQ(from_file.port, 5000);
  EXPECT_EQ(from_file.threads, 7u);
}

TEST(CommandLine, a_file_can_be_checked_only) {
  const run::ServeCommand command = served({"serve", "--check-config", "b.toml"});
  EXPECT_EQ(command.config_file, "b.toml");
  EXPECT_TRUE(command.check_only);
}

TEST(CommandLine, status_takes_a_port_a_socket_and_json) {
  const auto command = parse({"status", "--port", "12049", "--admin", "/tmp/a.sock", "--json"});
  ASSERT_TRUE(command.has_value());
  const auto status = options_of<StatusCommand>(*command);
  EXPECT_EQ(status.server.port, 12049);
  EXPECT_EQ(status.server.admin_socket, "/tmp/a.sock");
  EXPECT_TRUE(status.json);
}

TEST(CommandLine, lists_of_state_take_a_server_a_client_and_json) {
  for (const char* what :
       {"clients", "sessions", "opens", "locks", "delegations", "layouts", "data-servers"}) {
    const auto command = parse({what, "--port", "12049", "--json"});
    ASSERT_TRUE(command.has_value()) << command.error().text;
    const auto list = options_of<ListCommand>(*command);
    EXPECT_EQ(list.what, what);
    EXPECT_EQ(list.server.port, 12049);
    EXPECT_TRUE(list.json);
    EXPECT_THAT(parse({what, "--help"}).error().text, HasSubstr("--admin"));
  }
  const auto locks = parse({"locks", "--client", "0x500000001", "--admin", "/tmp/a.sock"});
  ASSERT_TRUE(locks.has_value());
  EXPECT_EQ(options_of<ListCommand>(*locks).client, "0x500000001");
  EXPECT_EQ(options_of<ListCommand>(*locks).server.admin_socket, "/tmp/a.sock");
  EXPECT_THAT(refused({"locks", "--client", ""}), HasSubstr("--client: '' is wrong"));
  const auto opens = parse({"opens", "--client", "host", "--file", "/data:/x", "--config", "f"});
  ASSERT_TRUE(opens.has_value());
  EXPECT_EQ(options_of<ListCommand>(*opens).client, "host");
  EXPECT_EQ(options_of<ListCommand>(*opens).file, "/data:/x");
  EXPECT_EQ(options_of<ListCommand>(*opens).server.config_file, "f");
  EXPECT_THAT(refused({"sessions", "--file", "x"}), HasSubstr("--file"));
  EXPECT_THAT(refused({"clients", "--client", "0x1"}), HasSubstr("--client"));
  EXPECT_THAT(refused({"data-servers", "--client", "0x1"}), HasSubstr("--client"));
}

TEST(CommandLine, a_file_is_located) {
  const auto command = parse({"location", "/srv/f", "--port", "7", "--json"});
  ASSERT_TRUE(command.has_value()) << command.error().text;
  const auto location = options_of<LocationCommand>(*command);
  EXPECT_EQ(location.file, "/srv/f");
  EXPECT_EQ(location.server.port, 7);
  EXPECT_TRUE(location.json);
  EXPECT_THAT(refused({"location"}), HasSubstr("FILE"));
}

TEST(CommandLine, what_is_said_of_a_cluster_is_a_table) {
  const auto servers = state_table("data-servers", R"({"data-servers":[{"number":1,"name":"ds1","server":"01",
    "addresses":["tcp 192.0.2.1.8.1","rdma 192.0.2.1.78.81"],"state":"in contact","generation":3,
    "bytes_total":2147483648,"bytes_free":1,"bytes_available":1073741824,"objects_free":7,"load":2}]})");
  ASSERT_TRUE(servers);
  EXPECT_THAT(*servers, HasSubstr("tcp 192.0.2.1.8.1, rdma 192.0.2.1.78.81"));
  EXPECT_THAT(*servers, HasSubstr("1 GiB"));
  EXPECT_FALSE(state_table("data-servers", R"({"data-servers":[{}]})"));
  const auto place = location_table(R"({"file":"/:/f","object":"2a","epoch":1,"unit":1048576,
    "packing":"sparse","first":1,"servers":[{"index":0,"number":2,"object_file":"objects/2a/2a.0000",
    "name":"ds2","addresses":["tcp 192.0.2.2.8.1"],"state":"in contact"},
    {"index":1,"number":9,"object_file":"objects/2a/2a.0001"}]})");
  ASSERT_TRUE(place);
  EXPECT_THAT(*place, HasSubstr("on 2 servers in pieces of 1 MiB, sparse, the first one at index 1"));
  EXPECT_THAT(*place, HasSubstr("objects/2a/2a.0001"));
  EXPECT_FALSE(location_table("{}"));
}

TEST(CommandLine, a_client_is_evicted_or_its_state_revoked) {
  for (const char* action : {"evict", "revoke"}) {
    const auto command = parse({"client", action, "0x500000001", "--port", "7"});
    ASSERT_TRUE(command.has_value()) << command.error().text;
    const auto client = options_of<ClientCommand>(*command);
    EXPECT_EQ(client.action, action);
    EXPECT_EQ(client.client, "0x500000001");
    EXPECT_EQ(client.server.port, 7);
    EXPECT_THAT(refused({"client", action}), HasSubstr("CLIENT"));
  }
  EXPECT_THAT(refused({"client"}), StartsWith("braid client: "));
  EXPECT_THAT(parse({"client", "--help"}).error().text, HasSubstr("evict"));
}

TEST(CommandLine, what_is_at_an_export_is_accepted) {
  const auto command = parse({"export", "accept", "/data", "--port", "7"});
  ASSERT_TRUE(command.has_value()) << command.error().text;
  const auto accepted = options_of<ExportCommand>(*command);
  EXPECT_EQ(accepted.path, "/data");
  EXPECT_EQ(accepted.server.port, 7);
  EXPECT_THAT(refused({"export", "accept"}), HasSubstr("PATH"));
  EXPECT_THAT(refused({"export"}), StartsWith("braid export: "));
}

TEST(CommandLine, an_export_is_suspended_and_resumed_a_server_reloaded_and_its_grace_period_ended) {
  for (const char* action : {"suspend", "resume"}) {
    const auto command = parse({"export", action, "/data"});
    ASSERT_TRUE(command.has_value()) << command.error().text;
    EXPECT_EQ(options_of<ExportCommand>(*command).action, action);
    EXPECT_EQ(options_of<ExportCommand>(*command).path, "/data");
  }
  const auto reload = parse({"reload", "--port", "7"});
  ASSERT_TRUE(reload.has_value()) << reload.error().text;
  EXPECT_EQ(options_of<ReloadCommand>(*reload).server.port, 7);
  const auto grace = parse({"grace", "end", "--port", "7"});
  ASSERT_TRUE(grace.has_value()) << grace.error().text;
  EXPECT_EQ(options_of<GraceCommand>(*grace).server.port, 7);
  EXPECT_THAT(refused({"grace"}), StartsWith("braid grace: "));
}

TEST(CommandLine, help_and_version_end_with_success) {
  for (const char* option : {"--help", "--version"}) {
    const auto command = parse({option});
    ASSERT_FALSE(command.has_value());
    EXPECT_EQ(command.error().code, 0);
  }
  EXPECT_THAT(parse({"--version"}).error().text,
              testing::MatchesRegex("braid [0-9.]+\ncommit ([0-9a-f]+|unknown)\nbuild [^\n]+, [^\n]+\n"));
  EXPECT_THAT(parse({"serve", "--help"}).error().text, HasSubstr("--squash"));
}

TEST(CommandLine, values_that_are_wrong_are_named_with_a_remedy) {
  EXPECT_THAT(refused({"serve", "/srv", "--squash", "no"}),
              HasSubstr("--squash: 'no' is wrong; write none, root or all"));
  EXPECT_THAT(
      refused({"serve", "/srv", "--allow", "10.0.0.0/99"}),
      HasSubstr(
          "--allow: '10.0.0.0/99' is wrong; write a network such as 10.0.0.0/8 or fd00::/8, or one address"));
  EXPECT_THAT(
      refused({"serve", "/srv", "--listen", "localhost"}),
      HasSubstr("--listen: 'localhost' is wrong; write an IP address without a port; the port is --port"));
  EXPECT_THAT(refused({"serve", "/srv", "--metrics", "9100"}),
              HasSubstr("--metrics: '9100' is wrong; write ADDRESS:PORT"));
  EXPECT_THAT(refused({"serve", "/srv", "--log-level", "loud"}),
              HasSubstr("'loud' is wrong; write debug, info, warning or error\n"));
  EXPECT_THAT(refused({"serve", "/srv", "--log-level", "wraning"}),
              HasSubstr("write debug, info, warning or error; did you mean warning?\n"));
  EXPECT_THAT(refused({"serve", "/srv", "--squash", "rot"}),
              HasSubstr("write none, root or all; did you mean root?\n"));
  EXPECT_THAT(refused({"serve", "/srv", "--port", "70000"}), HasSubstr("--port"));
  EXPECT_THAT(refused({"serve", "/srv", "--threads", "0"}), HasSubstr("--threads"));
}

TEST(CommandLine, words_that_are_not_printable_are_shown_as_bytes) {
  EXPECT_THAT(refused({"a\x1b[2J\n"}), HasSubstr("'a\\x1b[2J\\x0a'"));
  EXPECT_THAT(refused({"serve", "/srv", "--squash", "\x1b[2J"}), HasSubstr("'\\x1b[2J' is wrong"));
}

TEST(CommandLine, a_file_is_checked_that_either_option_names) {
  for (const std::vector<const char*>& words :
       std::vector<std::vector<const char*>>{{"serve", "--check-config", "f"},
                                             {"serve", "--config", "f", "--check-config"},
                                             {"serve", "--check-config", "--config", "f"},
                                             {"serve", "--check-config", "f", "--config", "f"}}) {
    const run::ServeCommand command = served(words);
    EXPECT_TRUE(command.check_only);
    EXPECT_EQ(command.config_file, "f");
  }
  EXPECT_FALSE(served({"serve", "--config", "f"}).check_only);
  EXPECT_THAT(refused({"serve", "--check-config"}), HasSubstr("--check-config has no file"));
  EXPECT_THAT(refused({"serve", "--check-config", "f", "--config", "g"}), HasSubstr("two files"));
}

TEST(CommandLine, combinations_that_make_no_sense_are_refused) {
  EXPECT_THAT(refused({"serve"}), StartsWith("braid serve: nothing to serve; write braid serve DIR, or "));
  EXPECT_THAT(refused({"serve", "/srv", "--config", "f"}), HasSubstr("exclude each other"));
  EXPECT_THAT(refused({"serve", "--config", "f", "--read-only"}),
              HasSubstr("--read-only belongs to an export"));
  EXPECT_THAT(refused({"serve", "/srv", "--squash", "none", "--anonuid", "5"}),
              HasSubstr("--anonuid has no effect with --squash none"));
  EXPECT_THAT(refused({}), StartsWith("braid: "));
  EXPECT_THAT(refused({"sevre", "/srv"}), StartsWith("braid: "));
  EXPECT_THAT(refused({"serve", "/srv", "--prot", "1"}), HasSubstr("--prot"));
  EXPECT_THAT(refused({"serve", "/a", "/b"}), HasSubstr("/b"));
}

}  // namespace
}  // namespace braid::server::cli
