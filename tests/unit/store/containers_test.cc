#include "store/chunks/containers.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "tests/unit/store/failing_medium.h"
#include "tests/unit/store/scratch.h"

namespace braid::store::test {
namespace {

class ContainersTest : public ScratchTest {
 protected:
  Location append(Containers& containers, const base::Bytes& bytes) const {
    return *containers.append(ChunkKind::data, keys_.id_of(ChunkKind::data, bytes), bytes);
  }
  base::Result<base::Bytes> read(Containers& containers, Location at, const base::Bytes& bytes) const {
    auto read = containers.read(at, ChunkKind::data, keys_.id_of(ChunkKind::data, bytes),
                                static_cast<std::uint32_t>(bytes.size()));
    if (!read) return base::fail(read.error());
    return std::move(read->bytes);
  }
};

TEST_F(ContainersTest, a_place_counts_only_for_the_chunk_that_is_there) {
  const auto containers = opened();
  const base::Bytes a = noise(5000, 1), b = noise(5000, 2);
  const Location at = append(*containers, a);
  EXPECT_EQ(read(*containers, at, a), a);
  EXPECT_EQ(read(*containers, at, b).error(), base::errno_of(EBADMSG));
  EXPECT_FALSE(read(*containers, {0, at.container, at.offset + 1}, a));
  EXPECT_FALSE(read(*containers, {0, 7, at.offset}, a));
  EXPECT_FALSE(read(*containers, {1, at.container, at.offset}, a)) << "another volume";
}

TEST_F(ContainersTest, a_long_chunk_is_compared_to_its_end) {
  const auto containers = opened();
  const base::Bytes bytes = noise(300'000, 1);
  const hashing::Digest id = keys_.id_of(ChunkKind::data, bytes);
  const Location at = append(*containers, bytes);
  EXPECT_TRUE(containers->holds(at, ChunkKind::data, id, bytes).whole);
  for (const std::size_t place : {std::size_t{0}, std::size_t{100'000}, bytes.size() - 1}) {
    base::Bytes other = bytes;
    other[place] ^= std::byte{1};
    EXPECT_FALSE(containers->holds(at, ChunkKind::data, id, other).whole) << place;
  }
  ASSERT_EQ(::truncate((path_ / first()).c_str(), static_cast<off_t>(at.offset + 200'000)), 0);
  EXPECT_FALSE(containers->holds(at, ChunkKind::data, id, bytes).whole);
}

TEST_F(ContainersTest, adding_goes_on_where_it_ended) {
  const base::Bytes a = noise(5000, 1), b = noise(3, 2);
  const Location first_at = append(*opened(), a);
  const auto containers = opened();
  const Location at = append(*containers, b);
  EXPECT_EQ(at.container, 1U);
  EXPECT_EQ(at.offset, first_at.offset + ChunkHeader::bytes + a.size());
  EXPECT_EQ(read(*containers, at, b), b);
}

TEST_F(ContainersTest, a_tail_that_is_cut_short_anywhere_is_taken_off) {
  const base::Bytes a = noise(100, 1), b = noise(60, 2), c = noise(5, 3);
  Location at;
  {
    const auto containers = opened();
    append(*containers, a);
    at = append(*containers, b);
  }
  const std::string whole = content(first());
  for (std::size_t size = at.offset; size < whole.size(); ++size) {
    put(first(), whole.substr(0, size));
    const auto containers = opened();
    EXPECT_EQ(append(*containers, c), at) << size;
    EXPECT_EQ(read(*containers, at, c), c);
  }
}

TEST_F(ContainersTest, a_head_that_a_crash_has_left_out_is_written_again) {
  const base::Bytes a = noise(100, 1), b = noise(60, 2);
  const Location at = append(*opened(), a);
  const std::string whole = content(first());
  std::string blank = whole;
  blank.replace(0, at.offset, at.offset, '\0');
  for (const std::string& left : {blank, blank.substr(0, 10), std::string()}) {
    put(first(), left);
    const bool is_there = left.size() == whole.size();
    {
      const auto containers = opened();
      EXPECT_EQ(append(*containers, b).offset, is_there ? whole.size() : at.offset);
      EXPECT_EQ(read(*containers, at, a).has_value(), is_there);
    }
    EXPECT_EQ(content(first()).substr(0, at.offset), whole.substr(0, at.offset));
    const auto containers = opened();
    EXPECT_EQ(append(*containers, b).container, 1U);
    EXPECT_EQ(*containers->is_forwarding(1), false);
    const auto walked = containers->walk(1, true, [](Location, const ChunkHeader&, base::BytesView) {});
    EXPECT_EQ(walked->damaged, 0U);
  }
  blank[0] = 'x';
  put(first(), blank);
  EXPECT_EQ(append(*opened(), b).container, 2U) << "damage";
}

TEST_F(ContainersTest, damage_before_whole_chunks_is_no_cut_tail) {
  const base::Bytes a = noise(100, 1), b = noise(60, 2);
  Location first_at, at;
  {
    const auto containers = opened();
    first_at = append(*containers, a);
    at = append(*containers, b);
  }
  std::string bytes = content(first());
  bytes[first_at.offset + 70] ^= 1;
  put(first(), bytes);
  const auto containers = opened();
  EXPECT_EQ(append(*containers, a).container, 2U);
  EXPECT_EQ(read(*containers, at, b), b);
  EXPECT_FALSE(read(*containers, first_at, a));
  const auto walked = containers->walk(1, true, [](Location, const ChunkHeader&, base::BytesView) {});
  EXPECT_EQ(walked->damaged, 1U);
  EXPECT_EQ(walked->chunks, 1U);
}

TEST_F(ContainersTest, no_byte_can_change) {
  const base::Bytes a = noise(40, 1);
  const Location at = append(*opened(), a);
  std::string bytes = content(first());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(bytes[i] ^ 0x10);
    put(first(), bytes);
    const auto containers = opened(OpenFor::reading);
    const auto got = read(*containers, at, a);
    EXPECT_TRUE(!got || *got == a);
    EXPECT_TRUE(i < at.offset || !got) << i;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x10);
  }
}

TEST_F(ContainersTest, a_full_one_has_a_directory_and_another_one_is_begun) {
  const auto containers = opened();
  std::vector<Location> places;
  for (std::uint64_t i = 0; i < 17; ++i) places.push_back(append(*containers, noise(4U << 20U, i)));
  EXPECT_EQ(places.back().container, 2U);
  EXPECT_EQ(containers->numbers()->size(), 2U);
  for (const bool with_bytes : {false, true}) {
    std::vector<Location> seen;
    const auto walked = containers->walk(
        1, with_bytes, [&](Location at, const ChunkHeader&, base::BytesView) { seen.push_back(at); });
    EXPECT_TRUE(walked->full);
    EXPECT_EQ(walked->damaged, 0U);
    places.resize(seen.size());
    EXPECT_EQ(seen, places);
  }
  std::string bytes = content(first());
  ASSERT_LE(bytes.size(), Location::offset_end + 4096);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  put(first(), bytes);
  const auto walked = opened()->walk(1, false, [](Location, const ChunkHeader&, base::BytesView) {});
  EXPECT_FALSE(walked->full);
  EXPECT_EQ(walked->chunks, places.size()) << "they are found without it";
}

TEST_F(ContainersTest, a_container_of_another_store_is_none) {
  append(*opened(), noise(10, 1));
  const StoreId other{std::byte{9}};
  const auto containers = std::move(*Containers::open(*medium_, other, OpenFor::writing));
  EXPECT_EQ(append(*containers, noise(10, 2)).container, 2U);
}

// It was to take the place of a container when the process ended.
TEST_F(ContainersTest, what_was_not_finished_goes_when_it_is_opened_for_writing) {
  append(*opened(), noise(10, 1));
  const std::string unfinished = first() + ".new", other = std::string(Containers::directory) + "/notes.new";
  put(unfinished, "left");
  put(other, "of somebody else");
  opened(OpenFor::reading);
  EXPECT_EQ(content(unfinished), "left") << "who reads changes nothing";
  append(*opened(), noise(10, 2));
  EXPECT_FALSE(std::filesystem::exists(path_ / unfinished));
  EXPECT_EQ(content(other), "of somebody else");
}

TEST_F(ContainersTest, what_was_not_finished_and_cannot_be_removed_is_in_nobodys_way) {
  append(*opened(), noise(10, 1));
  const std::string unfinished = first() + ".new";
  put(unfinished, "left");
  FailingMedium medium(*medium_);
  medium.remove_errno = EIO;
  const auto containers = Containers::open(medium, id_, OpenFor::writing);
  ASSERT_TRUE(containers);
  EXPECT_EQ(append(**containers, noise(10, 2)).container, 1U);
  EXPECT_EQ(content(unfinished), "left");
}

TEST_F(ContainersTest, a_full_medium_can_have_room_later) {
  FailingMedium medium(*medium_);
  const auto containers = std::move(*Containers::open(medium, id_, OpenFor::writing));
  const base::Bytes a = noise(100, 1), b = noise(100, 2);
  const Location at = append(*containers, a);
  medium.write_errno = ENOSPC;
  EXPECT_EQ(containers->append(ChunkKind::data, {}, b).error(), base::errno_of(ENOSPC));
  medium.write_errno = 0;
  const Location next = append(*containers, b);
  EXPECT_EQ(next.offset, at.offset + ChunkHeader::bytes + a.size());
  EXPECT_TRUE(containers->sync());
  EXPECT_EQ(read(*containers, next, b), b);
}

TEST_F(ContainersTest, the_medium_takes_what_is_there_while_more_comes) {
  constexpr std::uint64_t page = 4096;
  FailingMedium medium(*medium_);
  std::vector<Extent> begun;
  medium.begun = &begun;
  const auto containers = std::move(*Containers::open(medium, id_, OpenFor::writing));
  append(*containers, noise(Containers::begin_sync_bytes / 2, 1));
  EXPECT_TRUE(begun.empty());
  append(*containers, noise(Containers::begin_sync_bytes / 2, 2));
  append(*containers, noise(100, 3));
  append(*containers, noise(Containers::begin_sync_bytes, 4));
  ASSERT_EQ(begun.size(), 2U);
  EXPECT_EQ(begun[0].begin, 0U);
  EXPECT_EQ(begun[1].begin, begun[0].end);
  const std::uint64_t end = containers->end().offset;
  EXPECT_EQ(begun[1].end, end / page * page) << "the last page is written to once more";
  EXPECT_EQ(content(first()).size(), end);
  append(*containers, noise(Containers::begin_sync_bytes - page, 5));
  EXPECT_TRUE(containers->sync());
  append(*containers, noise(2 * page, 6));
  EXPECT_EQ(begun.size(), 2U) << "what was synced needs no beginning";
}

TEST_F(ContainersTest, after_a_failed_sync_nothing_is_believed) {
  FailingMedium medium(*medium_);
  const auto containers = std::move(*Containers::open(medium, id_, OpenFor::writing));
  append(*containers, noise(100, 1));
  medium.sync_errno = EIO;
  EXPECT_FALSE(containers->sync());
  medium.sync_errno = 0;
  EXPECT_EQ(containers->sync().error(), base::errno_of(EIO));
  EXPECT_EQ(containers->append(ChunkKind::data, {}, noise(1, 1)).error(), base::errno_of(EIO));
}

}  // namespace
}  // namespace braid::store::test
