// [pnfs], [data_server] and striped exports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/unit/server/config_text.h"

namespace braid::server::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(PnfsConfig, pnfs_is_off_unless_there_is_a_section) {
  const auto plain = parse_config(std::string(one_export));
  ASSERT_TRUE(plain.has_value());
  EXPECT_FALSE(plain->pnfs.on);
  EXPECT_EQ(plain->exports.front().data, Data::local);
  const auto empty = parse_config("[pnfs]\n" + std::string(one_export) + "data = \"striped\"\n");
  ASSERT_TRUE(empty.has_value());
  EXPECT_TRUE(empty->pnfs.on);
  EXPECT_EQ(empty->pnfs.secret, "");
  EXPECT_EQ(empty->pnfs.stripes.unit, base::MiB);
  EXPECT_EQ(empty->pnfs.stripes.width, 4u);
  EXPECT_EQ(empty->pnfs.stripes.packing, pnfs::Packing::sparse);
  EXPECT_EQ(empty->pnfs.lost_seconds, 300u);
  EXPECT_EQ(empty->exports.front().data, Data::striped);
  const auto tuned = parse_config(
      "[pnfs]\nsecret = \"/etc/secret\"\nstripe_unit = \"128KiB\"\nwidth = 56\npacking = \"dense\"\n"
      "lost_seconds = 60\n" +
      std::string(one_export) + "data = \"local\"\n");
  ASSERT_TRUE(tuned.has_value());
  EXPECT_EQ(tuned->pnfs.secret, "/etc/secret");
  EXPECT_EQ(tuned->pnfs.stripes.unit, 128 * base::KiB);
  EXPECT_EQ(tuned->pnfs.stripes.width, 56u);
  EXPECT_EQ(tuned->pnfs.stripes.packing, pnfs::Packing::dense);
  EXPECT_EQ(tuned->pnfs.lost_seconds, 60u);
}

TEST(PnfsConfig, bytes_of_files_are_signed_between_servers_where_that_is_asked_for) {
  const auto of_metadata = [](const std::string& value) {
    return "[pnfs]\ncontrol_integrity = " + value + "\n" + std::string(one_export);
  };
  EXPECT_FALSE(parse_config("[pnfs]\n" + std::string(one_export))->pnfs.signs_bulk);
  EXPECT_FALSE(parse_config(of_metadata("\"headers\""))->pnfs.signs_bulk);
  EXPECT_TRUE(parse_config(of_metadata("\"data\""))->pnfs.signs_bulk);
  EXPECT_EQ(complaints(of_metadata("\"all\"")),
            "braid.toml:2: 'control_integrity' is \"all\"; write \"headers\" or \"data\"\n");
}

TEST(PnfsConfig, mistakes_about_pnfs_are_told_with_their_lines) {
  EXPECT_EQ(
      complaints("[pnfs]\nstripe_unit = 65537\npacking = \"thick\"\nstripes = 4\nsecret = \"here\"\n" +
                 std::string(one_export)),
      "braid.toml:2: 'stripe_unit' is no multiple of 4 KiB; write e.g. \"1MiB\"\n"
      "braid.toml:3: 'packing' is \"thick\"; write \"sparse\" or \"dense\"\n"
      "braid.toml:4: unknown key 'stripes' in [pnfs]; known keys are secret, stripe_unit, width, packing, "
      "lost_seconds, data_transport, control_transport, control_integrity\n"
      "braid.toml:5: 'secret' is \"here\"; write an absolute path: secret = "
      "\"/etc/braid/pnfs.secret\"\n");
  EXPECT_THAT(
      complaints("[pnfs]\nstripe_unit = \"32KiB\"\nwidth = 57\nlost_seconds = 1\n" + std::string(one_export)),
      testing::AllOf(HasSubstr("braid.toml:2: 'stripe_unit'"), HasSubstr("braid.toml:3: 'width'"),
                     HasSubstr("braid.toml:4: 'lost_seconds'")));
  EXPECT_THAT(
      complaints("[pnfs]\nstripe_unit = \"1GiB\"\nwidth = 4\npacking = \"dense\"\n" +
                 std::string(one_export)),
      HasSubstr("braid.toml:4: 'packing' is \"dense\", and 'stripe_unit' times 'width' is 4 GiB or more"));
  EXPECT_EQ(complaints("[pnfs]\nstripe_unit = \"1GiB\"\nwidth = 3\npacking = \"dense\"\n" +
                       std::string(one_export)),
            "right");
}

