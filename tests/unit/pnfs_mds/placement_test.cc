#include "pnfs_mds/placement.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

namespace braid::pnfs_mds::test {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

ServerRoomLeft server(std::uint32_t number, std::uint64_t room = base::GiB) {
  return {.number = pnfs::ServerNumber(number), .bytes_available = room};
}

std::vector<std::uint32_t> numbers_of(const pnfs::LayoutRecord& record) {
  std::vector<std::uint32_t> out;
  for (const pnfs::ServerNumber number : record.servers) out.push_back(number.value());
  return out;
}

TEST(Placement, takes_as_many_servers_as_are_wanted_or_all) {
  const std::vector<ServerRoomLeft> servers{server(1), server(2), server(3)};
  const auto two = choose({.width = 2}, pnfs::ObjectId(5), servers);
  EXPECT_EQ(two->servers.size(), 2U);
  EXPECT_EQ(two->striping.width, 2U);
  EXPECT_EQ(two->epoch, pnfs::Epoch(1));
  EXPECT_EQ(two->object, pnfs::ObjectId(5));
  const auto all = choose({.width = 40}, pnfs::ObjectId(5), servers);
  EXPECT_THAT(numbers_of(*all), UnorderedElementsAre(1, 2, 3));
}

TEST(Placement, leaves_out_who_is_full) {
  EXPECT_THAT(numbers_of(*choose({}, pnfs::ObjectId(1), {server(2), server(3, 0)})), ElementsAre(2));
  EXPECT_THAT(numbers_of(*choose({}, pnfs::ObjectId(1), {server(3, 0)})), ElementsAre(3))
      << "all that there are";
  EXPECT_FALSE(choose({}, pnfs::ObjectId(1), {}));
}

TEST(Placement, files_go_round) {
  const std::vector<ServerRoomLeft> servers{server(1), server(2), server(3), server(4)};
  std::map<std::uint32_t, int> used, begun;
  std::set<std::uint32_t> firsts;
  constexpr std::uint64_t files = 400;
  for (std::uint64_t object = 1; object <= files; ++object) {
    const auto record = choose({.unit = 64 * base::KiB, .width = 2}, pnfs::ObjectId(object), servers);
    EXPECT_TRUE(record->striping.valid());
    for (const std::uint32_t number : numbers_of(*record)) ++used[number];
    ++begun[record->servers[record->striping.index_of(0)].value()];
    firsts.insert(record->striping.first);
  }
  for (const auto& [number, times] : used) EXPECT_EQ(times, 200) << number;
  for (const auto& [number, times] : begun) EXPECT_EQ(times, 100) << number;
  EXPECT_EQ(firsts.size(), 2U);
}

}  // namespace
}  // namespace braid::pnfs_mds::test
