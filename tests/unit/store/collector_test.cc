// Garbage of a store: what nothing refers to goes, whatever else stays.
#include "store/maintenance/collector.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "base/manual/manual_clock.h"
#include "tests/unit/store/seal_fixture.h"
#include "vfs/posix/directory_identity.h"

namespace braid::store::test {
namespace {

class CollectorTest : public SealFixture {
 protected:
  static constexpr std::size_t size = 300'000;
  static constexpr std::uint64_t day = 24U * 60 * 60;

  void SetUp() override {
    const std::string why = begin("ext4");
    if (!why.empty()) GTEST_SKIP() << why;
    reopen();
    ASSERT_EQ(store_->tree_of(vfs::posix::directory_identity(tree_, "")->file_system, tree_), 1U);
    for (const auto& [name, seed] : {std::pair("f", 1U), std::pair("g", 2U), std::pair("h", 3U)}) {
      write(name, noise(size, seed));
      ASSERT_EQ(seal({name}), SealOutcome::sealed);
    }
  }
  // In containers of a chunk or two.
  void reopen() {
    store_.reset();
    auto opened = Store::open(store_path_, {.what = OpenFor::writing, .container_bytes = 64 << 10});
    ASSERT_TRUE(opened) << opened.error();
    store_ = std::move(*opened);
  }
  GcReport collect(GcOptions options = {.keep_seconds = 0}) {
    PosixTrees trees(open_trees(*store_));
    return collect(trees, std::move(options));
  }
  GcReport collect(SealedTrees& trees, GcOptions options = {.keep_seconds = 0}) {
    GcProgress progress;
    return Collector(*store_, trees, clock_, std::move(options)).run(progress);
  }
  void damage_f() {
    const std::filesystem::path container = store_path_ / Containers::name_of(1);
    std::string rotten = slurp(container);
    rotten[1000] = static_cast<char>(rotten[1000] ^ 1);
    std::ofstream(container, std::ios::binary | std::ios::trunc) << rotten;
    reopen();
    EXPECT_FALSE(read("f"));
  }
  void remove(const std::string& name) const { EXPECT_EQ(::unlink(path(name).c_str()), 0); }
  void expect_whole(const std::string& name, std::uint64_t seed) {
    EXPECT_TRUE(read(name) == noise(size, seed)) << name;
  }