TEST(PnfsConfig, a_striped_export_needs_data_servers) {
  EXPECT_EQ(
      complaints(std::string(one_export) + "data = \"striped\"\n"),
      "braid.toml:5: 'data' is \"striped\", and there are no data servers without a section [pnfs]; add one, "
      "which may be empty\n");
  EXPECT_EQ(complaints(std::string(one_export) + "data = \"somewhere\"\n"),
            "braid.toml:5: 'data' is \"somewhere\"; write \"local\" or \"striped\"\n");
}

TEST(PnfsConfig, clients_reach_data_servers_as_they_are_told) {
  const auto transports = [](const std::string& value) {
    const auto config = parse_config("[pnfs]\ndata_transport = " + value + "\n" + std::string(one_export));
    return config.has_value() ? config->pnfs.data_transport : std::vector<rpc::Transport>(9);
  };
  using enum rpc::Transport;
  EXPECT_THAT(transports("\"same\""), ElementsAre());
  EXPECT_THAT(transports("\"rdma\""), ElementsAre(rdma));
  EXPECT_THAT(transports("[\"rdma\", \"tcp\"]"), ElementsAre(rdma, tcp));
  const auto mistake = [](const std::string& value) {
    return complaints("[pnfs]\ndata_transport = " + value + "\n" + std::string(one_export));
  };
  EXPECT_THAT(mistake("[\"udp\"]"),
              HasSubstr("braid.toml:2: 'data_transport' holds \"udp\"; write \"same\""));
  EXPECT_THAT(mistake("[\"tcp\", \"tcp\"]"), HasSubstr("braid.toml:2: 'data_transport' holds \"tcp\" twice"));
  EXPECT_THAT(mistake("[]"), HasSubstr("braid.toml:2: 'data_transport' names no transport"));
  EXPECT_THAT(mistake("[\"same\"]"), HasSubstr("braid.toml:2: "));
  EXPECT_THAT(mistake("3"), HasSubstr("braid.toml:2: 'data_transport' is"));
}

TEST(PnfsConfig, data_servers_are_called_by_the_transport_that_is_named) {
  const std::string rdma_on = "[server]\nrdma = true\n";
  const auto transport = [&](const std::string& value) {
    const auto config =
        parse_config(rdma_on + "[pnfs]\ncontrol_transport = " + value + "\n" + std::string(one_export));
    return config->pnfs.control_transport;
  };
  EXPECT_EQ(parse_config("[pnfs]\n" + std::string(one_export))->pnfs.control_transport, rpc::Transport::tcp);
  EXPECT_EQ(transport("\"tcp\""), rpc::Transport::tcp);
  EXPECT_EQ(transport("\"rdma\""), rpc::Transport::rdma);
  const auto mistake = [](const std::string& value) {
    return complaints("[pnfs]\ncontrol_transport = " + value + "\n" + std::string(one_export));
  };
  EXPECT_EQ(mistake("\"udp\""), "braid.toml:2: 'control_transport' is \"udp\"; write \"tcp\" or \"rdma\"\n");
  EXPECT_EQ(
      mistake("\"rdma\""),
      "braid.toml:2: 'control_transport' is \"rdma\", and this server has no RDMA; write rdma = true in "
      "[server]\n");
  EXPECT_THAT(mistake("[\"rdma\"]"), HasSubstr("braid.toml:2: 'control_transport' is"));
}

