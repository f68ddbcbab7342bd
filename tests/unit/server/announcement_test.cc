#include "server/run/announcement.h"

#include <gtest/gtest.h>

#include "rpc/socket_address.h"

namespace braid::server::run {
namespace {

rpc::PeerAddress peer(const char* text, std::uint16_t port) { return rpc::parse_address(text, port).value(); }

const rpc::PeerAddress reachable = peer("192.0.2.9", 0);

Announcement serving(std::vector<rpc::PeerAddress> addresses) {
  Announcement out;
  out.addresses = std::move(addresses);
  out.exports.emplace_back().path = "/";
  out.exports.front().directory = "/srv/data";
  return out;
}

TEST(MountCommand, without_rpcbind_the_port_is_given_for_both_protocols) {
  EXPECT_EQ(
      mount_command_v3(peer("192.0.2.1", 12049), false, "/"),
      "mount -t nfs -o vers=3,proto=tcp,port=12049,mountport=12049,mountproto=tcp,nolock 192.0.2.1:/ /mnt");
}

TEST(MountCommand, with_rpcbind_and_the_usual_port_none_is_needed) {
  EXPECT_EQ(mount_command_v3(peer("192.0.2.1", 2049), true, "/data"),
            "mount -t nfs -o vers=3,proto=tcp,nolock 192.0.2.1:/data /mnt");
}

TEST(MountCommand, another_port_is_given_even_with_rpcbind) {
  EXPECT_EQ(
      mount_command_v3(peer("192.0.2.1", 3049), true, "/"),
      "mount -t nfs -o vers=3,proto=tcp,port=3049,mountport=3049,mountproto=tcp,nolock 192.0.2.1:/ /mnt");
}

TEST(MountCommand, an_ipv6_address_stands_in_brackets) {
  EXPECT_EQ(mount_command_v3(peer("2001:db8::1", 12049), false, "/"),
            "mount -t nfs -o vers=3,proto=tcp6,port=12049,mountport=12049,mountproto=tcp6,nolock "
            "[2001:db8::1]:/ /mnt");
}

TEST(MountCommand, nfsv4_needs_the_port_at_most) {
  EXPECT_EQ(mount_command_v4(peer("192.0.2.1", 2049), "/data"),
            "mount -t nfs -o vers=4.2,proto=tcp 192.0.2.1:/data /mnt");
  EXPECT_EQ(mount_command_v4(peer("2001:db8::1", 12049), "/"),
            "mount -t nfs -o vers=4.2,proto=tcp6,port=12049 [2001:db8::1]:/ /mnt");
}

TEST(MountCommand, rdma_has_a_port_of_its_own) {
  EXPECT_EQ(mount_command_rdma(peer("192.0.2.1", 2049), 20049, "/data"),
            "mount -t nfs -o vers=4.2,proto=rdma,port=20049 192.0.2.1:/data /mnt");
  EXPECT_EQ(mount_command_rdma(peer("2001:db8::1", 2049), 20050, "/"),
            "mount -t nfs -o vers=4.2,proto=rdma6,port=20050 [2001:db8::1]:/ /mnt");
}

TEST(MountCommand, a_path_that_a_shell_would_take_apart_is_quoted) {
  EXPECT_EQ(mount_command_v4(peer("192.0.2.1", 2049), "/my data"),
            "mount -t nfs -o vers=4.2,proto=tcp '192.0.2.1:/my data' /mnt");
  EXPECT_EQ(mount_command_v3(peer("192.0.2.1", 2049), true, "/$HOME"),
            "mount -t nfs -o vers=3,proto=tcp,nolock '192.0.2.1:/$HOME' /mnt");
  EXPECT_EQ(mount_command_rdma(peer("192.0.2.1", 2049), 20049, "/a\nb"),
            "mount -t nfs -o vers=4.2,proto=rdma,port=20049 $'192.0.2.1:/a\\012b' /mnt");
}

TEST(Announcement, names_that_are_not_printable_are_shown_as_bytes) {
  Announcement announcement = serving({peer("10.1.2.3", 2049)});
  announcement.exports.front().directory = "/srv/\x1b[2J";
  EXPECT_NE(announcement_text(announcement, reachable).find("Serving /srv/\\x1b[2J as / on port"),
            std::string::npos);
}

TEST(Announcement, rdma_is_offered_where_it_is_served) {
  Announcement announcement = serving({peer("10.1.2.3", 2049)});
  EXPECT_EQ(announcement_text(announcement, reachable).find("rdma"), std::string::npos);
  announcement.rdma_port = 20049;
  EXPECT_NE(announcement_text(announcement, reachable)
                .find("or, over RDMA,\n"
                      "  mount -t nfs -o vers=4.2,proto=rdma,port=20049 10.1.2.3:/ /mnt\n"),
            std::string::npos);
}

TEST(Announcement, a_server_on_all_addresses_names_one_that_reaches_it) {
  EXPECT_EQ(announcement_text(serving({peer("::", 12049)}), reachable),
            "Serving /srv/data as / on port 12049\n"
            "Mount it on a client, as root, with\n"
            "  mount -t nfs -o vers=4.2,proto=tcp,port=12049 192.0.2.9:/ /mnt\n"
            "or, with NFSv3,\n"
            "  mount -t nfs -o vers=3,proto=tcp,port=12049,mountport=12049,mountproto=tcp,nolock 192.0.2.9:/ "
            "/mnt\n");
}

TEST(Announcement, an_address_of_the_network_is_preferred_to_loopback) {
  const std::string text =
      announcement_text(serving({peer("127.0.0.1", 12049), peer("10.1.2.3", 12049)}), reachable);
  EXPECT_NE(text.find(" 10.1.2.3:/ "), std::string::npos) << text;
}

TEST(Announcement, restrictions_and_read_only_exports_are_named) {
  Announcement announcement = serving({peer("127.0.0.1", 12049)});
  announcement.exports.front().read_only = true;
  announcement.restrictions = {"Every client acts with the rights of user 1000."};
  EXPECT_EQ(announcement_text(announcement, reachable),
            "Serving /srv/data as /, read-only, on port 12049\n"
            "Note: Every client acts with the rights of user 1000.\n"
            "Mount it on a client, as root, with\n"
            "  mount -t nfs -o vers=4.2,proto=tcp,port=12049 127.0.0.1:/ /mnt\n"
            "or, with NFSv3,\n"
            "  mount -t nfs -o vers=3,proto=tcp,port=12049,mountport=12049,mountproto=tcp,nolock 127.0.0.1:/ "
            "/mnt\n");
}

TEST(Announcement, data_servers_are_named_with_their_room) {
  EXPECT_EQ(data_servers_text({}), "");
  DataServerPlace first, second, other;
  first.name = "ds1";
  first.directory = "/a";
  first.port = 2050;
  first.file_system = 1;
  first.bytes_available = 3 * base::GiB;
  second = first;
  second.name = "ds2";
  second.directory = "/b";
  second.port = 2051;
  second.file_system = 2;
  second.bytes_available.reset();
  EXPECT_EQ(data_servers_text({first, second}),
            "The bytes of new files are spread over data servers of this process:\n"
            "  ds1 on port 2050: /a, 3 GiB free\n"
            "  ds2 on port 2051: /b, room unknown\n");
  second.file_system = 1;
  EXPECT_NE(data_servers_text({first, second}).find("Note: some of them are on one file system"),
            std::string::npos);
  other.mds = "mds:2049";
  other.directory = "/c";
  other.port = 2049;
  EXPECT_EQ(data_servers_text({other}), "Data server of mds:2049: objects in /c, on port 2049\n");
}

}  // namespace
}  // namespace braid::server::run
