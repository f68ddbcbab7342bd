// Sealed files that were copied with their holes and attributes.
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <optional>

#include "store/maintenance/adopter.h"
#include "store/maintenance/collector.h"
#include "store/maintenance/sealed_trees.h"
#include "tests/unit/store/seal_fixture.h"
#include "vfs/posix/directory_identity.h"

namespace braid::store::test {
namespace {

class AdoptTest : public SealFixture, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    const std::string why = begin(GetParam());
    if (!why.empty()) GTEST_SKIP() << why;
    ASSERT_EQ(store_->tree_of(vfs::posix::directory_identity(tree_, "")->file_system, tree_), 1U);
    write("f", bytes_);
    ASSERT_EQ(seal({"f"}), SealOutcome::sealed);
  }
  // As `cp -a` does.
  void copy(const std::string& from, const std::string& to) const {
    const base::UniqueFd source = opened(from);
    write(to, "");
    const base::UniqueFd target = opened(to);
    const off_t size = status(from).st_size;
    ASSERT_EQ(::ftruncate(target.get(), size), 0);
    for (off_t at = 0; (at = ::lseek(source.get(), at, SEEK_DATA)) >= 0;) {
      const off_t end = ::lseek(source.get(), at, SEEK_HOLE);
      std::string bytes(static_cast<std::size_t>(end - at), '\0');
      ASSERT_EQ(::pread(source.get(), bytes.data(), bytes.size(), at), end - at);
      ASSERT_EQ(::pwrite(target.get(), bytes.data(), bytes.size(), at), end - at);
      at = end;
    }
    base::Bytes record(record_bytes);
    ASSERT_EQ(::fgetxattr(source.get(), record_name, record.data(), record.size()),
              static_cast<ssize_t>(record_bytes));
    put_record(to, record);
  }
  void put_record(const std::string& name, const base::Bytes& record) const {
    ASSERT_EQ(::setxattr(path(name).c_str(), record_name, record.data(), record.size(), 0), 0);
  }
  base::Result<AdoptOutcome> adopt(const std::string& name, bool believes_zeros = false,
                                   std::uint32_t tree = 1) {
    Adopter adopter(*store_, tree, believes_zeros);
    EXPECT_TRUE(adopter.begin());
    const base::UniqueFd fd = opened(name);
    AdoptDraft draft;
    draft.file = store_->medium().file_of(fd.get());
    if (const auto prepared = adopter.prepare(draft); !prepared) return base::fail(prepared.error());
    if (const auto done = adopter.commit(std::span(&draft, 1)); !done) return base::fail(done.error());
    return draft.outcome;
  }
  // What the copy says is changed.
  void change_record(const std::string& name, const std::function<void(Record&)>& change) {
    const base::UniqueFd fd = opened(name);
    const auto file = store_->medium().file_of(fd.get());
    auto record = decode_copied_record(**file->attribute(record_name));
    ASSERT_TRUE(record);
    change(*record);
    put_record(name, encode(*record, store_->keys(), *opened_handle("f")));
  }
  [[nodiscard]] std::optional<KernelHandle> opened_handle(const std::string& name) const {
    const base::UniqueFd fd = opened(name);
    const auto handle = store_->medium().file_of(fd.get())->handle();
    return handle ? std::optional(*handle) : std::nullopt;
  }
  [[nodiscard]] bool is_hinted(const std::string& name) const {
    struct statx now{};
    EXPECT_EQ(::statx(AT_FDCWD, path(name).c_str(), 0, STATX_BASIC_STATS, &now), 0);
    return (now.stx_attributes & STATX_ATTR_NODUMP) != 0;
  }
  std::string collect() {
    PosixTrees trees(open_trees(*store_));
    const base::SystemClock clock;
    GcProgress progress;
    return Collector(*store_, trees, clock, {.keep_seconds = 0}).run(progress).alarm;
  }

  static constexpr ssize_t block = 4096;  // or a multiple of one
  const std::string bytes_ = noise(250 * block, 1);
};

INSTANTIATE_TEST_SUITE_P(, AdoptTest, testing::ValuesIn(vfs::file_system_kinds()),
                         [](const auto& kind) { return kind.param; });