TEST(PnfsConfig, a_data_server_calls_by_the_transport_that_is_named) {
  const std::string server = "[data_server]\ndirectory = \"/o\"\nmds = \"m:1\"\nsecret = \"/s\"\n";
  const std::string by_rdma = "control_transport = \"rdma\"\n";
  EXPECT_EQ(parse_config(server)->data_servers.at(0).control_transport, rpc::Transport::tcp);
  EXPECT_EQ(parse_config(server + "rdma = true\n" + by_rdma)->data_servers.at(0).control_transport,
            rpc::Transport::rdma);
  EXPECT_EQ(
      complaints(server + by_rdma),
      "braid.toml:5: 'control_transport' is \"rdma\", and this server has no RDMA; write rdma = true in "
      "[data_server]\n");
}

TEST(PnfsConfig, a_data_server_is_reached_by_rdma_where_it_says_so) {
  const std::string server = "[data_server]\ndirectory = \"/o\"\nmds = \"m:1\"\nsecret = \"/s\"\n";
  const auto port = [&](const std::string& value) {
    const auto config = parse_config(server + "rdma = " + value + "\n");
    return config.has_value() ? config->data_servers.at(0).rdma : std::optional<std::uint16_t>(1);
  };
  EXPECT_EQ(parse_config(server)->data_servers.at(0).rdma, std::nullopt);
  EXPECT_EQ(port("false"), std::nullopt);
  EXPECT_EQ(port("true"), 20049);
  EXPECT_EQ(port("20050"), 20050);
  for (const char* value : {"0", "65536", "\"yes\""})
    EXPECT_THAT(complaints(server + "rdma = " + value + "\n"), HasSubstr("braid.toml:5: 'rdma'"));
  EXPECT_THAT(
      complaints("[server]\nrdma = true\n" + server + "port = 2050\nrdma = true\n" + std::string(one_export)),
      HasSubstr("braid.toml:8: the data server and the exports both use the RDMA port 20049"));
}

TEST(PnfsConfig, a_data_server_needs_no_export) {
  const auto config = parse_config(
      "[data_server]\ndirectory = \"/srv/objects\"\nmds = \"mds:2049\"\nsecret = \"/etc/secret\"\n"
      "name = \"ds1\"\nlisten = [\"::1\"]\nport = 3049\nadvertise = [\"192.0.2.1\", \"192.0.2.2:4\"]\n");
  ASSERT_TRUE(config.has_value());
  EXPECT_TRUE(config->exports.empty());
  const DataServerConfig& server = config->data_servers.at(0);
  EXPECT_EQ(server.directory, "/srv/objects");
  EXPECT_EQ(server.mds, "mds:2049");
  EXPECT_EQ(server.secret, "/etc/secret");
  EXPECT_EQ(server.name, "ds1");
  EXPECT_THAT(server.listen, ElementsAre("::1"));
  EXPECT_EQ(server.port, 3049);
  EXPECT_THAT(server.advertise, ElementsAre("192.0.2.1", "192.0.2.2:4"));
}

TEST(PnfsConfig, mistakes_about_a_data_server_are_told_with_their_lines) {
  const std::string text = complaints(
      "[data_server]\ndirectory = \"objects\"\nmds = \"mds\"\nname = \"\"\nlisten = [\"a\"]\n"
      "advertise = [\"b\"]\nprot = 1\n");
  EXPECT_THAT(text, HasSubstr("braid.toml:1: [data_server] has no 'secret'"));
  EXPECT_THAT(text, HasSubstr("braid.toml:2: "));
  EXPECT_THAT(text, HasSubstr("braid.toml:3: 'mds' is \"mds\"; write a name or an address with a port"));
  EXPECT_THAT(text, HasSubstr("braid.toml:4: 'name' has 0 bytes"));
  EXPECT_THAT(text, HasSubstr("braid.toml:5: 'listen' holds \"a\""));
  EXPECT_THAT(text, HasSubstr("braid.toml:6: 'advertise' holds \"b\""));
  EXPECT_THAT(text, HasSubstr("braid.toml:7: "));
  const std::string both = "[data_server]\ndirectory = \"/o\"\nmds = \"m:1\"\nsecret = \"/s\"\n";
  EXPECT_THAT(complaints(both + std::string(one_export)), HasSubstr("both use port 2049"));
  EXPECT_EQ(complaints(both + "port = 2050\n" + std::string(one_export)), "right");
}

}  // namespace
}  // namespace braid::server::config
