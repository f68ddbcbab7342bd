#include "store/chunks/index.h"

#include <filesystem>
#include <map>
#include <vector>

#include "base/big_endian.h"
#include "store/chunks/chunk_store.h"
#include "tests/unit/store/scratch.h"

namespace braid::store::test {
namespace {

class IndexTest : public ScratchTest {
 protected:
  std::unique_ptr<Index> opened() const { return std::move(*Index::open(path_ / "index", {})); }
  // How many chunks came into it.
  static std::uint64_t filled(ChunkStore& chunks) {
    while (chunks.index_filler().step() == IndexFiller::Step::more) {
    }
    return chunks.index_filler().progress().chunks;
  }
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

TEST_F(IndexTest, of_very_many_each_is_found) {
  const auto id_of = [](std::uint32_t number) {
    hashing::Digest out;
    base::store_be<std::uint32_t>(out.bytes, 0, number * 2654435761U);  // in no order
    return out;
  };
  constexpr std::uint32_t many = 30'000;
  {
    const auto index = opened();
    index->put(id_of(5), {0, 99, 64});
    std::vector<Index::Entry> entries;
    for (std::uint32_t i = 0; i < many; ++i) entries.push_back({id_of(i), {0, 1, 64 + i}});
    entries.push_back({id_of(7), {0, 2, 64}});
    EXPECT_TRUE(index->put_many(entries));
    EXPECT_EQ(index->find(id_of(5)), (Location{0, 1, 69})) << "what is put later counts";
    EXPECT_TRUE(index->put_many(entries));
  }
  const auto index = opened();
  for (std::uint32_t i = 0; i < many; ++i)
    ASSERT_EQ(index->find(id_of(i)), (i == 7 ? Location{0, 2, 64} : Location{0, 1, 64 + i})) << i;
  EXPECT_FALSE(index->find(id_of(many)));
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
  EXPECT_EQ(filled(chunks), 1U);
  EXPECT_EQ(chunks.put(ChunkKind::data, a), first);
  EXPECT_NE(chunks.put(ChunkKind::data, b)->at, first.at);
  EXPECT_EQ(chunks.counts().chunks_found, 1U);
}

// A crash takes what was put last, in the order in which it was put.
class CrashedIndex final : public Index {
 public:
  std::optional<Location> find(const hashing::Digest& id) override {
    const auto found = known_.find(id);
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }
  void put(const hashing::Digest& id, Location at) override {
    if (full) lost_ = true;
    if (!full) known_[id] = at;
  }
  bool put_many(std::span<Entry> entries) override {
    if (!full) put_all(entries);
    return !full;
  }
  [[nodiscard]] bool has_lost() const override { return lost_; }
  void forget_lost() override { lost_ = false; }
  void remove(const hashing::Digest& id) override { known_.erase(id); }
  std::optional<Location> known_to() override { return known_to_; }
  void put_known_to(Location at) override { known_to_ = at; }
  std::optional<base::Bytes> note(const hashing::Digest& /*file*/) override { return std::nullopt; }
  void put_note(const hashing::Digest& /*file*/, base::BytesView /*note*/) override {}
  void flush() override {}
  [[nodiscard]] std::uint64_t entries_about() const override { return known_.size(); }
  bool full = false;

