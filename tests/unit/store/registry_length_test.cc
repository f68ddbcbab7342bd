// The registry of a store does not grow for ever: what it has of files that are gone goes, and nothing else.
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "base/manual/manual_clock.h"
#include "store/maintenance/collector.h"
#include "tests/unit/store/seal_fixture.h"
#include "vfs/posix/directory_identity.h"

namespace braid::store::test {
namespace {

class RegistryLengthTest : public SealFixture {
 protected:
  static constexpr std::size_t size = 30'000;
  static constexpr std::uint64_t day = 24U * 60 * 60;

  void SetUp() override {
    const std::string why = begin("ext4");
    if (!why.empty()) GTEST_SKIP() << why;
    ASSERT_EQ(store_->tree_of(vfs::posix::directory_identity(tree_, "")->file_system, tree_), 1U);
  }
  void sealed(const std::string& name, std::uint64_t seed) {
    write(name, noise(size, seed));
    ASSERT_EQ(seal({name}), SealOutcome::sealed);
  }
  // Its entry is there, its record is not.
  SealDraft announced(Sealer& sealer, const base::UniqueFd& fd) {
    SealDraft out;
    out.file = store_->medium().file_of(fd.get());
    out.untouched = [] { return true; };
    EXPECT_TRUE(sealer.prepare(out));
    EXPECT_EQ(out.outcome, SealOutcome::sealed);
    EXPECT_TRUE(sealer.announce(std::span(&out, 1)));
    return out;
  }
  void remove(const std::string& name) const { EXPECT_EQ(::unlink(path(name).c_str()), 0); }
  // Returns how many entries it has dropped.
  std::uint64_t collect(std::uint64_t keep_seconds = 0, std::uint64_t slack = 0) {
    PosixTrees trees(open_trees(*store_));
    GcProgress progress;
    const GcReport report =
        Collector(*store_, trees, clock_, {.registry_slack = slack, .keep_seconds = keep_seconds})
            .run(progress);
    EXPECT_EQ(report.alarm, "");
    return report.entries_dropped;
  }
  std::size_t entries() {
    std::size_t out = 0;
    EXPECT_EQ(store_->registry()->walk([&](const RegistryEntry&) { ++out; }), 0U);
    return out;
  }
  void expect_whole(const std::string& name, std::uint64_t seed) {
    EXPECT_TRUE(read(name) == noise(size, seed)) << name;
  }