TEST_P(AdoptTest, a_copy_is_what_the_file_was) {
  const base::UniqueFd fd = opened("f");
  const std::string newer(block, 'n');
  ASSERT_EQ(::pwrite(fd.get(), newer.data(), block, 10 * block), block);
  std::string wanted = bytes_;
  wanted.replace(10 * block, block, newer);
  copy("f", "copy");
  EXPECT_EQ(read("copy").error(), base::errno_of(EBADMSG));
  EXPECT_EQ(adopt("copy"), AdoptOutcome::adopted);
  EXPECT_TRUE(read("copy") == wanted);
  EXPECT_TRUE(is_hinted("copy"));
  EXPECT_EQ(adopt("copy"), AdoptOutcome::already);
  write("plain", bytes_);
  EXPECT_EQ(adopt("plain"), AdoptOutcome::plain);
  EXPECT_FALSE(is_hinted("plain"));
}

TEST_P(AdoptTest, what_only_the_copy_refers_to_is_no_garbage) {
  copy("f", "copy");
  ASSERT_EQ(adopt("copy"), AdoptOutcome::adopted);
  ASSERT_EQ(::unlink(path("f").c_str()), 0);
  // What comes last stays in any case.
  store_.reset();
  auto other =
      Store::open(store_path_, {.what = OpenFor::writing, .cache_bytes = 0, .container_bytes = 1 << 20});
  ASSERT_TRUE(other);
  store_ = std::move(*other);
  write("last", noise(3'000'000, 2));
  ASSERT_EQ(seal({"last"}), SealOutcome::sealed);
  EXPECT_EQ(collect(), "");
  EXPECT_TRUE(read("copy") == bytes_);
}

// The inode has the number that it had.
TEST_P(AdoptTest, a_file_of_a_copied_device_is_registered) {
  EXPECT_EQ(adopt("f", false, 7), AdoptOutcome::adopted);
  EXPECT_EQ(adopt("f", false, 7), AdoptOutcome::already);
  EXPECT_EQ(adopt("f"), AdoptOutcome::already);
  bool registered = false;
  ASSERT_TRUE(store_->registry()->walk([&](const RegistryEntry& entry) {
    registered = registered || (entry.tree == 7 && entry.file == *opened_handle("f"));
  }));
  EXPECT_TRUE(registered);
  EXPECT_TRUE(read("f") == bytes_);
}

TEST_P(AdoptTest, zeros_in_place_of_holes_are_no_bytes_of_the_file) {
  copy("f", "copy");
  const base::UniqueFd fd = opened("copy");
  const std::string zeros(block, '\0');
  ASSERT_EQ(::pwrite(fd.get(), zeros.data(), block, 100 * block), block);
  EXPECT_EQ(adopt("copy").error(), base::errno_of(EINVAL));
  EXPECT_EQ(read("copy").error(), base::errno_of(EBADMSG)) << "as it was";
  EXPECT_EQ(adopt("copy", true), AdoptOutcome::adopted);
  std::string wanted = bytes_;
  wanted.replace(100 * block, block, zeros);
  EXPECT_TRUE(read("copy") == wanted);
  // Behind what the recipe has they hide nothing.
  copy("f", "longer");
  const base::UniqueFd longer = opened("longer");
  ASSERT_EQ(::pwrite(longer.get(), zeros.data(), block, 1000 * block), block);
  EXPECT_EQ(adopt("longer"), AdoptOutcome::adopted);
}

TEST_P(AdoptTest, what_is_not_of_the_store_is_refused) {
  copy("f", "copy");
  change_record("copy", [](Record& record) { record.pending = true; });
  EXPECT_EQ(adopt("copy").error(), base::errno_of(EBUSY));
  change_record("copy", [](Record& record) {
    record.pending = false;
    record.root.bytes[3] ^= std::byte{1};
  });
  EXPECT_EQ(adopt("copy").error(), base::errno_of(EBADMSG));
  put_record("copy", base::Bytes(record_bytes, std::byte{0}));
  EXPECT_EQ(adopt("copy").error(), base::errno_of(EBADMSG));
  put_record("copy", base::Bytes(record_bytes, std::byte{200}));
  EXPECT_EQ(adopt("copy").error(), base::errno_of(ENOTSUP));
  put_record("copy", base::Bytes(7, std::byte{1}));
  EXPECT_EQ(adopt("copy").error(), base::errno_of(EBADMSG));
}

// The root is there, and says what it said; a chunk is not.
TEST_P(AdoptTest, a_file_whose_bytes_are_not_all_there_is_refused) {
  copy("f", "copy");
  const auto container = store_path_ / Containers::name_of(1);
  store_.reset();
  std::fstream file(container, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(70);
  file << std::string(40, 'x');
  file.close();
  std::filesystem::remove_all(store_path_ / "index");
  open_store();
  EXPECT_EQ(adopt("copy").error(), base::errno_of(EIO));
}

}  // namespace
}  // namespace braid::store::test
