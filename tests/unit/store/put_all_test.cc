// Several chunks that are put together.
#include <functional>
#include <optional>
#include <span>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/chunks/chunk_store.h"
#include "tests/unit/store/scratch.h"

namespace braid::store::test {
namespace {

class PutAllTest : public ScratchTest {
 protected:
  using NewChunk = Containers::NewChunk;
  NewChunk chunk(const base::Bytes& bytes) const {
    return {.id = keys_.id_of(ChunkKind::data, bytes), .bytes = bytes};
  }
  base::Bytes bytes_of(const ChunkRef& chunk) { return **chunks_.get(ChunkKind::data, chunk); }

  std::unique_ptr<Containers> containers_ = std::move(*Containers::open(*medium_, id_, OpenFor::writing));
  std::unique_ptr<Index> index_ = std::move(*Index::open(path_ / "index", {}));
  ChunkStore chunks_{*containers_, index_.get(), keys_, base::MiB};
};

TEST_F(PutAllTest, what_is_there_and_what_comes_twice_is_kept_once) {
  const base::Bytes a = noise(5000, 1), b = noise(3000, 2), c = noise(1, 3);
  const ChunkRef there = *chunks_.put(ChunkKind::data, b);
  const NewChunk all[] = {chunk(a), chunk(b), chunk(c), chunk(a)};
  const auto refs = chunks_.put_all(ChunkKind::data, all);
  ASSERT_TRUE(refs);
  ASSERT_EQ(refs->size(), 4U);
  EXPECT_EQ((*refs)[1], there);
  EXPECT_EQ((*refs)[3], (*refs)[0]);
  EXPECT_EQ(bytes_of((*refs)[0]), a);
  EXPECT_EQ(bytes_of((*refs)[2]), c);
  EXPECT_EQ(chunks_.counts().chunks_added, 3U);
  EXPECT_EQ(chunks_.counts().chunks_found, 2U);
  EXPECT_EQ(chunks_.put_all(ChunkKind::data, all), refs) << "they are found again";
  EXPECT_EQ(chunks_.counts().chunks_added, 3U);
  EXPECT_TRUE(chunks_.put_all(ChunkKind::data, {})->empty());
}

TEST_F(PutAllTest, a_wrong_id_finds_nothing_else) {
  const base::Bytes a = noise(5000, 1), b = noise(5000, 2);
  const NewChunk all[] = {chunk(a), {.id = chunk(a).id, .bytes = b}, chunk(a)};
  const auto refs = chunks_.put_all(ChunkKind::data, all);
  ASSERT_TRUE(refs);
  EXPECT_NE((*refs)[1].at, (*refs)[0].at) << "the bytes are compared";
  EXPECT_EQ((*refs)[2], (*refs)[0]);
  EXPECT_EQ(bytes_of((*refs)[0]), a);
}

TEST_F(PutAllTest, they_are_in_order_in_as_many_containers_as_it_takes) {
  // More containers than one, and more chunks than a group has.
  constexpr std::size_t large = 600, small = 900;
  std::vector<base::Bytes> data;
  std::vector<NewChunk> all;
  for (std::size_t i = 0; i < large + small; ++i) data.push_back(noise(i < large ? 256U << 10U : 100, i));
  for (const base::Bytes& one : data) all.push_back(chunk(one));
  const auto refs = chunks_.put_all(ChunkKind::data, all);
  ASSERT_TRUE(refs);
  for (std::size_t i = 1; i < all.size(); ++i) {
    const Location before = (*refs)[i - 1].at, at = (*refs)[i].at;
    const bool goes_on = at.container == before.container;
    EXPECT_TRUE(!goes_on || at.offset > before.offset) << i;
    EXPECT_TRUE(goes_on || at.container == before.container + 1) << i;
  }
  EXPECT_EQ(refs->back().at.container, 3U);
  for (std::size_t i = 0; i < all.size(); i += 50) EXPECT_EQ(bytes_of((*refs)[i]), data[i]) << i;
  std::uint64_t seen = 0;
  for (const std::uint32_t number : {1U, 2U, 3U}) {
    const auto walked = containers_->walk(number, true, [](Location, const ChunkHeader&, base::BytesView) {});
    ASSERT_TRUE(walked);
    EXPECT_EQ(walked->damaged, 0U);
    EXPECT_EQ(walked->full, number < 3);
    seen += walked->chunks;
  }
  EXPECT_EQ(seen, all.size());
}

TEST_F(PutAllTest, two_who_put_the_same_at_the_same_time_keep_it_once) {
  std::vector<base::Bytes> data;
  std::vector<NewChunk> all;
  for (std::uint64_t i = 0; i < 300; ++i) data.push_back(noise(2000, i));
  for (const base::Bytes& one : data) all.push_back(chunk(one));
  std::vector<NewChunk> backwards(all.rbegin(), all.rend());
  std::vector<std::thread> threads;
  for (const auto* these : {&all, &backwards, &all, &backwards})
    threads.emplace_back([&, these] { EXPECT_TRUE(chunks_.put_all(ChunkKind::data, *these)); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(chunks_.counts().chunks_added, data.size());
  EXPECT_EQ(chunks_.counts().chunks_found, 3 * data.size());
}

// Does something between the first question and its answer, and counts the questions.
class WatchedIndex final : public Index {
 public:
  std::optional<Location> find(const hashing::Digest& id) override {
    ++asked;
    const auto known = entries_.find(id);
    const auto out = known == entries_.end() ? std::nullopt : std::optional(known->second);
    if (const auto first = std::exchange(meanwhile, {})) first();
    return out;
  }
  void put(const hashing::Digest& id, Location at) override { entries_[id] = at; }
  void remove(const hashing::Digest& id) override { entries_.erase(id); }
  std::optional<Location> known_to() override { return std::nullopt; }
  void put_known_to(Location /*at*/) override {}
  std::optional<base::Bytes> note(const hashing::Digest& /*file*/) override { return std::nullopt; }
  void put_note(const hashing::Digest& /*file*/, base::BytesView /*note*/) override {}
  void flush() override {}
  [[nodiscard]] std::uint64_t entries_about() const override { return entries_.size(); }

  std::function<void()> meanwhile;
  int asked = 0;

 private:
  std::unordered_map<hashing::Digest, Location> entries_;
};

class WatchedPutTest : public PutAllTest {
 protected:
  WatchedIndex watched_;
  ChunkStore store_{*containers_, &watched_, keys_, base::MiB};
  const base::Bytes a_ = noise(5000, 1), b_ = noise(3000, 2);
};

TEST_F(WatchedPutTest, a_new_chunk_is_looked_for_once) {
  const NewChunk all[] = {chunk(a_), chunk(b_)};
  ASSERT_TRUE(store_.put_all(ChunkKind::data, all));
  EXPECT_EQ(watched_.asked, 2);
}

TEST_F(WatchedPutTest, what_was_put_together_is_found_together) {
  std::vector<base::Bytes> data;
  std::vector<NewChunk> all;
  for (std::uint64_t i = 0; i < 11; ++i) data.push_back(noise(500, i));
  for (std::size_t i = 0; i < 10; ++i) all.push_back(chunk(data[i]));
  const auto refs = store_.put_all(ChunkKind::data, all);
  ASSERT_TRUE(refs);
  watched_.asked = 0;
  EXPECT_EQ(store_.put_all(ChunkKind::data, all), refs);
  EXPECT_EQ(watched_.asked, 1) << "the others are behind the first";
  // One that is not among them: it is looked for, and so is the one behind it.
  watched_.asked = 0;
  all[5] = chunk(data[10]);
  const auto mixed = store_.put_all(ChunkKind::data, all);
  ASSERT_TRUE(mixed);
  EXPECT_EQ(watched_.asked, 3);
  EXPECT_NE((*mixed)[5].at, (*refs)[5].at);
  for (const std::size_t i : {0U, 4U, 6U, 9U}) EXPECT_EQ((*mixed)[i], (*refs)[i]) << i;
}

TEST_F(WatchedPutTest, what_is_known_to_be_bad_is_not_found_behind_another) {
  const NewChunk all[] = {chunk(a_), chunk(b_)};
  const auto refs = store_.put_all(ChunkKind::data, all);
  ASSERT_TRUE(refs);
  store_.note_bad((*refs)[1].at);
  const auto again = store_.put_all(ChunkKind::data, all);
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)[0], (*refs)[0]);
  EXPECT_NE((*again)[1].at, (*refs)[1].at);
}

TEST_F(WatchedPutTest, what_was_put_since_it_was_looked_for_is_found) {
  const NewChunk all[] = {chunk(a_), chunk(b_)};
  std::optional<ChunkRef> theirs;
  watched_.meanwhile = [&] { theirs = *store_.put(ChunkKind::data, a_); };
  const auto refs = store_.put_all(ChunkKind::data, all);
  ASSERT_TRUE(refs);
  EXPECT_EQ((*refs)[0], *theirs);
  EXPECT_EQ(store_.counts().chunks_added, 2U);
}

TEST_F(WatchedPutTest, what_was_put_with_others_since_it_was_looked_for_is_found) {
  const NewChunk all[] = {chunk(a_), chunk(b_)};
  std::vector<ChunkRef> theirs;
  watched_.meanwhile = [&] { theirs = *store_.put_all(ChunkKind::data, std::span(all).first(1)); };
  const auto refs = store_.put_all(ChunkKind::data, all);
  ASSERT_TRUE(refs);
  EXPECT_EQ((*refs)[0], theirs[0]);
  EXPECT_EQ(store_.counts().chunks_added, 2U);
}

}  // namespace
}  // namespace braid::store::test
