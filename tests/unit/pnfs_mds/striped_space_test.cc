// Holes, data, and room that is kept, of files that are striped.
#include <random>

#include "tests/unit/pnfs_mds/striped_fixture.h"

namespace braid::pnfs_mds::test {
namespace {

using vfs::Error;
using vfs::SeekTo;

constexpr std::uint64_t nowhere = std::numeric_limits<std::uint64_t>::max();

class StripedSpaceTest : public StripedTest {
 protected:
  std::unique_ptr<vfs::Stub> stub(std::string_view name) {
    return *now(fs_->stub(file(name), cluster_->source()));
  }
  base::Result<vfs::SeekResult, Error> seek(std::string_view name, std::uint64_t offset, SeekTo what,
                                            std::uint64_t until = nowhere) {
    StripedContent* const at = content(name);
    const auto its_stub = stub(name);
    return now(at->seek(*its_stub, offset, what, until));
  }
  base::Result<void, Error> allocate(std::string_view name, std::uint64_t offset, std::uint64_t length) {
    StripedContent* const at = content(name);
    const auto its_stub = stub(name);
    return now(at->allocate(*its_stub, nobody_, offset, length));
  }
  base::Result<void, Error> deallocate(std::string_view name, std::uint64_t offset, std::uint64_t length) {
    StripedContent* const at = content(name);
    const auto its_stub = stub(name);
    return now(at->deallocate(*its_stub, nobody_, offset, length));
  }
  // A file with bytes in the units 0, 1 and 5.
  void make_file(std::string_view name) {
    add(name);
    EXPECT_TRUE(now(write(std::string(name), 0, pattern(0, 2 * unit))));
    EXPECT_TRUE(now(write(std::string(name), 5 * unit, pattern(5 * unit, unit))));
  }
  void expect_found(std::uint64_t at, bool eof, const base::Result<vfs::SeekResult, Error>& got) {
    ASSERT_TRUE(got);
    EXPECT_EQ(got->offset, at);
    EXPECT_EQ(got->eof, eof);
  }
};

TEST_F(StripedSpaceTest, data_and_holes_are_found_on_whichever_server_they_are) {
  make_file("f");
  expect_found(0, false, seek("f", 0, SeekTo::data));
  expect_found(unit + 5, false, seek("f", unit + 5, SeekTo::data));
  expect_found(5 * unit, false, seek("f", 2 * unit, SeekTo::data));
  expect_found(2 * unit, false, seek("f", 0, SeekTo::hole));
  expect_found(3 * unit + 1, false, seek("f", 3 * unit + 1, SeekTo::hole));
  expect_found(6 * unit, true, seek("f", 5 * unit, SeekTo::hole));
  EXPECT_EQ(seek("f", 6 * unit, SeekTo::data).error(), Error::nxio);
  EXPECT_TRUE(now(resize("f", 9 * unit)));
  expect_found(6 * unit, false, seek("f", 5 * unit, SeekTo::hole));
  expect_found(9 * unit, true, seek("f", 6 * unit, SeekTo::data));
}

TEST_F(StripedSpaceTest, what_a_client_wrote_to_a_server_counts) {
  make_file("f");
  content("f")->begin_writing();
  write_elsewhere("f", 7 * unit, "x");
  expect_found(7 * unit, false, seek("f", 6 * unit, SeekTo::data));
  content("f")->end_writing();
}

TEST_F(StripedSpaceTest, nobody_looks_farther_than_the_caller_does) {
  make_file("f");
  expect_found(unit, false, seek("f", 0, SeekTo::hole, unit));
  expect_found(4 * unit, false, seek("f", 2 * unit, SeekTo::data, 4 * unit));
  expect_found(6 * unit, true, seek("f", 5 * unit, SeekTo::hole, 6 * unit));
  objects_.forget_calls();
  EXPECT_TRUE(seek("f", 0, SeekTo::hole, unit));
  EXPECT_EQ(objects_.calls("seek"), 1U) << "the others have none of these bytes";
}

TEST_F(StripedSpaceTest, a_silent_server_makes_the_search_wait_and_a_lost_object_fails_it) {
  make_file("f");
  objects_.set_silent(pnfs::ServerNumber(2), true);
  EXPECT_EQ(seek("f", 0, SeekTo::data).error(), Error::delay);
  EXPECT_EQ(allocate("f", 0, 3 * unit).error(), Error::delay);
  EXPECT_EQ(deallocate("f", 0, 3 * unit).error(), Error::delay);
  objects_.set_silent(pnfs::ServerNumber(2), false);
  objects_.set_error(pnfs::ServerNumber(2), Error::stale);
  EXPECT_EQ(seek("f", 0, SeekTo::data).error(), Error::io);
  EXPECT_EQ(allocate("f", 0, 3 * unit).error(), Error::io);
  EXPECT_EQ(deallocate("f", 0, 3 * unit).error(), Error::io);
}

// Against a string that is the file, with both packings and servers that see little at a time.
TEST_F(StripedSpaceTest, every_search_finds_what_is_in_the_bytes) {
  std::mt19937 random(7);
  const auto below = [&](std::uint64_t end) { return random() % end; };
  for (int round = 0; round < 40; ++round) {
    start({.unit = unit,
           .width = static_cast<std::uint32_t>(1 + below(3)),
           .packing = below(2) == 0 ? pnfs::Packing::sparse : pnfs::Packing::dense});
    for (std::uint32_t number = 1; number <= 3; ++number) beat(number);
    objects_.set_seek_runs(static_cast<int>(1 + below(3)));
    const std::string name = "r" + std::to_string(round);
    add(name);
    std::string model;
    for (int i = 0; i < 4; ++i) {
      const std::uint64_t at = below(12 * unit), count = 1 + below(2 * unit);
      model.resize(std::max<std::size_t>(model.size(), at + count), '\0');
      ASSERT_TRUE(now(write(name, at, pattern(at, count))));
      model.replace(at, count, pattern(at, count));
    }
    const std::uint64_t hole = below(model.size()), length = 1 + below(3 * unit);
    ASSERT_TRUE(deallocate(name, hole, length));
    const std::size_t hole_end = std::min<std::size_t>(model.size(), hole + length);
    model.replace(hole, hole_end - hole, std::string(hole_end - hole, '\0'));
    EXPECT_EQ(now(read(name, 0, static_cast<std::uint32_t>(model.size())))->text, model);
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t from = below(model.size());
      const auto data = model.find_first_not_of('\0', from);
      const auto none = model.find('\0', from);
      expect_found(data == model.npos ? model.size() : data, data == model.npos,
                   seek(name, from, SeekTo::data));
      expect_found(none == model.npos ? model.size() : none, none == model.npos,
                   seek(name, from, SeekTo::hole));
    }
  }
}

TEST_F(StripedSpaceTest, room_is_kept_on_each_server_for_its_own_bytes) {
  for (const pnfs::Packing packing : {pnfs::Packing::sparse, pnfs::Packing::dense}) {
    start({.unit = unit, .width = 3, .packing = packing});
    for (std::uint32_t number = 1; number <= 3; ++number) beat(number);
    const std::string name = packing == pnfs::Packing::sparse ? "sparse" : "dense";
    make_file(name);
    const std::uint64_t begin = unit / 2, length = 300 * unit;
    ASSERT_TRUE(allocate(name, begin, length));
    EXPECT_EQ(attributes(name)->size, begin + length);
    EXPECT_EQ(now(read(name, 0, 2 * unit))->text, pattern(0, 2 * unit));
    EXPECT_EQ(now(read(name, 2 * unit, unit))->text, std::string(unit, '\0'));
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < 3; ++i) {
      const auto [server, key] = place_of(name, i * unit);
      const std::uint64_t own = objects_.allocated(server, key);
      EXPECT_GE(own, 99 * unit);
      EXPECT_LE(own, 101 * unit);
      sum += own;
    }
    EXPECT_EQ(sum, length);
    ASSERT_TRUE(allocate(name, 0, 1));
    EXPECT_EQ(attributes(name)->size, begin + length) << "what is there already is not longer after it";
  }
}

