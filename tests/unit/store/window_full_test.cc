// Streams into a store that has no room for them.
#include <signal.h>
#include <sys/resource.h>

#include <fstream>

#include "tests/unit/store/window_fixture.h"
#include "tests/unit/vfs/sandbox.h"

namespace braid::store::test {
namespace {

// The store's disk is a small one, and full.
class WindowFullTest : public WindowSourceTest {
 protected:
  static constexpr std::size_t size = 3'000'000;

  void SetUp() override {
    const auto disk = vfs::mount_tmpfs("size=24m");
    if (!disk) GTEST_SKIP() << disk.error();
    store_place_ = *disk + "/";
    WindowSourceTest::SetUp();
    if (IsSkipped()) return;
    std::ofstream full(store_place_ + "filler", std::ios::binary);
    const std::string page(4096, 'x');
    while (full.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) {
    }
  }
  void make_room() const { std::filesystem::remove(store_place_ + "filler"); }
  [[nodiscard]] std::string text() const { return noise_.substr(0, size); }
};
BRAID_ON_EVERY_FILE_SYSTEM(WindowFullTest);

TEST_P(WindowFullTest, what_it_has_no_room_for_goes_to_the_file) {
  make("f");
  const vfs::Verifier before = verifier();
  stream("f", text());
  ASSERT_TRUE(commit(find("f")));
  EXPECT_EQ(verifier(), before) << "nothing is lost";
  EXPECT_EQ(counts().spilled_bytes, size);
  EXPECT_EQ(counts().held_bytes, 0U);
  EXPECT_EQ(counts().lost_bytes, 0U);
  EXPECT_FALSE(has_record("f"));
  EXPECT_TRUE(local_read("f") == text());
  make_room();
  make("g");
  stream("g", text());
  ASSERT_TRUE(commit(find("g")));
  EXPECT_EQ(counts().sealed_bytes, size) << "there is room again";
  EXPECT_TRUE(has_record("g"));
  EXPECT_TRUE(all_of("g") == text());
}

// No file of this process may be longer, as on a file system that is full: the client sends it again, and
// meets the error then.
TEST_P(WindowFullTest, what_the_file_has_no_room_for_either_is_lost_and_the_verifier_tells) {
  make("f");
  const vfs::Verifier before = verifier();
  stream("f", text());
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit short_files{.rlim_cur = 1'000'000, .rlim_max = limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &short_files), 0);
  (void)commit(find("f"));
  EXPECT_NE(verifier(), before);
  EXPECT_GT(counts().lost_bytes, 0U);
  EXPECT_EQ(counts().held_bytes, 0U);
  EXPECT_EQ(write(find("f"), text().substr(2'000'000), 2'000'000).error(), vfs::Error::fbig);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const std::uint64_t taken = counts().taken_bytes;
  stream("f", text());
  EXPECT_EQ(counts().taken_bytes, taken) << "this file has no windows any more";
  ASSERT_TRUE(commit(find("f")));
  EXPECT_TRUE(all_of("f") == text());
  EXPECT_TRUE(local_read("f") == text());
}

}  // namespace
}  // namespace braid::store::test
