// A store whose chunks are compressed, or were.
#include <unistd.h>

#include "base/manual/manual_clock.h"
#include "store/maintenance/collector.h"
#include "store/maintenance/scrubber.h"
#include "tests/unit/store/seal_fixture.h"
#include "vfs/posix/directory_identity.h"

namespace braid::store::test {
namespace {

class CompressedStoreTest : public SealFixture {
 protected:
  void SetUp() override {
    const std::string why = begin("ext4");
    if (!why.empty()) GTEST_SKIP() << why;
    ASSERT_EQ(store_->tree_of(vfs::posix::directory_identity(tree_, "")->file_system, tree_), 1U);
  }
  void reopen(Compression how) {
    store_.reset();
    auto opened = Store::open(store_path_, {.what = OpenFor::writing,
                                            .cache_bytes = 0,
                                            .compression = {.how = how},
                                            .container_bytes = 64 << 10});
    ASSERT_TRUE(opened) << opened.error();
    store_ = std::move(*opened);
  }
  static std::string digits(std::size_t size, unsigned seed) {
    std::string out;
    for (unsigned i = seed * 1'000'000; out.size() < size; ++i) out += std::to_string(i) + " ";
    out.resize(size);
    return out;
  }
  GcReport collect() {
    PosixTrees trees(open_trees(*store_));
    GcProgress progress;
    return Collector(*store_, trees, clock_, {.keep_seconds = 0}).run(progress);
  }

  base::ManualClock clock_;
};

TEST_F(CompressedStoreTest, files_are_what_they_were_whatever_the_store_does_now) {
  const std::string a = digits(1'000'000, 1), b = digits(1'000'000, 2);
  write("a", a);
  ASSERT_EQ(seal({"a"}), SealOutcome::sealed);
  EXPECT_FALSE(store_->requires_feature(FormatFile::compression)) << "an earlier version may open it";
  const std::uint64_t plain = *store_->containers().bytes();
  reopen(Compression::zstd);
  EXPECT_TRUE(store_->requires_feature(FormatFile::compression)) << "an earlier version may not";
  write("b", b);
  ASSERT_EQ(seal({"b"}), SealOutcome::sealed);
  EXPECT_LT(*store_->containers().bytes(), plain + b.size() / 2);
  const std::uint64_t both = *store_->containers().bytes();
  reopen(Compression::none);
  EXPECT_TRUE(store_->requires_feature(FormatFile::compression)) << "there are such chunks";
  EXPECT_TRUE(read("a") == a);
  EXPECT_TRUE(read("b") == b);
  write("a2", a);
  write("b2", b);
  ASSERT_EQ(seal({"a2", "b2"}), SealOutcome::sealed);
  EXPECT_LT(*store_->containers().bytes(), both + 10'000) << "both were found";
  for (const std::string name : {"a", "b2"}) {
    EXPECT_TRUE(unsealed(name));
    EXPECT_TRUE(slurp(path(name)) == (name == "a" ? a : b));
  }
}

// A container of which half the bytes are in use, as they lie there, and all of the chunks' own.
TEST_F(CompressedStoreTest, what_is_in_use_is_counted_as_it_lies) {
  reopen(Compression::zstd);
  std::vector<std::string> all;
  for (unsigned i = 0; i < 8; ++i) {
    all.push_back(digits(200'000, i + 1));
    write("f" + std::to_string(i), all.back());
    ASSERT_EQ(seal({"f" + std::to_string(i)}), SealOutcome::sealed);
  }
  const std::uint32_t last = store_->containers().last_number();
  ASSERT_GT(last, 1U);
  const std::uint64_t before = *store_->containers().bytes();
  EXPECT_LE(collect().live_bytes, before);
  EXPECT_EQ(collect().garbage_bytes, before - collect().live_bytes);
  for (const unsigned i : {0U, 2U, 3U, 5U, 6U}) ASSERT_EQ(::unlink(path("f" + std::to_string(i)).c_str()), 0);
  const GcReport report = collect();
  EXPECT_EQ(report.alarm, "");
  EXPECT_GT(report.rewritten, 0U);
  EXPECT_LT(*store_->containers().bytes(), before * 3 / 4);
  for (const unsigned i : {1U, 4U, 7U}) EXPECT_TRUE(read("f" + std::to_string(i)) == all[i]) << i;
}

TEST_F(CompressedStoreTest, a_scrub_reads_and_damage_costs_its_range) {
  reopen(Compression::zstd);
  const std::string a = digits(600'000, 1);
  write("a", a);
  ASSERT_EQ(seal({"a"}), SealOutcome::sealed);
  const auto scrub = [&] {
    Scrubber scrubber(*store_, clock_, {});
    scrubber.begin(true);
    while (scrubber.step()) {
    }
    return scrubber.report();
  };
  EXPECT_EQ(scrub().bad, 0U);
  const std::filesystem::path container = store_path_ / Containers::name_of(1);
  std::string rotten = slurp(container);
  rotten[1000] = static_cast<char>(rotten[1000] ^ 1);
  std::ofstream(container, std::ios::binary | std::ios::trunc) << rotten;
  reopen(Compression::zstd);
  EXPECT_EQ(scrub().bad, 1U);
  EXPECT_EQ(read("a", 0, 100).error(), base::errno_of(EIO));
  EXPECT_TRUE(read("a", 500'000) == a.substr(500'000));
  // The same bytes again heal it.
  write("b", a);
  ASSERT_EQ(seal({"b"}), SealOutcome::sealed);
  EXPECT_TRUE(read("a") == a);
}

}  // namespace
}  // namespace braid::store::test
