#include "vfs/export.h"

#include <gtest/gtest.h>

#include "vfs/wire_handle.h"

namespace braid::vfs {
namespace {

Credentials credentials(std::uint32_t uid, std::uint32_t gid,
                        std::initializer_list<std::uint32_t> groups = {}) {
  Credentials who;
  who.uid = uid;
  who.gid = gid;
  for (const std::uint32_t group : groups) who.group_list[who.group_count++] = group;
  return who;
}

Export squashing(Squash squash) {
  Export out;
  out.squash = squash;
  out.anon_uid = 7000;
  out.anon_gid = 7001;
  return out;
}

Export named(std::string path, std::uint32_t id) {
  Export out;
  out.path = std::move(path);
  out.id = ExportId(id);
  return out;
}

TEST(SquashTest, none_keeps_root) {
  const Credentials root = credentials(0, 0, {0, 5});
  EXPECT_EQ(squashing(Squash::none).squashed(root), root);
}

TEST(SquashTest, root_replaces_the_user_and_the_group_zero_wherever_they_stand) {
  const Export e = squashing(Squash::root);
  EXPECT_EQ(e.squashed(credentials(0, 0, {0, 5})), credentials(7000, 7001, {7001, 5}));
  EXPECT_EQ(e.squashed(credentials(1000, 0, {0})), credentials(1000, 7001, {7001}));
  EXPECT_EQ(e.squashed(credentials(1000, 100, {5, 6})), credentials(1000, 100, {5, 6}));
}

TEST(SquashTest, all_replaces_everybody_and_drops_the_groups) {
  EXPECT_EQ(squashing(Squash::all).squashed(credentials(1000, 100, {5, 6})), credentials(7000, 7001));
}

TEST(SquashTest, an_id_that_the_kernel_cannot_take_is_anonymous) {
  for (const Squash squash : {Squash::none, Squash::root, Squash::all}) {
    const Credentials who = squashing(squash).squashed(credentials(0xffffffff, 0xffffffff, {0xffffffff}));
    EXPECT_EQ(who.uid, 7000U);
    EXPECT_EQ(who.gid, 7001U);
    for (const std::uint32_t group : who.groups()) EXPECT_EQ(group, 7001U);
  }
}

TEST(ExportTest, without_a_list_of_clients_everybody_is_allowed) {
  Export e;
  EXPECT_TRUE(e.allows(Address::parse("192.0.2.1").value()));
  e.clients = {Network::parse("10.0.0.0/8").value(), Network::parse("fd00::/8").value()};
  EXPECT_TRUE(e.allows(Address::parse("10.3.3.3").value()));
  EXPECT_TRUE(e.allows(Address::parse("fd00::1").value()));
  EXPECT_FALSE(e.allows(Address::parse("192.0.2.1").value()));
}

TEST(ExportTest, the_first_rule_that_names_a_client_is_his_and_the_export_itself_that_of_the_others) {
  Export e = squashing(Squash::all);
  e.clients = {Network::parse("10.0.0.0/8").value()};
  e.read_only = true;
  ExportRule one, many;
  one.clients = {Network::parse("10.1.1.1").value()};
  one.squash = Squash::none;
  many.clients = {Network::parse("10.1.0.0/16").value(), Network::parse("fd00::/8").value()};
  e.rules = {one, many};
  const auto rule_of = [&](std::string_view client) { return e.rule_of(Address::parse(client).value()); };
  EXPECT_EQ(rule_of("10.1.1.1"), &e.rules[0]);
  EXPECT_EQ(rule_of("10.1.1.2"), &e.rules[1]);
  EXPECT_EQ(rule_of("fd00::1"), &e.rules[1]) << "whom the export itself does not name";
  EXPECT_EQ(rule_of("10.2.0.0"), &e);
  EXPECT_EQ(rule_of("192.0.2.1"), nullptr);
}

TEST(ExportTest, whom_a_rule_gives_no_changes_is_told_apart_in_his_credentials) {
  for (const Squash squash : {Squash::none, Squash::root, Squash::all}) {
    Export e = squashing(squash);
    EXPECT_FALSE(e.squashed(credentials(1, 1)).read_only);
    e.read_only = true;
    EXPECT_TRUE(e.squashed(credentials(1, 1)).read_only);
  }
}

TEST(ExportTableTest, a_path_belongs_to_the_longest_export_above_it) {
  const ExportTable table({named("/data", 1), named("/data/deep", 2)});
  EXPECT_EQ(table.by_path("/data").found->id, ExportId(1));
  EXPECT_EQ(table.by_path("/data").rest, "");
  EXPECT_EQ(table.by_path("/data/x/y").found->id, ExportId(1));
  EXPECT_EQ(table.by_path("/data/x/y").rest, "x/y");
  EXPECT_EQ(table.by_path("/data/deep//z/").found->id, ExportId(2));
  EXPECT_EQ(table.by_path("/data/deep//z/").rest, "z");
  EXPECT_EQ(table.by_path("/data/deeper").found->id, ExportId(1));
  EXPECT_EQ(table.by_path("/database").found, nullptr);
  EXPECT_EQ(table.by_path("/").found, nullptr);
  EXPECT_EQ(table.by_path("").found, nullptr);
}

TEST(ExportTableTest, the_root_export_is_above_every_path) {
  const ExportTable table({named("/", 1), named("/data/", 2)});
  EXPECT_EQ(table.by_path("/").found->id, ExportId(1));
  EXPECT_EQ(table.by_path("/").rest, "");
  EXPECT_EQ(table.by_path("/other").rest, "other");
  EXPECT_EQ(table.by_path("/data").found->id, ExportId(2));
}

TEST(ExportTableTest, a_handle_leads_to_the_export_whose_id_it_carries) {
  const ExportTable table({named("/a", 0x01020304), named("/b", 9)});
  const FileHandle handle =
      HandleCodec(ExportId(0x01020304), {1, 2}).seal({false, 1, base::bytes_of("inode")});
  ASSERT_NE(table.by_handle(handle.view()), nullptr);
  EXPECT_EQ(table.by_handle(handle.view())->path, "/a");
  const FileHandle other = HandleCodec(ExportId(10), {1, 2}).seal({false, 1, base::bytes_of("inode")});
  EXPECT_EQ(table.by_handle(other.view()), nullptr);
  EXPECT_EQ(table.by_handle(handle.view().first(HandleCodec::header_bytes)), nullptr);
  EXPECT_EQ(table.by_handle({}), nullptr);
}

}  // namespace
}  // namespace braid::vfs
