// Chunks that are written together: their headers, then their bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "store/chunks/containers.h"
#include "tests/unit/store/failing_medium.h"
#include "tests/unit/store/scratch.h"

namespace braid::store::test {
namespace {

class GroupsTest : public ScratchTest {
 protected:
  std::vector<Location> append(Containers& containers, const std::vector<base::Bytes>& chunks) const {
    std::vector<Containers::NewChunk> all;
    all.reserve(chunks.size());
    for (const base::Bytes& chunk : chunks)
      all.push_back({.id = keys_.id_of(ChunkKind::data, chunk), .bytes = chunk});
    return *containers.append_all(ChunkKind::data, all);
  }
  bool has(Containers& containers, Location at, const base::Bytes& chunk) const {
    const hashing::Digest id = keys_.id_of(ChunkKind::data, chunk);
    const auto read = containers.read(at, ChunkKind::data, id, static_cast<std::uint32_t>(chunk.size()));
    EXPECT_EQ(containers.holds(at, ChunkKind::data, id, chunk).whole, read && read->bytes == chunk);
    return read && read->bytes == chunk;
  }
  // Where chunks are found from front to back, and what they say.
  static std::map<std::uint32_t, base::Bytes> scanned(Containers& containers, Containers::Walked& walked) {
    std::map<std::uint32_t, base::Bytes> out;
    walked = *containers.walk(1, true, [&](Location at, const ChunkHeader&, base::BytesView bytes) {
      out[at.offset] = base::Bytes(bytes.begin(), bytes.end());
    });
    return out;
  }
  // 64: behind the container's head.
  static constexpr std::uint32_t begin = ContainerHeader::bytes;
  static constexpr std::uint32_t header = ChunkHeader::bytes;
  const std::vector<base::Bytes> three_{noise(100, 1), noise(60, 2), noise(30, 3)};
};

TEST_F(GroupsTest, headers_come_first_and_bytes_lie_one_behind_the_other) {
  const auto containers = opened();
  const std::vector<Location> at = append(*containers, three_);
  const std::vector<Location> wanted{{0, 1, begin}, {0, 1, begin + header}, {0, 1, begin + 2 * header}};
  EXPECT_EQ(at, wanted);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(has(*containers, at[i], three_[i])) << i;
  EXPECT_FALSE(has(*containers, at[1], three_[0]));
  const std::string bytes = content(first());
  std::string data;
  for (const base::Bytes& chunk : three_) data += base::text_of(chunk);
  EXPECT_EQ(bytes.substr(begin + 3 * header), data);
  EXPECT_EQ(bytes.substr(begin, 4), "Chng");
  // One that comes alone has its bytes behind its header.
  const std::vector<Location> alone = append(*containers, {noise(10, 4)});
  EXPECT_EQ(alone[0].offset, bytes.size());
  EXPECT_EQ(content(first()).substr(bytes.size(), 4), "Chnk");
}

TEST_F(GroupsTest, they_are_found_from_front_to_back) {
  const auto containers = opened();
  const std::vector<Location> at = append(*containers, three_), more = append(*containers, {noise(10, 4)}),
                              last = append(*containers, {noise(7, 5), noise(8, 6)});
  Containers::Walked walked;
  const auto found = scanned(*containers, walked);
  EXPECT_EQ(walked.damaged, 0U);
  ASSERT_EQ(found.size(), 6U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(found.at(at[i].offset), three_[i]);
  EXPECT_EQ(found.at(more[0].offset), noise(10, 4));
  EXPECT_EQ(found.at(last[1].offset), noise(8, 6));
}

TEST_F(GroupsTest, a_group_has_so_many_chunks_and_bytes) {
  const auto containers = opened();
  std::vector<base::Bytes> many;
  for (std::uint64_t i = 0; i < 600; ++i) many.push_back(noise(20, i));
  const std::vector<Location> at = append(*containers, many);
  EXPECT_EQ(at[255].offset - at[0].offset, 255 * header);
  EXPECT_EQ(at[256].offset, begin + 256 * (header + 20)) << "another group";
  const std::vector<base::Bytes> large(5, noise(1U << 20U, 1000));
  const std::vector<Location> lies = append(*containers, large);
  EXPECT_EQ(lies[2].offset, lies[0].offset + 2 * header);
  EXPECT_GT(lies[3].offset, lies[0].offset + (3U << 20U)) << "another group";
  EXPECT_TRUE(has(*containers, lies[4], large[4]));
  for (std::size_t i = 0; i < many.size(); i += 17) EXPECT_TRUE(has(*containers, at[i], many[i])) << i;
  Containers::Walked walked;
  EXPECT_EQ(scanned(*containers, walked).size(), 605U);
  EXPECT_EQ(walked.damaged, 0U);
}

// Of a group that is not whole nothing was synced; unless it was, and has been damaged since.
TEST_F(GroupsTest, one_that_is_cut_short_anywhere_costs_what_is_cut_off) {
  append(*opened(), {noise(11, 9)});
  const auto before = static_cast<std::uint32_t>(content(first()).size());
  append(*opened(), three_);
  const std::string whole = content(first());
  const base::Bytes later = noise(5, 10);
  std::uint32_t end = before + 3 * header;
  for (std::size_t size = before; size < whole.size(); ++size) {
    put(first(), whole.substr(0, size));
    std::filesystem::remove(path_ / Containers::name_of(2));
    const bool any = size >= end + three_[0].size();
    {
      const auto containers = opened();
      const Location at = append(*containers, {later})[0];
      EXPECT_EQ(at.container, any ? 2U : 1U) << size;
      EXPECT_TRUE(any || at.offset == before) << size;
      EXPECT_TRUE(has(*containers, at, later)) << size;
      EXPECT_EQ(has(*containers, {0, 1, before}, three_[0]), any) << size;
    }
    Containers::Walked walked;
    const auto found = scanned(*opened(OpenFor::reading), walked);
    EXPECT_EQ(walked.damaged, 0U) << size;
    EXPECT_EQ(found.count(before) == 1 && found.at(before) == three_[0], any) << size;
  }
}

TEST_F(GroupsTest, nothing_stays_of_one_that_has_no_room) {
  FailingMedium medium(*medium_);
  auto containers = std::move(*Containers::open(medium, id_, OpenFor::writing));
  for (const int error : {ENOSPC, EDQUOT}) {
    const std::string before = content(first());
    // Of these the third one is whole when half of all is written, and the one that is added next ends before
    // it.
    const std::vector<base::Bytes> group{noise(30, 1), noise(10, 2), noise(10, 3), noise(600, 4)};
    std::vector<Containers::NewChunk> chunks;
    chunks.reserve(group.size());
    for (const base::Bytes& chunk : group)
      chunks.push_back({.id = keys_.id_of(ChunkKind::data, chunk), .bytes = chunk});
    medium.write_errno = error;
    EXPECT_EQ(containers->append_all(ChunkKind::data, chunks).error(), base::errno_of(error));
    EXPECT_EQ(content(first()), before);
    medium.write_errno = 0;
    EXPECT_EQ(append(*containers, {noise(1, 5)}).size(), 1U);
  }
  const Location end = containers->end();
  containers.reset();
  EXPECT_EQ(Containers::open(medium, id_, OpenFor::writing).value()->end(), end);
}

TEST_F(GroupsTest, what_stays_of_one_and_cannot_be_cut_off_ends_the_adding) {
  FailingMedium medium(*medium_);
  const auto containers = std::move(*Containers::open(medium, id_, OpenFor::writing));
  append(*containers, three_);
  medium.write_errno = ENOSPC;
  medium.resize_errno = EIO;
  EXPECT_EQ(containers->append(ChunkKind::data, {}, noise(9, 9)).error(), base::errno_of(ENOSPC));
  medium.write_errno = medium.resize_errno = 0;
  EXPECT_EQ(containers->append(ChunkKind::data, {}, noise(9, 9)).error(), base::errno_of(EIO));
}

TEST_F(GroupsTest, damage_costs_its_chunk) {
  const std::vector<Location> at = append(*opened(), three_);
  const std::vector<Location> behind = append(*opened(), {noise(40, 4)});
  std::string bytes = content(first());
  for (std::uint32_t i = begin; i < behind[0].offset; ++i) {
    bytes[i] = static_cast<char>(bytes[i] ^ 0x10);
    put(first(), bytes);
    const auto containers = opened(OpenFor::reading);
    Containers::Walked walked;
    const auto found = scanned(*containers, walked);
    EXPECT_EQ(walked.damaged, 1U) << i;
    std::size_t left = 0;
    for (std::size_t chunk = 0; chunk < 3; ++chunk) {
      if (has(*containers, at[chunk], three_[chunk])) ++left;
      EXPECT_EQ(found.contains(at[chunk].offset), has(*containers, at[chunk], three_[chunk])) << i;
    }
    EXPECT_EQ(left, 2U) << i;
    EXPECT_TRUE(has(*containers, behind[0], noise(40, 4))) << i;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x10);
  }
}

TEST_F(GroupsTest, a_full_container_lists_them) {
  const auto containers = std::move(*Containers::open(*medium_, id_, OpenFor::writing, 4096));
  std::vector<Location> at;
  for (std::uint64_t i = 0; i < 8; ++i)
    for (const Location& one : append(*containers, {noise(500, 2 * i), noise(300, 2 * i + 1)}))
      at.push_back(one);
  ASSERT_GT(containers->last_number(), 1U);
  std::vector<Location> seen;
  const auto walked = containers->walk(
      1, false, [&](Location place, const ChunkHeader&, base::BytesView) { seen.push_back(place); });
  EXPECT_TRUE(walked->full);
  ASSERT_LT(seen.size(), at.size());
  EXPECT_TRUE(std::equal(seen.begin(), seen.end(), at.begin()));
}

}  // namespace
}  // namespace braid::store::test
