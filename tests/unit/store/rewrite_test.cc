// Containers that are in use in part: what is in use of them moves, and is found wherever a recipe names it.
#include <unistd.h>

#include <chrono>
#include <functional>
#include <utility>

#include "base/manual/manual_clock.h"
#include "store/maintenance/collector.h"
#include "tests/unit/store/seal_fixture.h"
#include "vfs/posix/directory_identity.h"

namespace braid::store::test {
namespace {

class RewriteTest : public SealFixture {
 protected:
  static constexpr std::size_t size = 300'000;
  static constexpr std::uint64_t day = 24U * 60 * 60;

  // f, g and h share the first container, the first two in chunks of 16 KiB; and a little of i may
  // be there; the others fill the next ones.
  void SetUp() override {
    const std::string why = begin("ext4");
    if (!why.empty()) GTEST_SKIP() << why;
    reopen();
    ASSERT_EQ(store_->tree_of(vfs::posix::directory_identity(tree_, "")->file_system, tree_), 1U);
    std::uint64_t seed = 0;
    for (const char* const name : {"f", "g", "h", "i", "j", "k"}) {
      ++seed;
      write(name, noise(seed == 1 ? size + 100'000 : size, seed));
      ASSERT_EQ(seal({name}, seed <= 2 ? hashing::Profile::block : hashing::Profile::general),
                SealOutcome::sealed);
    }
    ASSERT_EQ(place_of_first_chunk("h").container, 1U);
    ASSERT_GT(store_->containers().last_number(), 1U);
  }
  void reopen() {
    store_.reset();
    auto opened =
        Store::open(store_path_, {.what = OpenFor::writing, .cache_bytes = 0, .container_bytes = 1 << 20});
    ASSERT_TRUE(opened) << opened.error();
    store_ = std::move(*opened);
  }
  // Nothing is found but by what recipes and containers say.
  void reopen_without_index() {
    store_.reset();
    std::filesystem::remove_all(store_path_ / "index");
    reopen();
  }
  GcReport collect(std::uint64_t keep_seconds = 0) {
    PosixTrees trees(open_trees(*store_));
    return collect(trees, keep_seconds);
  }
  GcReport collect(SealedTrees& trees, std::uint64_t keep_seconds = 0) {
    GcProgress progress;
    return Collector(*store_, trees, clock_, {.keep_seconds = keep_seconds}).run(progress);
  }
  void remove(const std::string& name) const { EXPECT_EQ(::unlink(path(name).c_str()), 0); }
  void expect_whole(const std::string& name, std::uint64_t seed) {
    const auto now = read(name);
    EXPECT_TRUE(now && *now == noise(size, seed)) << name;
  }
  std::vector<NodeEntry> entries_of(const std::string& name) {
    const base::UniqueFd fd = opened(name);
    const auto stub = store_->medium().file_of(fd.get());
    const auto sealed =
        SealedFile::open(store_->chunks(), store_->keys(), *stub->handle(), **stub->attribute(record_name));
    return (*sealed)->root().top.entries;
  }
  ChunkRef first_chunk(const std::string& name) { return entries_of(name).front().chunk; }
  void forget_in_index(const std::string& name) {
    for (const NodeEntry& entry : entries_of(name)) store_->index()->remove(entry.chunk.id);
  }
  Location place_of_first_chunk(const std::string& name) { return first_chunk(name).at; }
  [[nodiscard]] std::filesystem::path first_container() const { return store_path_ / Containers::name_of(1); }

  base::ManualClock clock_;
};

// The trees, and something that is done at the end of each mark.
class BusyTrees final : public SealedTrees {
 public:
  BusyTrees(Store& store, std::function<void()> meanwhile)
      : trees_(open_trees(store)), meanwhile_(std::move(meanwhile)) {}
  base::Result<std::optional<base::Bytes>> record_of(std::uint32_t tree, const KernelHandle& file) override {
    return trees_.record_of(tree, file);
  }
  std::string sync() override {
    std::string why = trees_.sync();
    meanwhile_();
    return why;
  }
  std::string name_of(std::uint32_t tree, const KernelHandle& file) override {
    return trees_.name_of(tree, file);
  }

 private:
  PosixTrees trees_;
  const std::function<void()> meanwhile_;
};

TEST_F(RewriteTest, what_is_in_use_is_found_where_its_recipe_says_and_where_it_is) {
  remove("f");
  remove("g");
  const GcReport report = collect();
  EXPECT_EQ(report.alarm, "");
  EXPECT_EQ(report.rewritten, 1U);
  EXPECT_GT(report.moved_bytes, size);
  EXPECT_LT(report.moved_bytes, 700'000U);
  EXPECT_LT(std::filesystem::file_size(first_container()), 4096U);
  EXPECT_EQ(place_of_first_chunk("h").container, 1U) << "the recipe is as it was";
  expect_whole("h", 3);
  reopen_without_index();
  expect_whole("h", 3);
  expect_whole("i", 4);
  EXPECT_EQ(collect().rewritten, 0U);
  // Who does not know about that does not open the store.
  EXPECT_NE(slurp(store_path_ / "FORMAT").find("required 0000000000000009"), std::string::npos);
}

TEST_F(RewriteTest, what_leads_there_goes_with_the_last_recipe_that_needs_it) {
  remove("f");
  remove("g");
  ASSERT_EQ(collect().rewritten, 1U);
  EXPECT_EQ(collect().removed, 0U);
  EXPECT_TRUE(std::filesystem::exists(first_container()));
  remove("h");
  remove("i");
  EXPECT_GT(collect().removed, 0U);
  EXPECT_FALSE(std::filesystem::exists(first_container()));
}

// An index of before says where the chunks were.
TEST_F(RewriteTest, what_is_found_again_is_named_where_it_lies) {
  const ChunkRef before = first_chunk("h");
  remove("f");
  remove("g");
  ASSERT_EQ(collect().rewritten, 1U);
  reopen();
  store_->index()->put(before.id, before.at);
  write("copy", noise(size, 3));
  const std::uint64_t added = store_->chunks().counts().chunks_added;
  ASSERT_EQ(seal({"copy"}), SealOutcome::sealed);
  EXPECT_LE(store_->chunks().counts().chunks_added, added + 1) << "the root alone";
  EXPECT_GT(place_of_first_chunk("copy").container, 1U);
  remove("h");
  collect();
  reopen_without_index();
  expect_whole("copy", 3);
}

TEST_F(RewriteTest, twice_moved_it_is_found_too) {
  for (std::uint64_t seed = 10; seed < 14; ++seed) {
    write("l", noise(size, seed));
    ASSERT_EQ(seal({"l"}), SealOutcome::sealed);
  }
  remove("f");
  remove("g");
  ASSERT_GE(collect().rewritten, 1U);
  const std::uint32_t moved_to = store_->containers().place_of(place_of_first_chunk("h"))->container;
  for (std::uint64_t seed = 20; seed < 28; ++seed) {
    write("m", noise(size, seed));
    ASSERT_EQ(seal({"m"}), SealOutcome::sealed);
  }
  for (const char* const name : {"i", "j", "k", "l"}) remove(name);
  EXPECT_GT(collect().rewritten, 0U);
  EXPECT_GT(store_->containers().place_of(place_of_first_chunk("h"))->container, moved_to);
  reopen_without_index();
  expect_whole("h", 3);
}

// The index may have lost what it knew.
TEST_F(RewriteTest, marks_follow_what_leads_there) {
  remove("f");
  remove("g");
  ASSERT_EQ(collect().rewritten, 1U);
  for (std::uint64_t seed = 20; seed < 28; ++seed) {
    write("m", noise(size, seed));
    ASSERT_EQ(seal({"m"}), SealOutcome::sealed);
  }
  for (const char* const name : {"i", "j", "k", "m"}) {
    forget_in_index(name);
    remove(name);
  }
  forget_in_index("h");
  EXPECT_GT(collect().removed, 0U);
  expect_whole("h", 3);
}

TEST_F(RewriteTest, what_one_mark_alone_has_missed_is_not_dropped) {
  write("part", noise(160'000, 2));
  ASSERT_EQ(seal({"part"}, hashing::Profile::block), SealOutcome::sealed);
  remove("f");
  remove("g");
  bool first = true;
  BusyTrees trees(*store_, [&] {
    if (std::exchange(first, false)) remove("part");
  });
  EXPECT_EQ(collect(trees).rewritten, 0U);
  EXPECT_EQ(collect().rewritten, 1U);
  expect_whole("h", 3);
}

TEST_F(RewriteTest, garbage_in_it_is_kept_for_a_while_too) {
  remove("f");
  remove("g");
  EXPECT_EQ(collect(day).rewritten, 0U);
  clock_.advance(std::chrono::hours(23));
  reopen();
  EXPECT_EQ(collect(day).rewritten, 0U);
  clock_.advance(std::chrono::hours(2));
  reopen();
  EXPECT_EQ(collect(day).rewritten, 1U);
  expect_whole("h", 3);
}

TEST_F(RewriteTest, what_became_garbage_later_is_kept_for_as_long) {
  remove("f");
  remove("g");
  EXPECT_EQ(collect(day).rewritten, 0U);
  clock_.advance(std::chrono::hours(20));
  // Half of what was left.
  ASSERT_EQ(::truncate(path("h").c_str(), 0), 0);
  const base::UniqueFd fd = opened("h");
  ASSERT_TRUE(store_->medium().file_of(fd.get())->remove_attribute(record_name));
  write("h2", noise(size / 2, 3));
  ASSERT_EQ(seal({"h2"}), SealOutcome::sealed);
  EXPECT_EQ(collect(day).rewritten, 0U);
  clock_.advance(std::chrono::hours(5));
  EXPECT_EQ(collect(day).rewritten, 0U) << "a part is garbage for five hours";
  clock_.advance(std::chrono::hours(20));
  EXPECT_EQ(collect(day).rewritten, 1U);
}

TEST_F(RewriteTest, a_container_in_which_somebody_finds_a_chunk_meanwhile_stays) {
  remove("f");
  remove("g");
  BusyTrees trees(*store_, [&] {
    write("again", noise(size, 1));
    ASSERT_EQ(seal({"again"}, hashing::Profile::block), SealOutcome::sealed);
    remove("again");
  });
  EXPECT_EQ(collect(trees).rewritten, 0U);
  write("again", noise(size, 1));
  ASSERT_EQ(seal({"again"}, hashing::Profile::block), SealOutcome::sealed);
  EXPECT_EQ(collect().rewritten, 0U) << "two thirds are in use";
  reopen_without_index();
  expect_whole("again", 1);
  expect_whole("h", 3);
}

TEST_F(RewriteTest, a_container_with_damage_in_what_is_in_use_stays) {
  const Location at = place_of_first_chunk("h");
  std::string rotten = slurp(first_container());
  rotten[at.offset + 1000] = static_cast<char>(rotten[at.offset + 1000] ^ 1);
  std::ofstream(first_container(), std::ios::binary | std::ios::trunc) << rotten;
  reopen();
  remove("f");
  remove("g");
  const GcReport report = collect();
  EXPECT_EQ(report.alarm, "");
  EXPECT_EQ(report.rewritten, 0U);
  EXPECT_EQ(read("h", size - 1000), noise(size, 3).substr(size - 1000)) << "the rest of it is there";
}

TEST_F(RewriteTest, any_byte_of_the_entries_may_be_another_one) {
  remove("f");
  remove("g");
  ASSERT_EQ(collect().rewritten, 1U);
  store_.reset();
  const std::string whole = slurp(first_container());
  int unread = 0;
  for (std::size_t at = 0; at < whole.size(); at += at < 192 ? 16 : 61) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    std::ofstream(first_container(), std::ios::binary | std::ios::trunc) << changed;
    std::filesystem::remove_all(store_path_ / "index");
    auto opened = Store::open(store_path_, {.what = OpenFor::reading, .cache_bytes = 0});
    ASSERT_TRUE(opened);
    store_ = std::move(*opened);
    const auto now = read("h");
    EXPECT_TRUE(!now || *now == noise(size, 3)) << at;
    unread += now ? 0 : 1;
    store_.reset();
  }
  EXPECT_GT(unread, 0);
  std::ofstream(first_container(), std::ios::binary | std::ios::trunc) << whole;
  reopen();
  expect_whole("h", 3);
}

TEST_F(RewriteTest, nothing_goes_when_nobody_knows_what_a_container_is) {
  remove("f");
  remove("g");
  ASSERT_EQ(collect().rewritten, 1U);
  std::string blank = slurp(first_container());
  blank.replace(0, 200, 200, '\0');
  std::ofstream(first_container(), std::ios::binary | std::ios::trunc) << blank;
  reopen();
  remove("i");
  const GcReport report = collect();
  EXPECT_NE(report.alarm, "");
  EXPECT_EQ(report.removed + report.rewritten, 0U);
}

}  // namespace
}  // namespace braid::store::test
