// Damage is found before somebody reads, and what is known to be bad is known after a restart, too.
#include "base/manual/manual_clock.h"
#include "store/maintenance/scrubber.h"
#include "tests/unit/store/seal_fixture.h"

namespace braid::store::test {
namespace {

class ScrubTest : public SealFixture {
 protected:
  static constexpr std::size_t size = 300'000;

  void SetUp() override {
    const std::string why = begin("ext4");
    if (!why.empty()) GTEST_SKIP() << why;
    reopen();
    for (const auto& [name, seed] : {std::pair("f", 1U), std::pair("g", 2U), std::pair("h", 3U)}) {
      write(name, noise(size, seed));
      ASSERT_EQ(seal({name}), SealOutcome::sealed);
    }
    clock_.advance(std::chrono::hours(1));
  }
  void reopen() {
    store_.reset();
    auto opened = Store::open(store_path_, {.what = OpenFor::writing, .container_bytes = 64 << 10});
    ASSERT_TRUE(opened) << opened.error();
    store_ = std::move(*opened);
  }
  ScrubReport scrub(bool anew = true, ScrubOptions options = {}) {
    Scrubber scrubber(*store_, clock_, std::move(options));
    scrubber.begin(anew);
    while (scrubber.step()) {
    }
    return scrubber.report();
  }
  void flip(std::uint32_t container, std::size_t at) const {
    const std::filesystem::path file = store_path_ / Containers::name_of(container);
    std::string bytes = slurp(file);
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  }

  base::ManualClock clock_;
};

TEST_F(ScrubTest, a_store_without_damage_is_well) {
  const ScrubReport report = scrub();
  EXPECT_EQ(report.alarm, "");
  EXPECT_EQ(report.bad, 0U);
  EXPECT_GE(report.bytes, 3 * size);
  EXPECT_EQ(report.containers, store_->containers().numbers()->size());
  EXPECT_GT(store_->scrub_state().ended, 0U);
  EXPECT_EQ(store_->scrub_state().next, 0U);
}

TEST_F(ScrubTest, what_is_bad_is_known_until_it_is_well_again_or_gone) {
  flip(1, 1000);
  const ScrubReport found = scrub();
  EXPECT_EQ(found.bad, 1U);
  reopen();
  EXPECT_EQ(store_->scrub_state().bad.size(), 1U);
  EXPECT_EQ(store_->scrub_state().bad.begin()->container, 1U);
  flip(1, 1000);
  EXPECT_EQ(scrub().bad, 0U);
  flip(1, 1000);
  EXPECT_EQ(scrub().bad, 1U);
  ASSERT_TRUE(store_->containers().remove(1));
  EXPECT_EQ(scrub().bad, 0U);
}

TEST_F(ScrubTest, what_was_verified_is_so_until_damage_is_found_or_the_store_is_opened_anew) {
  ASSERT_EQ(read("f"), noise(size, 1));
  flip(1, 1000);
  EXPECT_TRUE(read("f")) << "nothing is verified twice";
  reopen();
  EXPECT_EQ(read("f").error(), base::errno_of(EIO));
  flip(1, 1000);
  EXPECT_EQ(read("f"), noise(size, 1));
  flip(1, 1000);
  EXPECT_EQ(scrub().bad, 1U);
  EXPECT_EQ(read("f").error(), base::errno_of(EIO));
}

TEST_F(ScrubTest, a_scrub_that_is_stopped_forgets_no_bad_place) {
  flip(1, 1000);
  ASSERT_EQ(scrub().bad, 1U);
  EXPECT_TRUE(scrub(true, {.stop = [] { return true; }, .pace = {}}).stopped);
  reopen();
  EXPECT_EQ(store_->scrub_state().bad.size(), 1U);
}

// The kernel has the right bytes of it by chance: the medium has not.
TEST_F(ScrubTest, a_bad_place_is_no_hit_after_a_restart_either) {
  flip(1, 1000);
  ASSERT_EQ(scrub().bad, 1U);
  const Location bad = *store_->scrub_state().bad.begin();
  flip(1, 1000);
  reopen();
  write("copy", noise(size, 1));
  ASSERT_EQ(seal({"copy"}), SealOutcome::sealed);
  EXPECT_GT(store_->chunks().counts().chunks_added, 1U) << "the chunk of " << bad.offset << " and the root";
}

TEST_F(ScrubTest, a_pass_that_was_stopped_goes_on) {
  int chunks = 0;
  const auto stop = [&] { return ++chunks > 5; };
  const ScrubReport first = scrub(true, {.stop = stop});
  EXPECT_TRUE(first.stopped);
  EXPECT_GT(first.containers, 0U);
  EXPECT_EQ(store_->scrub_state().ended, 0U);
  reopen();
  const ScrubReport rest = scrub(false);
  EXPECT_EQ(first.containers + rest.containers, store_->containers().numbers()->size());
  EXPECT_GT(store_->scrub_state().ended, 0U);
  EXPECT_EQ(scrub(false).containers, store_->containers().numbers()->size()) << "the next one";
}

TEST_F(ScrubTest, it_waits_as_long_as_its_bytes_are_to_take) {
  std::uint64_t bytes = 0;
  const ScrubReport report = scrub(true, {.pace = [&](std::uint64_t more) { bytes += more; }});
  EXPECT_EQ(bytes, report.bytes);
}

}  // namespace
}  // namespace braid::store::test
