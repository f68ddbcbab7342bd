#include "store/index.h"

#include <filesystem>

#include "store/chunk_store.h"
#include "tests/unit/store/scratch.h"

namespace braid::store::test {
namespace {

class IndexTest : public ScratchTest {
 protected:
  std::unique_ptr<Index> opened() const { return std::move(*Index::open(path_ / "index", {})); }
  static hashing::Digest id(unsigned char first) {
    hashing::Digest out;
    out.bytes[0] = std::byte{first};
    return out;
  }
};

TEST_F(IndexTest, finds_what_was_put) {
  {
    const auto index = opened();
    index->put(id(1), {0, 5, 64});
    EXPECT_EQ(index->find(id(1)), (Location{0, 5, 64}));
    EXPECT_FALSE(index->find(id(2)));
    EXPECT_FALSE(index->known_to());
    index->put_known_to({0, 6, 100});
  }
  const auto index = opened();
  EXPECT_EQ(index->find(id(1)), (Location{0, 5, 64}));
  EXPECT_EQ(index->known_to(), (Location{0, 6, 100}));
}

TEST_F(IndexTest, one_that_is_damaged_is_made_anew) {
  {
    opened()->put(id(1), {0, 5, 64});
  }
  for (const auto& file : std::filesystem::directory_iterator(path_ / "index"))
    if (file.path().filename().string().starts_with("MANIFEST"))
      std::filesystem::resize_file(file.path(), 10);
  EXPECT_FALSE(opened()->find(id(1)));
}

TEST_F(IndexTest, without_it_the_containers_say_what_there_is) {
  const auto containers = std::move(*Containers::open(*medium_, id_, OpenFor::writing));
  const base::Bytes a = noise(5000, 1), b = noise(5000, 2);
  ChunkRef first;
  {
    const auto index = opened();
    ChunkStore chunks(*containers, index.get(), keys_, base::MiB);
    first = *chunks.put(ChunkKind::data, a);
  }
  std::filesystem::remove_all(path_ / "index");
  const auto index = opened();
  ChunkStore chunks(*containers, index.get(), keys_, base::MiB);
  EXPECT_EQ(chunks.catch_up(), 1U);
  EXPECT_EQ(chunks.put(ChunkKind::data, a), first);
  EXPECT_NE(chunks.put(ChunkKind::data, b)->at, first.at);
  EXPECT_EQ(chunks.counts().chunks_found, 1U);
  EXPECT_EQ(chunks.catch_up(), 1U) << "what was added since it was looked at";
  EXPECT_EQ(chunks.catch_up(), 0U);
}

TEST_F(IndexTest, a_wrong_one_does_no_harm) {
  const auto containers = std::move(*Containers::open(*medium_, id_, OpenFor::writing));
  const auto index = opened();
  ChunkStore chunks(*containers, index.get(), keys_, base::MiB);
  const base::Bytes a = noise(5000, 1), b = noise(5000, 2);
  const ChunkRef first = *chunks.put(ChunkKind::data, a);
  index->put(keys_.id_of(ChunkKind::data, b), first.at);
  const ChunkRef second = *chunks.put(ChunkKind::data, b);
  EXPECT_NE(second.at, first.at);
  EXPECT_EQ(**chunks.get(ChunkKind::data, second), b);
  EXPECT_EQ(**chunks.get(ChunkKind::data, {second.id, first.at, second.bytes}), b) << "found by its id";
  ChunkRef longer = second;
  ++longer.bytes;
  EXPECT_FALSE(chunks.get(ChunkKind::data, longer));
}

TEST_F(IndexTest, a_wrong_id_finds_nothing_else) {
  const auto containers = std::move(*Containers::open(*medium_, id_, OpenFor::writing));
  const auto index = opened();
  ChunkStore chunks(*containers, index.get(), keys_, base::MiB);
  const base::Bytes a = noise(5000, 1), b = noise(5000, 2);
  const hashing::Digest name = keys_.id_of(ChunkKind::data, a);
  const ChunkRef first = *chunks.put(ChunkKind::data, name, a);
  const ChunkRef second = *chunks.put(ChunkKind::data, name, b);
  EXPECT_NE(second.at, first.at) << "the bytes are compared";
  EXPECT_FALSE(chunks.get(ChunkKind::data, second)) << "it is another one's name";
  EXPECT_EQ(**chunks.get(ChunkKind::data, first), a);
}

}  // namespace
}  // namespace braid::store::test