 private:
  bool lost_ = false;
  std::map<hashing::Digest, Location> known_;
  std::optional<Location> known_to_;
};

TEST_F(IndexTest, after_a_crash_only_the_last_containers_are_looked_through) {
  constexpr std::uint32_t container_bytes = 64 * 1024;
  const auto containers = std::move(*Containers::open(*medium_, id_, OpenFor::writing, container_bytes));
  CrashedIndex index;
  std::vector<ChunkRef> refs;
  {
    ChunkStore chunks(*containers, &index, keys_, base::MiB);
    EXPECT_EQ(filled(chunks), 0U);
    for (unsigned i = 0; i < 40; ++i) refs.push_back(*chunks.put(ChunkKind::data, noise(10'000, i)));
  }
  ASSERT_GE(containers->last_number(), 6U);
  for (std::size_t i = refs.size() - 8; i < refs.size(); ++i) index.remove(refs[i].id);
  ChunkStore chunks(*containers, &index, keys_, base::MiB);
  filled(chunks);
  EXPECT_LE(chunks.index_filler().progress().containers, 2U);
  for (unsigned i = 0; i < 40; ++i)
    EXPECT_EQ(*chunks.put(ChunkKind::data, noise(10'000, i)), refs[i]) << "chunk " << i;
}

TEST_F(IndexTest, what_is_put_while_it_is_filled_does_not_say_that_it_is) {
  constexpr std::uint32_t container_bytes = 64 * 1024;
  const auto containers = std::move(*Containers::open(*medium_, id_, OpenFor::writing, container_bytes));
  {
    CrashedIndex lost;
    ChunkStore chunks(*containers, &lost, keys_, base::MiB);
    for (unsigned i = 0; i < 40; ++i) (void)*chunks.put(ChunkKind::data, noise(10'000, i));
  }
  CrashedIndex index;
  {
    ChunkStore chunks(*containers, &index, keys_, base::MiB);
    EXPECT_EQ(chunks.index_filler().step(), IndexFiller::Step::more);
    EXPECT_FALSE(chunks.index_filler().done());
    EXPECT_GT(chunks.index_filler().progress().left, 3U);
    for (unsigned i = 100; i < 120; ++i) (void)*chunks.put(ChunkKind::data, noise(10'000, i));
  }
  ChunkStore chunks(*containers, &index, keys_, base::MiB);
  filled(chunks);
  const auto before = chunks.counts().chunks_found;
  for (unsigned i = 0; i < 40; ++i) (void)*chunks.put(ChunkKind::data, noise(10'000, i));
  EXPECT_EQ(chunks.counts().chunks_found, before + 40);
}

TEST_F(IndexTest, without_room_it_is_not_filled_before_there_is_some) {
  constexpr std::uint32_t container_bytes = 64 * 1024;
  const auto containers = std::move(*Containers::open(*medium_, id_, OpenFor::writing, container_bytes));
  CrashedIndex index;
  {
    ChunkStore chunks(*containers, nullptr, keys_, base::MiB);
    for (unsigned i = 0; i < 30; ++i) (void)*chunks.put(ChunkKind::data, noise(10'000, i));
  }
  index.full = true;
  ChunkStore chunks(*containers, &index, keys_, base::MiB);
  IndexFiller& filler = chunks.index_filler();
  EXPECT_EQ(filled(chunks), 0U);
  EXPECT_EQ(filler.step(), IndexFiller::Step::waits);
  EXPECT_FALSE(filler.done());
  EXPECT_EQ(filler.complete_to(), 0U);
  EXPECT_FALSE(index.known_to());
  index.full = false;
  EXPECT_EQ(filler.step(), IndexFiller::Step::done);
  EXPECT_EQ(filler.progress().chunks, 30U);
  EXPECT_EQ(filler.complete_to(), Location::container_end);
  EXPECT_TRUE(index.find(keys_.id_of(ChunkKind::data, noise(10'000, 0))));
}

TEST_F(IndexTest, what_it_had_no_room_for_is_put_later) {
  constexpr std::uint32_t container_bytes = 64 * 1024;
  const auto containers = std::move(*Containers::open(*medium_, id_, OpenFor::writing, container_bytes));
  CrashedIndex index;
  ChunkStore chunks(*containers, &index, keys_, base::MiB);
  IndexFiller& filler = chunks.index_filler();
  filled(chunks);
  for (unsigned i = 0; i < 20; ++i) (void)*chunks.put(ChunkKind::data, noise(10'000, i));
  const std::uint32_t complete = index.known_to()->container;
  index.full = true;
  for (unsigned i = 20; i < 60; ++i) (void)*chunks.put(ChunkKind::data, noise(10'000, i));
  index.full = false;
  for (unsigned i = 60; i < 90; ++i) (void)*chunks.put(ChunkKind::data, noise(10'000, i));
  EXPECT_EQ(filler.complete_to(), complete) << "it does not know what came without room";
  EXPECT_FALSE(index.find(keys_.id_of(ChunkKind::data, noise(10'000, 30))));
  filler.begin_again();
  EXPECT_FALSE(filler.done());
  filled(chunks);
  EXPECT_EQ(filler.complete_to(), Location::container_end);
  for (unsigned i = 0; i < 90; ++i)
    EXPECT_TRUE(index.find(keys_.id_of(ChunkKind::data, noise(10'000, i)))) << "chunk " << i;
  filler.begin_again();
  EXPECT_TRUE(filler.done()) << "it lacks nothing";
}

TEST_F(IndexTest, a_container_that_goes_meanwhile_is_left_out) {
  constexpr std::uint32_t container_bytes = 64 * 1024;
  const auto containers = std::move(*Containers::open(*medium_, id_, OpenFor::writing, container_bytes));
  CrashedIndex index;
  {
    ChunkStore chunks(*containers, nullptr, keys_, base::MiB);
    for (unsigned i = 0; i < 30; ++i) (void)*chunks.put(ChunkKind::data, noise(10'000, i));
  }
  ChunkStore chunks(*containers, &index, keys_, base::MiB);
  EXPECT_EQ(chunks.index_filler().step(), IndexFiller::Step::more);
  ASSERT_TRUE(containers->remove(2));
  filled(chunks);
  EXPECT_TRUE(chunks.index_filler().done());
  EXPECT_EQ(chunks.index_filler().progress().left, 0U);
  EXPECT_TRUE(index.find(keys_.id_of(ChunkKind::data, noise(10'000, 29))));
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
