// Holes of objects, and room that is kept for them, as the metadata server asks for these.
#include <sys/stat.h>

#include "tests/unit/pnfs_ds/data_server_fixture.h"

namespace braid::pnfs_ds::test {
namespace {

using Args = pnfs::to_data_args;

constexpr std::uint32_t unit = 65536;
constexpr pnfs::object_striping two_servers{.unit = unit, .width = 2, .first = 0, .dense = false};
constexpr pnfs::object_striping dense{.unit = unit, .width = 2, .first = 0, .dense = true};

class ControlSpaceTest : public DataServerTest {
 protected:
  void write_in_band(std::uint64_t offset, std::string_view text) {
    const auto res =
        call(Args::with_write({.of = key(), .offset = offset, .stable = 0, .uid = 0, .gid = 0}), text);
    EXPECT_EQ(res.write()->status, 0U);
  }
  pnfs::OBJECT_SEEKres seek(std::uint64_t offset, std::uint64_t end, bool to_data,
                            const pnfs::object_striping& striping = two_servers) {
    return *call(Args::with_seek(
                     {.of = key(), .offset = offset, .end = end, .to_data = to_data, .striping = striping}))
                .seek();
  }
  void expect_sought(bool found, std::uint64_t offset, const pnfs::OBJECT_SEEKres& got) {
    ASSERT_EQ(got.status, 0U);
    EXPECT_EQ(got.sought()->found, found);
    EXPECT_EQ(got.sought()->offset, offset);
  }
  pnfs::data_status allocate(std::initializer_list<pnfs::object_range> ranges, std::uint64_t number = 0) {
    const std::vector<pnfs::object_range> all(ranges);
    return call(Args::with_allocate({.of = key(), .ranges = all, .uid = 0, .gid = 0, .number = number}))
        .allocate()
        ->status;
  }
  pnfs::data_status deallocate(std::uint64_t offset, std::uint64_t length, std::uint64_t object = 1) {
    return call(Args::with_deallocate({.of = key(object), .range = {.offset = offset, .length = length}}))
        .deallocate()
        ->status;
  }
  pnfs::object_stat stat() {
    const std::array<pnfs::object_key, 1> of{key()};
    return call(Args::with_stat({of, false})).stat()->objects[0];
  }
  pnfs::data_status truncate(std::uint64_t number, std::uint64_t end) {
    const std::array<pnfs::object_truncation, 1> one{
        {{.fence = {.of = key(), .epoch = 1, .last = 100}, .number = number, .end = end}}};
    return call(Args::with_truncate({one})).truncate()->objects[0];
  }
  static pnfs::data_status number(nfsstat4 status) { return static_cast<pnfs::data_status>(status); }
};

TEST_F(ControlSpaceTest, the_bytes_of_other_servers_are_neither_data_nor_holes) {
  write_in_band(0, std::string(unit, 'x'));
  write_in_band(2 * unit, std::string(unit, 'x'));
  write_in_band(6 * unit, "x");
  const std::uint64_t end = 100 * unit;
  expect_sought(true, 0, seek(0, end, true));
  expect_sought(true, 2 * unit, seek(unit, end, true));
  expect_sought(true, 6 * unit, seek(3 * unit, end, true));
  expect_sought(false, end, seek(8 * unit, end, true));
  expect_sought(true, 4 * unit, seek(0, end, false));
  expect_sought(true, 8 * unit, seek(7 * unit, end, false));
  expect_sought(true, unit, seek(0, end, false, dense));
  expect_sought(false, 2 * unit, seek(0, 2 * unit, false));
  expect_sought(false, 5 * unit, seek(3 * unit, 5 * unit, true));
}

TEST_F(ControlSpaceTest, an_object_that_is_not_there_is_a_hole) {
  expect_sought(false, 9 * unit, seek(0, 9 * unit, true));
  expect_sought(true, 0, seek(0, 9 * unit, false));
  expect_sought(true, 2 * unit, seek(unit, 9 * unit, false));
  expect_sought(false, unit + 1, seek(unit, unit + 1, false));
}

TEST_F(ControlSpaceTest, a_search_is_bounded_and_says_from_where_to_go_on) {
  const std::uint64_t runs = 1024;
  // Data in all of them.
  for (std::uint64_t i = 0; i < runs + 10; i += 8) {
    EXPECT_EQ(allocate({{.offset = i * 2 * unit, .length = 16 * unit}}), 0U);
    for (std::uint64_t one = i; one < i + 8; ++one) write_in_band(one * 2 * unit, std::string(unit, 'x'));
  }
  const auto first = seek(0, 4 * runs * unit, false);
  expect_sought(false, runs * 2 * unit, first);
  const auto next = seek(first.sought()->offset, 4 * runs * unit, false);
  EXPECT_TRUE(next.sought()->found);
}

TEST_F(ControlSpaceTest, room_makes_the_object_and_its_end) {
  EXPECT_EQ(allocate({{.offset = 0, .length = unit}, {.offset = 2 * unit, .length = 10}}), 0U);
  const pnfs::object_stat now = stat();
  EXPECT_EQ(now.end, 2 * unit + 10);
  EXPECT_GE(now.space_used, unit);
  EXPECT_LT(now.space_used, 2 * unit);
  EXPECT_TRUE(now.changed);
  EXPECT_EQ(read(handle(2 * unit + 10), 0, 10).data, std::string(10, '\0'));
  EXPECT_EQ(allocate({{.offset = 0, .length = 0}}), number(NFS4ERR_INVAL));
  EXPECT_EQ(allocate({{.offset = pnfs::Striping::offset_max, .length = 1}}), number(NFS4ERR_FBIG));
}

TEST_F(ControlSpaceTest, room_that_was_asked_for_before_a_truncation_makes_nothing_longer) {
  EXPECT_EQ(allocate({{.offset = 0, .length = 4 * unit}}, 6), 0U);
  EXPECT_EQ(truncate(7, 10), 0U);
  EXPECT_EQ(allocate({{.offset = 0, .length = 4 * unit}}, 6), number(NFS4ERR_DELAY));
  EXPECT_EQ(stat().end, 10U);
  EXPECT_EQ(allocate({{.offset = 0, .length = 4 * unit}}, 7), 0U);
  EXPECT_EQ(stat().end, 4 * unit);
}

TEST(ObjectCache, who_was_forgotten_may_have_been_cut) {
  ObjectCache cache(1);
  const ObjectKey first{pnfs::ObjectId(1), 0}, second{pnfs::ObjectId(2), 0};
  cache.get(first).object->note_cut_begun(5);
  EXPECT_EQ(cache.get(first).object->cut_begun(), 5U);
  EXPECT_EQ(cache.get(second).object->cut_begun(), 0U) << "known before another one was forgotten for it";
  EXPECT_EQ(cache.get(first).object->cut_begun(), 5U);
}

TEST(ObjectCache, what_nobody_uses_is_forgotten_after_some_rounds) {
  ObjectCache cache(100);
  const ObjectKey first{pnfs::ObjectId(1), 0}, second{pnfs::ObjectId(2), 0}, third{pnfs::ObjectId(3), 0};
  (void)cache.get(first);
  const ObjectRef used = cache.get(second).object;
  used->set_opened(std::make_shared<const OpenedObject>());
  EXPECT_TRUE(cache.forget_idle(2).empty());
  cache.get(third).object->set_opened(std::make_shared<const OpenedObject>());
  EXPECT_TRUE(cache.forget_idle(2).empty());
  EXPECT_EQ(cache.size(), 3U);
  EXPECT_TRUE(cache.forget_idle(2).empty()) << "the first was never opened";
  EXPECT_EQ(cache.size(), 2U) << "somebody uses the second";
  EXPECT_EQ(cache.forget_idle(2).size(), 1U);
  EXPECT_EQ(cache.size(), 1U);
  EXPECT_EQ(cache.get(second).object, used);
}

TEST_F(ControlSpaceTest, a_removed_object_gets_no_room) {
  const std::array<pnfs::object_removal, 1> one{{{.of = key(), .last = 100}}};
  (void)call(Args::with_remove({one}));
  EXPECT_EQ(allocate({{.offset = 0, .length = unit}}), number(NFS4ERR_STALE));
  EXPECT_EQ(deallocate(0, unit), 0U);
  EXPECT_EQ(::access(object_path().c_str(), F_OK), -1);
}

TEST_F(ControlSpaceTest, a_hole_reads_as_zeros_and_needs_no_room) {
  write_in_band(0, std::string(unit, 'x'));
  (void)stat();
  EXPECT_EQ(deallocate(4096, unit - 8192), 0U);
  EXPECT_EQ(read(handle(unit), 4000, 200).data, std::string(96, 'x') + std::string(104, '\0'));
  EXPECT_EQ(read(handle(unit), unit - 10, 10).data, std::string(10, 'x'));
  const pnfs::object_stat now = stat();
  EXPECT_EQ(now.end, unit);
  EXPECT_LE(now.space_used, 8192U);
  EXPECT_TRUE(now.changed);
  EXPECT_EQ(deallocate(0, 10 * unit), 0U) << "also behind the end";
  EXPECT_EQ(stat().end, unit);
  EXPECT_EQ(deallocate(0, unit, 7), 0U) << "of an object that is not there";
  EXPECT_EQ(::access(object_path(7).c_str(), F_OK), -1);
}

TEST_F(ControlSpaceTest, what_no_striping_can_be_is_refused) {
  EXPECT_EQ(seek(0, 1, true, {.unit = 1, .width = 2, .first = 0, .dense = false}).status,
            number(NFS4ERR_INVAL));
  EXPECT_EQ(seek(0, 1, true, {.unit = unit, .width = 0, .first = 0, .dense = false}).status,
            number(NFS4ERR_INVAL));
  EXPECT_EQ(seek(2, 1, true).status, number(NFS4ERR_INVAL));
  EXPECT_EQ(seek(0, UINT64_MAX, true).status, number(NFS4ERR_INVAL));
  const auto other = call(
      Args::with_seek({.of = key(1, 2), .offset = 0, .end = 1, .to_data = true, .striping = two_servers}));
  EXPECT_EQ(other.seek()->status, number(NFS4ERR_INVAL));
}

}  // namespace
}  // namespace braid::pnfs_ds::test
