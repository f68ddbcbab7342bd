// CLONE and COPY between files of a store, which share chunks then.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <functional>
#include <random>
#include <utility>

#include "tests/unit/store/source_fixture.h"
#include "tests/unit/store/syncs.h"

namespace braid::store::test {
namespace {

using vfs::Error;

class CloneTest : public SourceTest {
 protected:
  CloneTest() {
    before_opened_ = [this] { source_->use_trees([this](const vfs::FileHandle&) { return tree_; }); };
  }
  void SetUp() override {
    SourceTest::SetUp();
    if (IsSkipped()) return;
    local_write("f", bytes_);
    seal("f");
    local_write("g", "");
  }
  vfs::posix::Outcome<> clone(const std::string& from, std::uint64_t from_offset, const std::string& to,
                              std::uint64_t to_offset, std::uint64_t length) {
    const vfs::OpenFileRef source = file(from), target = file(to);
    return vfs::run(target->clone_from({}, *source, from_offset, to_offset, length));
  }
  // As a client goes on until all is copied; the count of the first call.
  std::uint64_t copy(const std::string& from, std::uint64_t from_offset, const std::string& to,
                     std::uint64_t to_offset, std::uint64_t length) {
    const vfs::OpenFileRef source = file(from, vfs::OpenAccess::read), target = file(to);
    std::uint64_t first = 0;
    for (std::uint64_t done = 0; done < length;) {
      const auto copied =
          vfs::run(target->copy_from({}, *source, from_offset + done, to_offset + done, length - done));
      EXPECT_TRUE(copied);
      if (!copied || *copied == 0) break;
      if (done == 0) first = *copied;
      done += *copied;
    }
    return first;
  }
  [[nodiscard]] bool has_steps(const std::string& name) const {
    const base::UniqueFd fd(::open(local(name).c_str(), O_RDONLY | O_CLOEXEC));
    const auto stub = store_->medium().file_of(fd.get());
    return decode_record(**stub->attribute(record_name), store_->keys(), *stub->handle())->pending;
  }
  [[nodiscard]] bool make_immutable(const std::string& name, bool immutable) const {
    const base::UniqueFd fd(::open(local(name).c_str(), O_RDONLY | O_CLOEXEC));
    int flags = 0;
    if (::ioctl(fd.get(), FS_IOC_GETFLAGS, &flags) != 0) return false;
    flags = immutable ? flags | FS_IMMUTABLE_FL : flags & ~FS_IMMUTABLE_FL;
    return ::ioctl(fd.get(), FS_IOC_SETFLAGS, &flags) == 0;
  }
  // Bytes of the blocks that the file has of its own.
  std::uint64_t own_bytes(const std::string& name) const {
    struct stat now{};
    EXPECT_EQ(::stat(local(name).c_str(), &now), 0);
    return static_cast<std::uint64_t>(now.st_blocks) * 512;
  }
  std::uint64_t container_bytes() const {
    std::uint64_t out = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(store_path_))
      if (entry.is_regular_file() && entry.path().string().find("container") != std::string::npos)
        out += entry.file_size();
    return out;
  }