  base::ManualClock clock_;
};

TEST_F(RegistryLengthTest, of_a_file_that_is_sealed_again_and_again_one_entry_stays) {
  sealed("g", 1);
  for (std::uint64_t seed = 2; seed < 8; ++seed) sealed("f", seed);
  EXPECT_EQ(entries(), 7U);
  EXPECT_EQ(collect(0, 5), 0U) << "so many more than it needs are let be";
  EXPECT_EQ(collect(0, 4), 5U);
  EXPECT_EQ(entries(), 2U);
  EXPECT_EQ(collect(), 0U);
  open_store();
  EXPECT_EQ(entries(), 2U);
  EXPECT_EQ(collect(), 0U);
  expect_whole("f", 7);
  expect_whole("g", 1);
}

TEST_F(RegistryLengthTest, it_is_not_written_anew_for_less_than_half) {
  for (const auto& [name, seed] : {std::pair("a", 1U), std::pair("b", 2U), std::pair("c", 3U)})
    sealed(name, seed);
  sealed("a", 4);
  EXPECT_EQ(collect(), 0U);
  sealed("a", 5);
  sealed("a", 6);
  EXPECT_EQ(collect(), 3U);
  EXPECT_EQ(entries(), 3U);
}

TEST_F(RegistryLengthTest, what_was_unsealed_goes) {
  sealed("f", 1);
  EXPECT_EQ(unsealed("f"), true);
  EXPECT_EQ(entries(), 2U);
  open_store();
  collect();
  collect();
  EXPECT_EQ(entries(), 0U);
  sealed("f", 2);
  expect_whole("f", 2);
}

TEST_F(RegistryLengthTest, a_file_that_is_gone_is_kept_for_as_long_as_garbage) {
  sealed("f", 1);
  sealed("g", 2);
  remove("f");
  open_store();
  EXPECT_EQ(collect(day), 0U);
  clock_.advance(std::chrono::hours(23));
  EXPECT_EQ(collect(day), 0U);
  open_store();
  clock_.advance(std::chrono::hours(2));
  EXPECT_EQ(collect(day), 1U);
  EXPECT_EQ(entries(), 1U);
  EXPECT_TRUE(store_->gone_files().empty());
  expect_whole("g", 2);
}

// As when a snapshot is put back.
TEST_F(RegistryLengthTest, a_file_that_comes_back_is_kept_anew) {
  sealed("f", 1);
  sealed("g", 2);
  const base::UniqueFd fd = opened("f");
  const auto stub = store_->medium().file_of(fd.get());
  const base::Bytes record = **stub->attribute(record_name);
  ASSERT_TRUE(stub->remove_attribute(record_name));
  open_store();
  EXPECT_EQ(collect(day), 0U);
  EXPECT_EQ(store_->gone_files().size(), 1U);
  clock_.advance(std::chrono::hours(23));
  ASSERT_TRUE(stub->set_attribute(record_name, record));
  EXPECT_EQ(collect(day), 0U);
  EXPECT_TRUE(store_->gone_files().empty());
  ASSERT_TRUE(stub->remove_attribute(record_name));
  clock_.advance(std::chrono::hours(2));
  EXPECT_EQ(collect(day), 0U);
  clock_.advance(std::chrono::hours(25));
  ASSERT_TRUE(stub->set_attribute(record_name, record));
  EXPECT_EQ(collect(day), 0U);
  EXPECT_EQ(entries(), 2U);
  expect_whole("f", 1);
}

// Marks come in between.
TEST_F(RegistryLengthTest, a_file_that_is_being_sealed_keeps_its_entry) {
  sealed("g", 2);
  write("f", noise(size, 1));
  const base::UniqueFd fd = opened("f");
  {
    Sealer sealer(*store_, 1, hashing::Profile::general);
    SealDraft draft = announced(sealer, fd);
    for (int mark = 0; mark < 4; ++mark) EXPECT_EQ(collect(), 0U);
    ASSERT_TRUE(sealer.carry_out(std::span(&draft, 1)));
  }
  for (int mark = 0; mark < 4; ++mark) collect();
  EXPECT_EQ(entries(), 2U);
  open_store();
  expect_whole("f", 1);
}

// Whoever had announced it has given up.
TEST_F(RegistryLengthTest, a_file_that_was_not_sealed_after_all_loses_its_entry) {
  write("f", noise(size, 1));
  const base::UniqueFd fd = opened("f");
  {
    Sealer sealer(*store_, 1, hashing::Profile::general);
    SealDraft draft = announced(sealer, fd);
    collect();
  }
  for (int mark = 0; mark < 3; ++mark) collect();
  EXPECT_EQ(entries(), 0U);
}

TEST_F(RegistryLengthTest, files_of_a_forgotten_tree_go_at_once) {
  sealed("f", 1);
  sealed("g", 2);
  ASSERT_TRUE(store_->forget_tree(1));
  open_store();
  EXPECT_EQ(collect(day), 2U);
  EXPECT_EQ(entries(), 0U);
}

TEST_F(RegistryLengthTest, what_was_noted_and_is_damaged_is_noted_anew) {
  sealed("f", 1);
  remove("f");
  open_store();
  EXPECT_EQ(collect(day), 0U);
  ASSERT_EQ(store_->gone_files().size(), 1U);
  std::string bytes = slurp(store_path_ / GoneFile::name);
  bytes[50] = static_cast<char>(bytes[50] ^ 1);
  std::ofstream(store_path_ / GoneFile::name, std::ios::binary | std::ios::trunc) << bytes;
  clock_.advance(std::chrono::hours(25));
  EXPECT_EQ(collect(day), 0U);
  clock_.advance(std::chrono::hours(25));
  EXPECT_EQ(collect(day), 1U);
}

}  // namespace
}  // namespace braid::store::test
