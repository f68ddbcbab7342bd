// A store that looks for equal chunks in what a file was before, and nowhere else.
#include <string>

#include "tests/unit/store/window_fixture.h"

namespace braid::store::test {
namespace {

class PreviousTest : public WindowSourceTest {
 protected:
  PreviousTest() {
    store_options_.similarity = Similarity::previous;
    store_options_.container_bytes = 1 << 20;
  }
  // By a client, from the beginning, to a file that was cut to nothing first.
  void write_anew(const std::string& name, const std::string& text) {
    ASSERT_TRUE(resize(name, 0));
    for (std::size_t at = 0; at < text.size(); at += small_piece)
      ASSERT_TRUE(write(find(name), text.substr(at, small_piece), at));
  }
  // When the server itself has it open no more.
  void seal_served(const std::string& name) {
    start_anew();
    LiveSealer sealer(*store_, *source_, [] { return false; });
    const auto sealed = vfs::run(sealer.seal(*fs_, 1, find(name), false));
    ASSERT_TRUE(sealed);
    ASSERT_EQ(*sealed, SealOutcome::sealed);
  }
  std::uint64_t bytes_added() { return store_->chunks().counts().bytes_added; }
  void open_store_as(Similarity similarity) {
    root_ = {};
    fs_.reset();
    options_.sources.clear();
    if (source_ != nullptr && source_->windows() != nullptr) source_->windows()->forget_all();
    source_.reset();
    store_.reset();
    store_options_ = {.what = OpenFor::writing, .similarity = similarity};
    store_ = std::move(*Store::open(store_path_, store_options_));
    source_ = std::make_unique<StoreSource>(*store_);
    options_.sources = {source_.get()};
    fs_ = opened();
    root_ = fs_->root();
  }

  static constexpr std::size_t small_piece = 32 * base::KiB;  // no window begins with it
  // A chunk at each of two changes, and what names them.
  static constexpr std::uint64_t few_bytes = 1 * base::MiB;
};
BRAID_ON_EVERY_FILE_SYSTEM(PreviousTest);

TEST_P(PreviousTest, a_file_that_is_written_anew_has_the_chunks_that_it_had) {
  local_write("f", noise_);
  seal("f");
  const std::uint64_t before = bytes_added();
  const std::string next =
      "something in front of it" + noise_.substr(0, 3'000'000) + noise_.substr(3'000'100);
  write_anew("f", next);
  seal_served("f");
  EXPECT_LT(bytes_added() - before, few_bytes);
  EXPECT_TRUE(all_of("f") == next);
  write_anew("f", noise_);
  const std::uint64_t again = bytes_added();
  seal_served("f");
  EXPECT_LT(bytes_added() - again, few_bytes);
  EXPECT_TRUE(all_of("f") == noise_);
}

TEST_P(PreviousTest, a_file_that_is_overwritten_has_the_chunks_that_it_had) {
  local_write("f", noise_);
  seal("f");
  const std::uint64_t before = bytes_added();
  for (std::size_t at = 1 * base::MiB; at < 5 * base::MiB; at += small_piece)
    ASSERT_TRUE(write(find("f"), noise_.substr(at, small_piece), at));
  seal_served("f");
  EXPECT_LT(bytes_added() - before, few_bytes);
  EXPECT_TRUE(all_of("f") == noise_);
}

TEST_P(PreviousTest, other_files_are_not_looked_at) {
  local_write("f", noise_);
  seal("f");
  const std::uint64_t before = bytes_added();
  local_write("g", noise_);
  seal("g");
  EXPECT_GT(bytes_added() - before, noise_.size());
  EXPECT_TRUE(all_of("g") == noise_);
  EXPECT_TRUE(all_of("f") == noise_);
}

TEST_P(PreviousTest, a_stream_that_is_committed_now_and_then_finds_what_the_file_was) {
  make("f");
  stream("f", noise_);
  ASSERT_TRUE(commit(find("f")));
  const std::uint64_t before = bytes_added();
  ASSERT_TRUE(resize("f", 0));
  for (std::size_t at = 0; at < noise_.size(); at += 2 * base::MiB) {
    stream("f", noise_.substr(at, 2 * base::MiB), at);
    ASSERT_TRUE(commit(find("f")));
  }
  EXPECT_EQ(counts().spilled_bytes, 0U);
  // A cut at each COMMIT.
  EXPECT_LT(bytes_added() - before, 2 * few_bytes);
  EXPECT_TRUE(all_of("f") == noise_);
  start_anew();
  EXPECT_TRUE(all_of("f") == noise_);
}

TEST_P(PreviousTest, what_is_gone_is_not_found_and_is_no_damage) {
  local_write("f", noise_);
  seal("f");
  write_anew("f", "short");
  const GcReport report = collect();
  EXPECT_EQ(report.alarm, "");
  EXPECT_GT(report.removed_bytes, noise_.size() / 2);
  const std::uint64_t before = bytes_added();
  write_anew("f", noise_);
  seal_served("f");
  EXPECT_GT(bytes_added() - before, noise_.size() / 2);
  EXPECT_EQ(store_->chunks().counts().mismatches, 0U);
  EXPECT_TRUE(all_of("f") == noise_);
}

TEST_P(PreviousTest, a_store_that_looks_everywhere_again_knows_all_chunks) {
  local_write("f", noise_);
  seal("f");
  open_store_as(Similarity::global);
  const std::uint64_t before = bytes_added();
  local_write("g", noise_);
  seal("g");
  EXPECT_LT(bytes_added() - before, few_bytes);
  open_store_as(Similarity::previous);
  local_write("h", noise_);
  seal("h");
  EXPECT_GT(bytes_added(), noise_.size());
  for (const std::string name : {"f", "g", "h"}) EXPECT_TRUE(all_of(name) == noise_) << name;
}

}  // namespace
}  // namespace braid::store::test