TEST_F(StripedSpaceTest, room_that_was_asked_for_before_a_truncation_makes_nothing_longer) {
  make_file("f");
  for (const std::uint64_t size : std::initializer_list<std::uint64_t>{10, 10 * unit, 20}) {
    ASSERT_TRUE(allocate("f", 0, 12 * unit));
    const ObjectAllocation late = objects_.last_allocation();
    const pnfs::ServerNumber server = content("f")->record().servers[late.of.index];
    ASSERT_TRUE(now(resize("f", size)));
    const auto bytes = objects_.bytes(server, late.of);
    EXPECT_EQ(now(objects_.allocate(server, late)).error(), Error::delay);
    EXPECT_EQ(objects_.bytes(server, late.of), bytes);
    EXPECT_EQ(attributes("f")->size, size);
  }
}

TEST_F(StripedSpaceTest, what_goes_through_the_metadata_server_is_counted) {
  base::MetricRegistry metrics;
  cluster_->source().counters().register_in(metrics);
  make_file("f");
  EXPECT_TRUE(now(read("f", 0, 10)));
  EXPECT_TRUE(now(commit("f")));
  EXPECT_TRUE(seek("f", 0, SeekTo::data));
  EXPECT_TRUE(allocate("f", 0, 1));
  EXPECT_TRUE(deallocate("f", 0, 1));
  EXPECT_TRUE(now(resize("f", 1)));
  const std::string text = metrics.prometheus();
  const auto has = [&](const std::string& line) { return text.find(line + "\n") != text.npos; };
  EXPECT_TRUE(has("braid_pnfs_in_band_total{operation=\"write\"} 2")) << text;
  for (const char* operation : {"read", "commit", "seek", "allocate", "deallocate", "resize"})
    EXPECT_TRUE(has(std::string("braid_pnfs_in_band_total{operation=\"") + operation + "\"} 1")) << text;
  EXPECT_TRUE(has("braid_pnfs_in_band_bytes_total{operation=\"read\"} 10"));
  EXPECT_TRUE(has("braid_pnfs_in_band_bytes_total{operation=\"write\"} " + std::to_string(3 * unit)));
}