  std::optional<std::uint32_t> tree_ = 1;
};

BRAID_ON_EVERY_FILE_SYSTEM(CloneTest);

TEST_P(CloneTest, a_clone_shares_the_chunks) {
  const std::uint64_t before = container_bytes();
  ASSERT_TRUE(clone("f", 0, "g", 0, 0));
  EXPECT_TRUE(all_of("g") == bytes_);
  EXPECT_EQ(attributes(find("g")).size, bytes_.size());
  EXPECT_GE(attributes(find("g")).space, bytes_.size());
  EXPECT_LT(own_bytes("g"), 64 * base::KiB);
  EXPECT_TRUE(local_read("g") == std::string(bytes_.size(), '\0'));
  EXPECT_LT(container_bytes() - before, 16 * base::KiB) << "nodes";
  again(0);
  EXPECT_TRUE(all_of("g") == bytes_);
}

TEST_P(CloneTest, each_of_the_two_goes_on_by_itself) {
  ASSERT_TRUE(clone("f", 0, "g", 0, 0));
  ASSERT_TRUE(write(find("g"), "other", 100'000));
  std::string wanted = bytes_;
  wanted.replace(100'000, 5, "other");
  EXPECT_TRUE(all_of("g") == wanted);
  EXPECT_TRUE(all_of("f") == bytes_);
  ASSERT_TRUE(remove("f"));
  EXPECT_EQ(collect().alarm, "");
  EXPECT_EQ(collect().alarm, "");
  again(0);
  EXPECT_TRUE(all_of("g") == wanted);
}

TEST_P(CloneTest, a_part_may_be_anywhere) {
  ASSERT_TRUE(clone("f", 12'345, "g", 777, 500'000));
  std::string wanted = std::string(777, '\0') + bytes_.substr(12'345, 500'000);
  EXPECT_TRUE(all_of("g") == wanted);
  ASSERT_TRUE(clone("f", 0, "g", 300'000, 100'001));
  wanted.replace(300'000, 100'001, bytes_, 0, 100'001);
  EXPECT_TRUE(all_of("g") == wanted);
  EXPECT_LT(own_bytes("g"), 64 * base::KiB);
  again(0);
  EXPECT_TRUE(all_of("g") == wanted);
}

// What a crash between the record and the holes leaves is done first.
TEST_P(CloneTest, steps_that_a_crash_has_left_are_done_first) {
  leave_steps("f");
  again(0);
  ASSERT_TRUE(clone("f", 0, "g", 0, 0));
  EXPECT_TRUE(all_of("g") == bytes_);
  EXPECT_TRUE(all_of("f") == bytes_);
  EXPECT_LT(own_bytes("f"), bytes_.size() / 2) << "the holes were made";
  EXPECT_FALSE(has_steps("f"));
}

TEST_P(CloneTest, copy_goes_through_memory_where_such_steps_cannot_be_done) {
  leave_steps("f");
  again(0);
  if (!make_immutable("f", true)) GTEST_SKIP() << "no immutable files here";
  const std::uint64_t first = copy("f", 0, "g", 0, bytes_.size());
  ASSERT_TRUE(make_immutable("f", false));
  EXPECT_GT(first, 0U);
  EXPECT_TRUE(all_of("g") == bytes_);
  EXPECT_TRUE(has_steps("f"));
}

TEST_P(CloneTest, a_file_may_share_with_itself) {
  ASSERT_TRUE(clone("f", 0, "f", 600'000, 200'000));
  std::string wanted = bytes_;
  wanted.replace(600'000, 200'000, bytes_, 0, 200'000);
  EXPECT_TRUE(all_of("f") == wanted);
}

TEST_P(CloneTest, what_is_not_in_chunks_is_copied) {
  ASSERT_TRUE(write(find("f"), "newer", 400'000));
  std::string wanted = bytes_;
  wanted.replace(400'000, 5, "newer");
  EXPECT_EQ(clone("f", 0, "g", 0, 0).error(), Error::notsupp) << "never a mixture";
  EXPECT_TRUE(all_of("g") == "");
  EXPECT_LE(copy("f", 0, "g", 0, bytes_.size()), 400'000U);
  EXPECT_TRUE(all_of("g") == wanted);
  // The block that a file ends in becomes its own when it grows, and so do bytes that were written.
  EXPECT_EQ(clone("f", 0, "g", bytes_.size() - 10, 1000).error(), Error::notsupp);
  EXPECT_TRUE(all_of("g") == wanted);
  local_write("h", std::string(300'000, 'h'));
  EXPECT_EQ(clone("f", 0, "h", 100'000, 100'000).error(), Error::notsupp);
  EXPECT_TRUE(all_of("h") == std::string(300'000, 'h'));
  (void)copy("f", 0, "h", 100'000, 100'000);
  EXPECT_TRUE(all_of("h") ==
              std::string(100'000, 'h') + bytes_.substr(0, 100'000) + std::string(100'000, 'h'));
}

TEST_P(CloneTest, what_is_behind_the_end_is_none_of_it) {
  EXPECT_EQ(clone("f", 1000, "g", 0, bytes_.size()).error(), Error::inval);
  ASSERT_TRUE(clone("f", bytes_.size() - 100, "g", 0, 0));
  EXPECT_TRUE(all_of("g") == bytes_.substr(bytes_.size() - 100));
  local_write("h", "");
  // What the recipe of a file that was cut has behind its end stays hidden.
  ASSERT_TRUE(resize("f", 499'712));
  ASSERT_TRUE(clone("f", 0, "h", 0, 0));
  ASSERT_TRUE(resize("h", bytes_.size()));
  EXPECT_TRUE(all_of("h") == bytes_.substr(0, 499'712) + std::string(bytes_.size() - 499'712, '\0'));
}

TEST_P(CloneTest, a_hole_takes_the_place_of_what_was_there) {
  ASSERT_TRUE(resize("f", 2'000'000));
  const std::string text = text_of_numbers(100'000);
  for (const std::uint64_t length : {text.size(), std::size_t{100'001}}) {
    local_write("h", text);
    seal("h");
    ASSERT_TRUE(clone("f", 1'300'000, "h", 0, length));
    std::string wanted = text;
    wanted.replace(0, length, length, '\0');
    EXPECT_TRUE(all_of("h") == wanted) << length;
    again(0);
    EXPECT_TRUE(all_of("h") == wanted) << length;
    ASSERT_TRUE(remove("h"));
  }
}

TEST_P(CloneTest, a_file_that_may_not_be_sealed_is_copied) {
  tree_ = std::nullopt;
  EXPECT_EQ(clone("f", 0, "g", 0, 0).error(), Error::notsupp);
  (void)copy("f", 0, "g", 0, bytes_.size());
  EXPECT_TRUE(all_of("g") == bytes_);
  EXPECT_GE(own_bytes("g"), bytes_.size());
}

TEST_P(CloneTest, a_commit_brings_what_was_copied_to_the_medium) {
  const ino_t inode = attributes(find("g")).fileid;
  (void)copy("f", 0, "g", 0, bytes_.size());
  EXPECT_EQ(own_bytes("g"), 0U);
  const int before = syncs_of(inode);
  ASSERT_TRUE(commit(find("g")));
  EXPECT_EQ(syncs_of(inode), before + (in_memory() ? 0 : 1));
  ASSERT_TRUE(commit(find("g")));
  EXPECT_EQ(syncs_of(inode), before + (in_memory() ? 0 : 1)) << "there is nothing more to sync";
}

TEST_P(CloneTest, rights_are_asked_for_before_anything_is_placed) {
  const vfs::OpenFileRef source = file("f");
  const vfs::OpenFileRef target =
      *vfs::run(fs_->open({}, find("g"), vfs::OpenAccess::read, vfs::OpenRule::caller));
  EXPECT_FALSE(vfs::run(target->clone_from({}, *source, 0, 0, 0)));
  EXPECT_TRUE(all_of("g") == "");
}

// Three files, each beside what a plain one would have.
TEST_P(CloneTest, it_is_like_a_plain_copy) {
  std::mt19937 random(7);
  std::array<std::string, 3> names{"f", "g", "h"}, wanted{bytes_, "", ""};
  local_write("h", "");
  const auto below = [&](std::uint64_t most) { return random() % (most + 1); };
  for (int step = 0; step < 150; ++step) {
    const std::size_t from = below(2), to = below(2);
    const std::uint64_t begin = below(wanted[from].size()), length = below(wanted[from].size() - begin);
    const std::uint64_t at = below(wanted[to].size() + 5000);
    const auto grown = [&](std::uint64_t end) {
      if (wanted[to].size() < end) wanted[to].resize(end);
    };
    switch (below(6)) {
      case 0:
      case 1:
        if (length == 0 || (from == to && begin < at + length && at < begin + length)) continue;
        (void)copy(names[from], begin, names[to], at, length);
        grown(at + length);
        wanted[to].replace(at, length, wanted[from], begin, length);
        break;
      case 2: {
        if (length == 0 || (from == to && begin < at + length && at < begin + length)) continue;
        if (!clone(names[from], begin, names[to], at, length)) break;
        grown(at + length);
        wanted[to].replace(at, length, wanted[from], begin, length);
        break;
      }
      case 3: {
        const std::string text(1 + below(30'000), static_cast<char>('a' + step % 26));
        ASSERT_TRUE(write(find(names[to]), text, at));
        grown(at + text.size());
        wanted[to].replace(at, text.size(), text);
        break;
      }
      case 4:
        ASSERT_TRUE(resize(names[to], at));
        wanted[to].resize(at);
        break;
      case 5:
        root_ = {};
        fs_.reset();
        (void)seal_what_there_is(names[to]);
        fs_ = opened();
        root_ = fs_->root();
        break;
      default:
        EXPECT_EQ(collect().alarm, "");
    }
    ASSERT_TRUE(all_of(names[to]) == wanted[to]) << step;
  }
  again(0);
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_TRUE(all_of(names[i]) == wanted[i]) << names[i];
}

// Beside garbage collection, in containers of a few chunks; nothing is read but from these.
class CloneBesideCollectionTest : public CloneTest {
 protected:
  CloneBesideCollectionTest() {
    store_options_.container_bytes = 1 << 20;
    store_options_.cache_bytes = 0;
    profile_ = hashing::Profile::block;  // where containers end is the same whatever the store's key is
  }
  static std::string noise(std::size_t size, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::string out(size, '\0');
    for (char& byte : out) byte = static_cast<char>(random());
    return out;
  }
  void seal_new(const std::string& name, const std::string& bytes) {
    local_write(name, bytes);
    seal(name);
  }
  // The container of "small" alone is one of which a small part is in use.
  void make_thin() {
    seal_new("before", noise(700'000, 4));
    seal_new("large", noise(700'000, 1));
    seal_new("small", small_);
    seal_new("behind", noise(2'000'000, 3));
    ASSERT_TRUE(remove("large"));
  }
  GcReport collect_with(SealedTrees& trees, const std::function<void()>& pace = {}) {
    const base::SystemClock clock;
    GcProgress progress;
    GcOptions options{.keep_seconds = 0};
    if (pace) options.pace = [&](std::uint64_t) { pace(); };
    return Collector(*store_, trees, clock, std::move(options)).run(progress);
  }

  const std::string small_ = noise(200'000, 2);
};
BRAID_ON_EVERY_FILE_SYSTEM(CloneBesideCollectionTest);

// Asks somebody else before it says what the record of a file is.
class WatchedTrees final : public SealedTrees {
 public:
  WatchedTrees(Store& store, std::function<void(const KernelHandle&)> asked)
      : trees_(open_trees(store)), asked_(std::move(asked)) {}
  base::Result<std::optional<base::Bytes>> record_of(std::uint32_t tree, const KernelHandle& file) override {
    asked_(file);
    return trees_.record_of(tree, file);
  }
  std::string sync() override { return trees_.sync(); }
  std::string name_of(std::uint32_t tree, const KernelHandle& file) override {
    return trees_.name_of(tree, file);
  }

 private:
  PosixTrees trees_;
  const std::function<void(const KernelHandle&)> asked_;
};

// Each mark finds the chunks in neither of two files, since they are always in the other one.
TEST_P(CloneBesideCollectionTest, what_went_from_file_to_file_is_no_garbage) {
  ASSERT_TRUE(clone("f", 0, "g", 0, 0));
  seal_new("behind", noise(2'000'000, 3));
  const auto handle_of = [&](const std::string& name) {
    const base::UniqueFd fd(::open(local(name).c_str(), O_RDONLY | O_CLOEXEC));
    return *store_->medium().file_of(fd.get())->handle();
  };
  const KernelHandle f = handle_of("f"), g = handle_of("g");
  std::string has = "both";
  int moved = 0;
  const auto move = [&](const std::string& from, const std::string& to) {
    if (std::exchange(has, to) == to) return;
    ASSERT_TRUE(clone(from, 0, to, 0, 0));
    ASSERT_TRUE(vfs::run(file(from)->deallocate({}, 0, bytes_.size())));
    ++moved;
  };
  move("g", "f");
  WatchedTrees trees(*store_, [&](const KernelHandle& asked) {
    if (asked == f) move("f", "g");
    if (asked == g) move("g", "f");
  });
  EXPECT_EQ(collect_with(trees).alarm, "");
  EXPECT_EQ(moved, 5) << "two marks";
  again(0);
  EXPECT_TRUE(all_of("f") == bytes_);
}

TEST_P(CloneBesideCollectionTest, what_was_moved_can_be_shared) {
  make_thin();
  EXPECT_GE(collect().rewritten, 1U);
  ASSERT_TRUE(clone("small", 0, "g", 0, 0));
  EXPECT_LT(own_bytes("g"), 64 * base::KiB);
  ASSERT_TRUE(remove("small"));
  EXPECT_EQ(collect().alarm, "");
  again(0);
  EXPECT_TRUE(all_of("g") == small_);
}

TEST_P(CloneBesideCollectionTest, what_moves_is_cloned_later_and_copied_now) {
  make_thin();
  int refused = 0;
  PosixTrees trees(open_trees(*store_));
  local_write("h", "");
  const GcReport report = collect_with(trees, [&] {
    const auto cloned = clone("small", 0, "g", 0, 0);
    if (cloned || refused++ > 0) return;
    EXPECT_EQ(cloned.error(), Error::delay);
    (void)copy("small", 0, "h", 0, small_.size());
  });
  EXPECT_GE(report.rewritten, 1U);
  EXPECT_GE(refused, 1);
  EXPECT_TRUE(all_of("h") == small_);
  EXPECT_TRUE(clone("small", 0, "g", 0, 0));
  EXPECT_TRUE(all_of("g") == small_);
}

}  // namespace
}  // namespace braid::store::test
