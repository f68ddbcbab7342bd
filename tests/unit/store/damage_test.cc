// Whatever happens to the files of a store: bytes are those that were sealed, or there are none.
#include <algorithm>
#include <random>

#include "tests/unit/store/seal_fixture.h"

namespace braid::store::test {
namespace {

class DamageTest : public SealFixture {
 protected:
  void SetUp() override {
    const std::string why = begin("ext4");
    if (!why.empty()) GTEST_SKIP() << why;
    bytes_ = noise(300'000, 1);
    small_ = noise(6000, 2);
    write("f", bytes_);
    write("g", small_);
    ASSERT_EQ(seal({"f", "g"}), SealOutcome::sealed);
    store_.reset();
  }
  // Opens the store, if that can be, and reads.
  void look(const std::string& what) {
    auto opened = Store::open(store_path_, {.what = OpenFor::writing});
    if (!opened) {
      ++refused_;
      return;
    }
    store_ = std::move(*opened);
    const auto f = read("f"), g = read("g");
    EXPECT_TRUE(!f || *f == bytes_) << what;
    EXPECT_TRUE(!g || *g == small_) << what;
    if (!f || !g) ++unread_;
    store_.reset();
  }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(store_path_))
      if (entry.is_regular_file()) out.push_back(entry.path());
    std::ranges::sort(out);
    return out;
  }

  std::string bytes_, small_;
  int refused_ = 0, unread_ = 0;
};

TEST_F(DamageTest, a_byte_is_another_one) {
  std::mt19937_64 random(7);  // NOLINT(cert-msc51-cpp): the same each time
  for (const auto& file : files()) {
    const std::string whole = slurp(file);
    for (int i = 0; i < 30 && !whole.empty(); ++i) {
      std::string changed = whole;
      // The first bytes of each file, and some of all others.
      const std::size_t at = i < 12 ? std::min<std::size_t>(static_cast<std::size_t>(i) * 7, whole.size() - 1)
                                    : random() % whole.size();
      changed[at] = static_cast<char>(changed[at] ^ static_cast<char>(1U << random() % 8));
      std::ofstream(file, std::ios::binary | std::ios::trunc) << changed;
      look(file.string() + " at " + std::to_string(at));
      // What was done to it may have been cut off or made anew.
      std::ofstream(file, std::ios::binary | std::ios::trunc) << whole;
    }
  }
  EXPECT_GT(refused_, 0);
  EXPECT_GT(unread_, 0);
  look("whole again");
}

TEST_F(DamageTest, a_file_ends_early_or_is_gone) {
  const std::filesystem::path kept = store_path_.string() + ".kept";
  std::filesystem::copy(store_path_, kept, std::filesystem::copy_options::recursive);
  for (const auto& file : files()) {
    const auto size = std::filesystem::exists(file) ? std::filesystem::file_size(file) : 0;
    for (const double part : {0.0, 0.3, 0.9, -1.0}) {
      std::filesystem::remove_all(store_path_);
      std::filesystem::copy(kept, store_path_, std::filesystem::copy_options::recursive);
      if (part < 0)
        std::filesystem::remove(file);
      else
        std::filesystem::resize_file(file, static_cast<std::uintmax_t>(static_cast<double>(size) * part));
      look(file.string() + " " + std::to_string(part));
    }
  }
  std::filesystem::remove_all(store_path_);
  std::filesystem::copy(kept, store_path_, std::filesystem::copy_options::recursive);
  std::filesystem::remove_all(store_path_ / "index");
  const int before = unread_;
  look("no index");
  EXPECT_EQ(unread_, before) << "nothing that is read needs the index";
  std::filesystem::remove_all(kept);
}

TEST_F(DamageTest, a_container_that_is_lost_and_written_anew_lies) {
  // The same place has another chunk: what the index of earlier says of it is wrong.
  for (const auto& file : std::filesystem::directory_iterator(store_path_ / Containers::directory))
    std::filesystem::remove(file.path());
  open_store();
  write("h", noise(300'000, 3));
  ASSERT_EQ(seal({"h"}), SealOutcome::sealed);
  EXPECT_EQ(read("f").error(), base::errno_of(EIO));
  EXPECT_EQ(read("h"), noise(300'000, 3));
  write("again", bytes_);
  ASSERT_EQ(seal({"again"}), SealOutcome::sealed);
  EXPECT_EQ(read("again"), bytes_);
  open_store();
  EXPECT_EQ(read("again"), bytes_);
}

TEST_F(DamageTest, what_cannot_be_read_is_not_unsealed) {
  const std::filesystem::path container = store_path_ / Containers::name_of(1);
  std::string changed = slurp(container);
  changed[200'000] = static_cast<char>(changed[200'000] ^ 1);
  std::ofstream(container, std::ios::binary | std::ios::trunc) << changed;
  open_store();
  EXPECT_FALSE(read("f"));
  EXPECT_EQ(unsealed("f").error(), base::errno_of(EIO));
  EXPECT_LE(status("f").st_blocks * 512, 4096) << "what had been written is taken out";
  EXPECT_EQ(read("f", 0, 10'000), bytes_.substr(0, 10'000)) << "what is whole is read";
  EXPECT_EQ(unsealed("g"), true);
}

}  // namespace
}  // namespace braid::store::test