TEST_F(StripedSpaceTest, a_full_server_ends_it_and_what_was_kept_before_is_counted) {
  make_file("f");
  const auto [server, key] = place_of("f", unit);
  objects_.set_error(server, Error::nospc);
  EXPECT_EQ(allocate("f", 0, 9 * unit).error(), Error::nospc);
  EXPECT_TRUE(content("f")->unsettled());
  objects_.set_error(server, std::nullopt);
  EXPECT_EQ(attributes("f")->size, 9 * unit);
}

TEST_F(StripedSpaceTest, what_is_larger_than_all_servers_is_not_begun_with) {
  make_file("f");
  objects_.forget_calls();
  EXPECT_EQ(allocate("f", 0, 4 * base::GiB).error(), Error::nospc);
  EXPECT_EQ(allocate("f", 0, pnfs::Striping::offset_max).error(), Error::nospc);
  EXPECT_EQ(objects_.calls("allocate"), 0U);
  EXPECT_EQ(attributes("f")->size, 6 * unit);
}

TEST_F(StripedSpaceTest, a_hole_changes_neither_the_size_nor_what_is_around_it_but_the_times) {
  make_file("f");
  const auto before = attributes("f");
  ASSERT_TRUE(deallocate("f", unit / 2, unit));
  const std::string text = now(read("f", 0, 2 * unit))->text;
  EXPECT_EQ(text, pattern(0, unit / 2) + std::string(unit, '\0') + pattern(unit * 3 / 2, unit / 2));
  EXPECT_EQ(attributes("f")->size, 6 * unit);
  EXPECT_NE(attributes("f")->change, before->change);
  ASSERT_TRUE(deallocate("f", 5 * unit, 100 * unit)) << "beyond the end";
  EXPECT_EQ(attributes("f")->size, 6 * unit);
  EXPECT_EQ(now(read("f", 5 * unit, unit))->text, std::string(unit, '\0'));
  EXPECT_EQ(deallocate("f", pnfs::Striping::offset_max, 1).error(), Error::fbig);
  EXPECT_EQ(allocate("f", pnfs::Striping::offset_max, 1).error(), Error::fbig);
}

}  // namespace
}  // namespace braid::pnfs_mds::test
