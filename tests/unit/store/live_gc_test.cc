// Garbage collection of a store whose files are in use.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "tests/unit/store/source_fixture.h"

namespace braid::store::test {
namespace {

// In containers of a few chunks, and nothing is read but from these.
class GarbageTest : public SourceTest {
 protected:
  GarbageTest() {
    store_options_.container_bytes = 128 << 10;
    store_options_.cache_bytes = 0;
  }
  // All operations, against a string; in between the file is sealed again, unsealed, the server starts anew,
  // or garbage is collected.
  void check_that_it_is_like_a_plain_file();
};
void GarbageTest::check_that_it_is_like_a_plain_file() {
  for (const std::uint32_t seed : {1U, 2U, 3U}) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint64_t end) { return random() % end; };
    std::string wanted = bytes_.substr(0, 300'000);
    local_write("f", wanted);
    seal("f");
    for (int step = 0; step < 150; ++step) {
      SCOPED_TRACE(fmt::format("seed {} step {}", seed, step));
      const std::uint64_t at = below(wanted.size() + 20'000);
      const std::uint64_t length = 1 + below(below(4) == 0 ? 200'000 : 6000);
      switch (below(9)) {
        case 0:
          ASSERT_TRUE(resize("f", at));
          wanted.resize(at);
          break;
        case 1:
        case 2: {
          ASSERT_TRUE(vfs::run(file("f")->deallocate({}, at, length)));
          const std::uint64_t end = std::min<std::uint64_t>(at + length, wanted.size());
          if (at < end) wanted.replace(at, end - at, end - at, '\0');
          break;
        }
        case 3:
          ASSERT_TRUE(vfs::run(file("f")->allocate({}, at, length)));
          wanted.resize(std::max<std::size_t>(wanted.size(), at + length));
          break;
        case 4:
          again(below(6));
          break;
        default: {
          const std::string text = bytes_.substr(below(100'000), length);
          const auto stability = below(3) == 0 ? vfs::Stability::file_sync : vfs::Stability::unstable;
          const auto written = write(find("f"), text, at, {}, stability);
          ASSERT_TRUE(written);
          ASSERT_EQ(written->count, text.size());
          wanted.resize(std::max<std::size_t>(wanted.size(), at + length));
          wanted.replace(at, length, text);
        }
      }
      ASSERT_EQ(attributes(find("f")).size, wanted.size());
      ASSERT_TRUE(all_of("f") == wanted);
      expect_holes_are_zeros("f", wanted);
    }
    ASSERT_TRUE(remove("f"));
  }
  EXPECT_LT(store_->containers().numbers()->size(), store_->containers().last_number() / 2)
      << "they were removed";
}
BRAID_ON_EVERY_FILE_SYSTEM(GarbageTest);

class CompressedGarbageTest : public GarbageTest {
 protected:
  CompressedGarbageTest() {
    store_options_.compression.how = Compression::zstd;
    store_options_.container_bytes = 8 << 10;
  }
};
BRAID_ON_EVERY_FILE_SYSTEM(CompressedGarbageTest);

// Where no file has a name.
class NoNames final : public SealedTrees {
 public:
  base::Result<std::optional<base::Bytes>> record_of(std::uint32_t /*tree*/,
                                                     const KernelHandle& /*file*/) override {
    return std::nullopt;
  }
  std::string sync() override { return {}; }
  std::string name_of(std::uint32_t /*tree*/, const KernelHandle& /*file*/) override { return "a file"; }
};

TEST_P(GarbageTest, what_is_open_and_has_no_name_is_read_until_it_is_closed) {
  local_write("f", bytes_);
  seal("f");
  local_write("last", std::string(bytes_.rbegin(), bytes_.rend()));
  seal("last");
  vfs::OpenFileRef open = file("f");
  const auto read_open = [&](std::uint64_t at) {
    const auto got = vfs::run(open->read(at, 100'000, *cursor_));
    EXPECT_TRUE(got);
    std::string out;
    if (got)
      for (const io::SlabRange& range : got->data.ranges()) out += base::text_of(*range.memory());
    return out;
  };
  EXPECT_TRUE(read_open(0) == bytes_.substr(0, 100'000));
  ASSERT_TRUE(remove("f"));
  NoNames none;
  EXPECT_EQ(collect(none).alarm, "");
  for (std::uint64_t at = 0; at < 800'000; at += 100'000)
    EXPECT_TRUE(read_open(at) == bytes_.substr(at, 100'000)) << at;
  ASSERT_TRUE(vfs::run(fs_->close(open)));
  open = {};
  fs_ = opened();
  root_ = fs_->root();
  EXPECT_GT(collect(none).removed_bytes, bytes_.size() / 2);
}

// Before it is read for the first time only the kernel knows it.
TEST_P(GarbageTest, the_kernel_finds_a_file_that_is_open_and_has_no_name) {
  local_write("f", bytes_);
  seal("f");
  const base::UniqueFd fd(::open(local("f").c_str(), O_RDONLY | O_CLOEXEC));
  const auto handle = store_->medium().file_of(fd.get())->handle();
  ASSERT_TRUE(handle);
  ASSERT_EQ(::unlink(local("f").c_str()), 0);
  PosixTrees trees(open_trees(*store_));
  const auto record = trees.record_of(1, *handle);
  ASSERT_TRUE(record);
  EXPECT_TRUE(record->has_value());
}

TEST_P(GarbageTest, it_is_like_a_plain_file) { check_that_it_is_like_a_plain_file(); }

TEST_P(CompressedGarbageTest, it_is_like_a_plain_file) { check_that_it_is_like_a_plain_file(); }

}  // namespace
}  // namespace braid::store::test
