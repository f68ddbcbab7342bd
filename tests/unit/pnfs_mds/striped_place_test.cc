// Which files are striped, and what becomes of their objects.
#include <gmock/gmock.h>

#include "tests/unit/pnfs_mds/striped_fixture.h"

namespace braid::pnfs_mds::test {
namespace {

using vfs::Error;

class StripedPlaces : public StripedTest {
 protected:
  base::Bytes& record_of_file(std::string_view name) {
    return node(name).records.find(pnfs::layout_record_name)->second;
  }
  base::Result<vfs::ContentRef, Error> place(std::string_view name) {
    return now(fs_->place(file(name), cluster_->source(), {}));
  }
  base::Result<void, Error> remove(std::string_view name) {
    vfs::Wcc wcc;
    return now(fs_->remove(nobody_, fs_->root(), name, wcc));
  }
};

TEST_F(StripedPlaces, an_empty_file_is_placed_at_its_first_write) {
  add("f");
  EXPECT_EQ(content("f"), nullptr);
  EXPECT_TRUE(now(write("f", 0, "bytes")));
  ASSERT_NE(content("f"), nullptr);
  EXPECT_EQ(content("f")->record().servers.size(), 3U);
  EXPECT_EQ(content("f")->record().epoch, pnfs::Epoch(1));
  EXPECT_EQ(node("f").content, std::string(5, '\0')) << "the file's own bytes are a hole";
}

TEST_F(StripedPlaces, to_place_a_file_asks_no_server) {
  add("f");
  const auto placed = place("f");
  ASSERT_TRUE(placed);
  EXPECT_NE(cluster_->source().of(*placed), nullptr);
  EXPECT_EQ(objects_.calls(), 0U);
  EXPECT_FALSE(content("f")->unsettled());
  EXPECT_EQ(place("f").value(), *placed) << "it has its place";
}

TEST_F(StripedPlaces, each_file_has_an_object_of_its_own) {
  add("f");
  add("g");
  EXPECT_TRUE(place("f"));
  EXPECT_TRUE(place("g"));
  const pnfs::ObjectId last = content("g")->object();
  EXPECT_NE(content("f")->object(), last);
  add("h");
  start();
  for (std::uint32_t number = 1; number <= 3; ++number) beat(number);
  EXPECT_TRUE(place("h"));
  EXPECT_GT(content("h")->object(), last);
}

TEST_F(StripedPlaces, each_content_is_found_by_its_object_as_long_as_somebody_holds_it) {
  constexpr std::size_t files = 3000;
  std::vector<vfs::ContentRef> held;
  const auto object_of = [&](const vfs::ContentRef& content) {
    return cluster_->source().of(content)->object();
  };
  for (std::size_t i = 0; i < files; ++i) {
    const std::string name = "f" + std::to_string(i);
    add(name);
    const auto placed = place(name);
    ASSERT_TRUE(placed);
    held.push_back(*placed);
  }
  for (const vfs::ContentRef& one : held) EXPECT_EQ(cluster_->source().living(object_of(one)), one);
  EXPECT_EQ(cluster_->source().living(pnfs::ObjectId(files + 10)), nullptr);
  const pnfs::ObjectId first = object_of(held.front());
  fs_.reset();
  EXPECT_EQ(cluster_->source().living(first), held.front()) << "somebody holds it";
  held.erase(held.begin());
  EXPECT_EQ(cluster_->source().living(first), nullptr);
  for (const vfs::ContentRef& one : held) EXPECT_EQ(cluster_->source().living(object_of(one)), one);
}

TEST_F(StripedPlaces, a_file_with_bytes_of_its_own_stays_plain) {
  add("f", "own");
  EXPECT_TRUE(now(write("f", 3, "!")));
  EXPECT_EQ(place("f").value(), nullptr);
  EXPECT_EQ(content("f"), nullptr);
  EXPECT_EQ(now(read("f", 0, 10))->text, "own!");
  EXPECT_EQ(objects_.calls(), 0U);
}

TEST_F(StripedPlaces, without_a_server_in_contact_a_file_waits) {
  start();
  add("f");
  EXPECT_EQ(place("f").error(), Error::delay);
  EXPECT_EQ(now(write("f", 0, "bytes")).error(), Error::delay);
  EXPECT_TRUE(node("f").records.empty());
  beat(2);
  EXPECT_TRUE(now(write("f", 0, "bytes")));
  EXPECT_EQ(content("f")->record().servers, std::vector{pnfs::ServerNumber(2)}) << "fewer stripes";
}

TEST_F(StripedPlaces, a_file_is_found_again_by_its_record) {
  add("f");
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit))));
  const pnfs::LayoutRecord record = content("f")->record();
  start();
  EXPECT_EQ(content("f")->record(), record);
  EXPECT_EQ(now(read("f", 0, 3 * unit))->text, pattern(0, 3 * unit));
}