  base::ManualClock clock_;
};

TEST_F(CollectorTest, what_a_file_had_alone_goes_with_it) {
  EXPECT_EQ(collect().removed, 0U);
  write("copy", noise(size, 2));
  ASSERT_EQ(seal({"copy"}), SealOutcome::sealed);
  remove("f");
  remove("g");
  const GcReport report = collect();
  EXPECT_EQ(report.alarm, "");
  EXPECT_EQ(report.files, 2U);
  EXPECT_GT(report.removed_bytes, size / 2);
  EXPECT_LT(report.removed_bytes, size * 11 / 10);
  expect_whole("copy", 2);
  expect_whole("h", 3);
  reopen();
  expect_whole("copy", 2);
  EXPECT_EQ(collect().removed, 0U);
  // What is gone is kept anew.
  write("f", noise(size, 1));
  ASSERT_EQ(seal({"f"}), SealOutcome::sealed);
  reopen();
  expect_whole("f", 1);
}

TEST_F(CollectorTest, garbage_is_kept_for_a_while_and_that_outlives_the_process) {
  remove("f");
  EXPECT_EQ(collect({.keep_seconds = day}).removed, 0U);
  clock_.advance(std::chrono::hours(23));
  reopen();
  const GcReport early = collect({.keep_seconds = day});
  EXPECT_EQ(early.removed, 0U);
  EXPECT_GT(early.waiting_bytes, 0U);
  clock_.advance(std::chrono::hours(2));
  reopen();
  EXPECT_GT(collect({.keep_seconds = day}).removed, 0U);
  expect_whole("g", 2);
}

TEST_F(CollectorTest, what_was_missed_once_and_is_used_again_stays) {
  remove("f");
  EXPECT_EQ(collect({.keep_seconds = day}).removed, 0U);
  write("f", noise(size, 1));
  ASSERT_EQ(seal({"f"}), SealOutcome::sealed);
  clock_.advance(std::chrono::hours(25));
  // The root that it had before may go.
  EXPECT_LT(collect({.keep_seconds = day}).removed_bytes, size / 2);
  reopen();
  expect_whole("f", 1);
}

TEST_F(CollectorTest, nothing_goes_when_a_tree_is_not_there_until_it_is_forgotten) {
  remove("f");
  PosixTrees none{OpenTrees()};
  const GcReport report = collect(none);
  EXPECT_NE(report.alarm, "");
  EXPECT_EQ(report.removed, 0U);
  expect_whole("g", 2);
  ASSERT_TRUE(store_->forget_tree(1));
  const GcReport forgotten = collect(none);
  EXPECT_EQ(forgotten.alarm, "");
  EXPECT_EQ(forgotten.live_bytes, 0U);
  EXPECT_GT(forgotten.removed_bytes, 2 * size);
  // Should it come back, it is another one.
  EXPECT_EQ(store_->tree_of("uuid:other", "/other"), 2U);
}

TEST_F(CollectorTest, nothing_goes_when_a_recipe_cannot_be_read) {
  remove("f");
  const auto numbers = *store_->containers().numbers();
  for (const std::uint32_t number : numbers) {
    std::string bytes = slurp(store_path_ / Containers::name_of(number));
    for (std::size_t at = bytes.find("Root"); at != std::string::npos; at = bytes.find("Root", at + 1))
      bytes[at + 9] = static_cast<char>(bytes[at + 9] ^ 1);
    std::ofstream(store_path_ / Containers::name_of(number), std::ios::binary | std::ios::trunc) << bytes;
  }
  reopen();
  const GcReport report = collect();
  EXPECT_NE(report.alarm, "");
  EXPECT_EQ(report.removed, 0U);
}

TEST_F(CollectorTest, nothing_goes_when_the_registry_was_cut) {
  remove("f");
  store_.reset();
  std::filesystem::resize_file(store_path_ / Registry::name,
                               std::filesystem::file_size(store_path_ / Registry::name) - 7);
  reopen();
  EXPECT_NE(collect().alarm, "") << "the file of the last entry would lose all";
  expect_whole("h", 3);
}

TEST_F(CollectorTest, a_healed_chunk_stays_though_its_recipe_names_the_old_place) {
  damage_f();
  write("again", noise(size, 1));
  ASSERT_EQ(seal({"again"}), SealOutcome::sealed);
  expect_whole("f", 1);
  // So that the new place does not lie in the last container.
  write("i", noise(size, 4));
  ASSERT_EQ(seal({"i"}), SealOutcome::sealed);
  remove("again");
  remove("g");
  EXPECT_GT(collect().removed, 0U);
  reopen();
  expect_whole("f", 1);
}

// The healed copy of a damaged chunk is found by the index alone, and that may not know it yet.
TEST_F(CollectorTest, what_the_index_does_not_know_yet_stays) {
  damage_f();
  const std::uint32_t before = store_->containers().last_number();
  write("again", noise(size, 1));
  ASSERT_EQ(seal({"again"}), SealOutcome::sealed);
  write("i", noise(size, 4));
  ASSERT_EQ(seal({"i"}), SealOutcome::sealed);
  remove("again");
  // As after a crash: what was put last is not there, and nobody has looked yet.
  const auto last = store_->containers().last_number();
  for (std::uint32_t number = before; number <= last; ++number)
    ASSERT_TRUE(store_->containers().walk(
        number, false,
        [&](Location, const ChunkHeader& header, base::BytesView) { store_->index()->remove(header.id); }));
  store_.reset();
  {
    auto index = Index::open(store_path_ / "index", {});
    ASSERT_TRUE(index);
    (*index)->put_known_to({.container = before});
  }
  auto opened =
      Store::open(store_path_, {.what = OpenFor::writing, .container_bytes = 64 << 10, .index_later = true});
  ASSERT_TRUE(opened) << opened.error();
  store_ = std::move(*opened);
  EXPECT_EQ(collect().alarm, "");
  while (store_->chunks().index_filler().step() == IndexFiller::Step::more) {
  }
  EXPECT_EQ(collect().alarm, "");
  expect_whole("f", 1);
}

TEST_F(CollectorTest, a_place_that_is_known_to_be_bad_is_never_a_hit) {
  const ChunkRef first = *store_->chunks().put(ChunkKind::data, base::bytes_of("some bytes"));
  EXPECT_EQ(store_->chunks().put(ChunkKind::data, base::bytes_of("some bytes"))->at, first.at);
  store_->chunks().note_bad(first.at);
  EXPECT_NE(store_->chunks().put(ChunkKind::data, base::bytes_of("some bytes"))->at, first.at);
}

// The index may outlive what a crash has taken of containers: the chunk, and the container's head with it.
TEST_F(CollectorTest, a_place_that_only_the_index_knows_and_that_is_lost_is_none) {
  const std::uint32_t lost = store_->containers().last_number() + 1;
  std::ofstream(store_path_ / Containers::name_of(lost), std::ios::binary);
  reopen();
  const std::string bytes = noise(6 << 20, 4);  // so many chunks that there are nodes below the root
  write("large", bytes);
  ASSERT_EQ(seal({"large"}, hashing::Profile::block), SealOutcome::sealed);
  ASSERT_GT(store_->containers().last_number(), lost);
  const base::UniqueFd fd = opened("large");
  const auto stub = store_->medium().file_of(fd.get());
  const auto record = decode_record(**stub->attribute(record_name), store_->keys(), *stub->handle());
  ASSERT_TRUE(record);
  const auto root = store_->chunks().get_root(record->root, record->at);
  ASSERT_TRUE(root);
  const NodeEntry child = decode_root(**root)->top.entries.front();
  ASSERT_EQ(child.kind, EntryKind::child);
  for (const hashing::Digest& id : {record->root, child.chunk.id}) {
    const Location known = *store_->index()->find(id);
    store_->index()->put(id, {.volume = 0, .container = lost, .offset = 64});
    const GcReport report = collect();
    EXPECT_EQ(report.alarm, "");
    EXPECT_EQ(report.files, 4U);
    store_->index()->put(id, known);
  }
  EXPECT_TRUE(read("large") == bytes);
}

TEST_F(CollectorTest, on_a_full_medium_garbage_goes_all_the_same) {
  const auto small = vfs::mount_tmpfs("size=16m");
  ASSERT_TRUE(small) << small.error();
  store_.reset();
  std::filesystem::copy(store_path_, *small + "/store", std::filesystem::copy_options::recursive);
  auto opened = Store::open(*small + "/store", {.what = OpenFor::writing, .container_bytes = 64 << 10});
  ASSERT_TRUE(opened) << opened.error();
  store_ = std::move(*opened);
  remove("f");
  {
    std::ofstream filler(*small + "/filler", std::ios::binary);
    const std::string block(4096, 'x');
    while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  const GcReport report = collect();
  EXPECT_EQ(report.alarm, "");
  EXPECT_GT(report.removed_bytes, size / 2);
  expect_whole("g", 2);
  store_.reset();
}

TEST_F(CollectorTest, it_ends_when_it_is_told_to) {
  remove("f");
  const GcReport report = collect({.keep_seconds = 0, .stop = [] { return true; }});
  EXPECT_TRUE(report.stopped);
  EXPECT_EQ(report.alarm, "");
  EXPECT_EQ(report.removed, 0U);
}

TEST(Pins, keep_what_is_referred_to) {
  constexpr std::array<std::uint32_t, 3> containers{1, 2, 3};
  Pins pins;
  std::optional<Pins::Use> use = pins.use();
  EXPECT_TRUE(pins.refer(1));
  std::uint64_t mark = pins.begin_mark();
  EXPECT_TRUE(pins.refer(2));
  EXPECT_EQ(pins.condemn(containers, mark), std::vector<std::uint32_t>{3}) << "1 by who began before";
  EXPECT_FALSE(pins.refer(3));
  use.reset();
  mark = pins.begin_mark();
  EXPECT_EQ(pins.condemn(std::array<std::uint32_t, 2>{1, 2}, mark), (std::vector<std::uint32_t>{1, 2}));
}

TEST(LiveSet, has_what_was_added) {
  LiveSet live;
  for (std::uint32_t offset = 64; offset < 100'000; offset += 8) EXPECT_TRUE(live.add({0, 7, offset}, 2));
  for (std::uint32_t offset = 64; offset < 100'000; offset += 8) EXPECT_FALSE(live.add({0, 7, offset}, 2));
  EXPECT_TRUE(live.has(7));
  EXPECT_FALSE(live.has(8));
  EXPECT_EQ(live.bytes(), 2 * live.chunks());
}

}  // namespace
}  // namespace braid::store::test