TEST_F(StripedPlaces, a_damaged_record_is_an_error_of_the_file) {
  add("f");
  EXPECT_TRUE(now(write("f", 0, "bytes")));
  record_of_file("f").at(20) ^= std::byte{1};
  start();
  EXPECT_EQ(now(read("f", 0, 10)).error(), Error::io);
  EXPECT_EQ(now(write("f", 0, "x")).error(), Error::io);
  EXPECT_TRUE(remove("f"));
  EXPECT_EQ(cluster_->removals().backlog(), 0U);
}

TEST_F(StripedPlaces, a_copied_record_leads_to_no_other_files_bytes) {
  add("f");
  EXPECT_TRUE(now(write("f", 0, "secret")));
  add("g");
  node("g").records = node("f").records;
  EXPECT_EQ(now(read("g", 0, 10)).error(), Error::io);
  EXPECT_EQ(now(read("f", 0, 10))->text, "secret");
}

TEST_F(StripedPlaces, objects_go_with_the_last_name) {
  add("f");
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit))));
  EXPECT_EQ(objects_.count(), 3U);
  const auto [server, key] = place_of("f", 0);
  EXPECT_TRUE(remove("f"));
  EXPECT_EQ(cluster_->removals().backlog(), 1U);
  EXPECT_TRUE(now(cluster_->removals().work()));
  EXPECT_EQ(objects_.count(), 0U);
  EXPECT_TRUE(objects_.removed(server, key));
}

TEST_F(StripedPlaces, objects_stay_while_the_file_has_another_name_or_is_open) {
  add("f");
  EXPECT_TRUE(now(write("f", 0, "bytes")));
  vfs::Wcc wcc;
  EXPECT_TRUE(now(fs_->link(nobody_, file("f"), fs_->root(), "g", wcc)));
  auto open = now(fs_->open(nobody_, file("f"), vfs::OpenAccess::both, vfs::OpenRule::caller));
  EXPECT_TRUE(remove("f"));
  EXPECT_EQ(now(read("g", 0, 10))->text, "bytes");
  EXPECT_TRUE(remove("g"));
  EXPECT_TRUE(now(cluster_->removals().work()));
  EXPECT_EQ(objects_.count(), 1U);
  open->reset();
  EXPECT_TRUE(now(cluster_->removals().work()));
  EXPECT_EQ(objects_.count(), 0U);
}

TEST_F(StripedPlaces, the_room_is_that_of_the_servers) {
  const auto status = now(fs_->status(fs_->root()));
  ASSERT_TRUE(status);
  vfs::FileSystemStatus adjusted = *status;
  EXPECT_TRUE(now(cluster_->source().adjust(adjusted)));
  EXPECT_EQ(adjusted.bytes_total, 3 * base::GiB);
  EXPECT_EQ(adjusted.bytes_available, 3 * base::GiB / 2);
  EXPECT_EQ(adjusted.files_total, status->files_total);
  // One that lies makes no nonsense of the others.
  pnfs::ServerId id{};
  id[0] = std::byte{1};
  EXPECT_TRUE(now(cluster_->servers().heard(id, {.room = {~std::uint64_t{0}, 5, 5, 5},
                                                 .load = 0,
                                                 .verifier = objects_.verifier(pnfs::ServerNumber(1))})));
  EXPECT_TRUE(now(cluster_->source().adjust(adjusted)));
  EXPECT_EQ(adjusted.bytes_total, (std::uint64_t{1} << 63U) - 1);
  EXPECT_EQ(adjusted.bytes_free, base::GiB + 5);
}

TEST_F(StripedPlaces, servers_on_one_file_system_have_their_room_in_common) {
  const auto say = [&](std::uint32_t number, std::uint8_t file_system) {
    pnfs::ServerId id{};
    id[0] = static_cast<std::byte>(number);
    ServerRoom room{base::GiB, base::GiB / 2, base::GiB / 4, 100, {}};
    room.file_system[0] = static_cast<std::byte>(file_system);
    const auto verifier = objects_.verifier(pnfs::ServerNumber(number));
    EXPECT_TRUE(now(cluster_->servers().heard(id, {.room = room, .load = 0, .verifier = verifier})));
  };
  vfs::FileSystemStatus adjusted;
  say(1, 7);
  say(2, 7);
  say(3, 8);
  EXPECT_TRUE(now(cluster_->source().adjust(adjusted)));
  EXPECT_EQ(adjusted.bytes_total, 2 * base::GiB);
  EXPECT_EQ(adjusted.bytes_available, base::GiB / 2);
  for (std::uint32_t number = 1; number <= 3; ++number) say(number, 0);
  EXPECT_TRUE(now(cluster_->source().adjust(adjusted)));
  EXPECT_EQ(adjusted.bytes_total, 3 * base::GiB) << "nobody knows where they are";
}

TEST_F(StripedPlaces, the_export_says_that_it_is_striped) {
  EXPECT_EQ(now(fs_->limits(fs_->root()))->stripe_bytes, unit);
}

}  // namespace
}  // namespace braid::pnfs_mds::test
