// Files are sealed, read and unsealed, on the kernel's file systems.
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/unit/store/seal_fixture.h"

namespace braid::store::test {
namespace {

class SealTest : public SealFixture, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    const std::string why = begin(GetParam());
    if (!why.empty()) GTEST_SKIP() << why;
  }
};
INSTANTIATE_TEST_SUITE_P(, SealTest, testing::ValuesIn(vfs::file_system_kinds()),
                         [](const auto& kind) { return kind.param; });

TEST_P(SealTest, a_sealed_file_takes_no_space_and_has_its_bytes) {
  const std::string bytes = noise(3'000'000, 1);
  write("f", bytes);
  const struct stat before = status("f");
  EXPECT_EQ(seal({"f"}), SealOutcome::sealed);
  const struct stat after = status("f");
  EXPECT_EQ(after.st_size, before.st_size);
  EXPECT_EQ(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
  EXPECT_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
  EXPECT_LE(after.st_blocks * 512, 4096);
  EXPECT_EQ(slurp(path("f")), std::string(bytes.size(), '\0'));
  EXPECT_EQ(read("f"), bytes);
  open_store();
  for (const std::uint64_t offset : {0U, 1U, 65'535U, 2'999'999U})
    EXPECT_EQ(read("f", offset, 70'000), bytes.substr(offset, 70'000));
  EXPECT_EQ(unsealed("f"), true);
  EXPECT_EQ(slurp(path("f")), bytes);
  EXPECT_EQ(status("f").st_mtim.tv_nsec, before.st_mtim.tv_nsec);
  EXPECT_EQ(unsealed("f"), false) << "it is not sealed any more";
}

TEST_P(SealTest, equal_bytes_are_kept_once) {
  const std::string bytes = noise(2'000'000, 2);
  write("a", bytes);
  write("b", bytes);
  write("c", noise(1000, 3) + bytes);
  ASSERT_EQ(seal({"a"}), SealOutcome::sealed);
  const ChunkCounts first = store_->chunks().counts();
  open_store();
  ASSERT_EQ(seal({"b", "c"}), SealOutcome::sealed);
  EXPECT_LT(store_->chunks().counts().bytes_added, first.bytes_added / 4);
  EXPECT_EQ(read("b"), bytes);
  EXPECT_EQ(read("c"), noise(1000, 3) + bytes);
}

TEST_P(SealTest, holes_and_zeros_are_kept_nowhere) {
  write("f", noise(100'000, 4));
  const base::UniqueFd fd = opened("f");
  ASSERT_EQ(::ftruncate(fd.get(), 40'000'000), 0);
  ASSERT_EQ(::pwrite(fd.get(), "tail", 4, 30'000'000), 4);
  const std::string zeros(4'000'000, '\0');
  ASSERT_EQ(::pwrite(fd.get(), zeros.data(), zeros.size(), 10'000'000), 4'000'000);
  const std::string bytes = slurp(path("f"));
  ASSERT_EQ(seal({"f"}), SealOutcome::sealed);
  EXPECT_LT(store_->chunks().counts().bytes_added, 600'000U);
  EXPECT_EQ(read("f"), bytes);
  ASSERT_EQ(unsealed("f"), true);
  EXPECT_EQ(slurp(path("f")), bytes);
  EXPECT_LT(status("f").st_blocks * 512, 2'000'000);
}

TEST_P(SealTest, what_was_sealed_together_is_read_in_one_piece) {
  const std::string bytes = noise(1'000'000, 7);
  write("f", bytes);
  ASSERT_EQ(seal({"f"}, hashing::Profile::block), SealOutcome::sealed);
  ASSERT_EQ(read("f"), bytes);
  const base::UniqueFd fd = opened("f");
  const auto stub = store_->medium().file_of(fd.get());
  const auto sealed =
      SealedFile::open(store_->chunks(), store_->keys(), *stub->handle(), **stub->attribute(record_name));
  ASSERT_TRUE(sealed);
  vfs::Located where;
  ASSERT_TRUE((*sealed)->locate(100, 900'000, where));
  ASSERT_EQ(where.slices.size(), 1U);
  std::string got(where.slices[0].length, '\0');
  const auto size = static_cast<ssize_t>(got.size());
  ASSERT_EQ(::pread(where.slices[0].fd, got.data(), got.size(), static_cast<off_t>(where.slices[0].offset)),
            size);
  EXPECT_TRUE(got == bytes.substr(100, 899'900));
}

TEST_P(SealTest, where_there_is_nothing_to_gain_a_file_stays_as_it_is) {
  write("empty", "");
  write("zeros", std::string(100'000, '\0'));
  write("few zeros", std::string(4000, '\0'));
  for (const char* const name : {"empty", "zeros", "few zeros"})
    EXPECT_EQ(seal({name}), SealOutcome::small) << name;
  write("large", std::string(4096, 'x'));
  EXPECT_EQ(seal({"large"}), SealOutcome::sealed);
  EXPECT_EQ(seal({"large"}), SealOutcome::already);
}

TEST_P(SealTest, a_small_file_gives_its_block_back) {
  const std::string bytes = noise(4095, 30);
  write("small", bytes);
  ASSERT_EQ(::fsync(opened("small").get()), 0);
  ASSERT_GT(status("small").st_blocks, 0);
  ASSERT_EQ(seal({"small"}), SealOutcome::sealed);
  EXPECT_EQ(status("small").st_blocks, 0);
  EXPECT_EQ(status("small").st_size, 4095);
  EXPECT_EQ(read("small"), bytes);
  EXPECT_EQ(seal({"small"}), SealOutcome::already);
  ASSERT_EQ(unsealed("small"), true);
  EXPECT_EQ(slurp(path("small")), bytes);
}

TEST_P(SealTest, a_file_of_which_no_copy_would_have_a_hole_stays_as_it_is) {
  write("f", noise(511, 35));
  EXPECT_EQ(seal({"f"}), SealOutcome::small);
}

TEST_P(SealTest, a_file_that_lies_with_its_inode_stays_there) {
  write("f", noise(512, 36));
  ASSERT_EQ(::fsync(opened("f").get()), 0);
  EXPECT_EQ(seal({"f"}), GetParam() == "btrfs" ? SealOutcome::small : SealOutcome::sealed);
}

TEST_P(SealTest, what_was_written_to_a_small_sealed_file_is_sealed) {
  write("f", noise(3000, 31));
  ASSERT_EQ(seal({"f"}), SealOutcome::sealed);
  const std::string newer = noise(3000, 32);
  ASSERT_EQ(::pwrite(opened("f").get(), newer.data(), newer.size(), 0), 3000);
  ASSERT_EQ(seal({"f"}), SealOutcome::sealed);
  EXPECT_EQ(status("f").st_blocks, 0);
  EXPECT_EQ(read("f"), newer);
}

TEST_P(SealTest, a_little_at_the_end_of_a_sealed_file_waits_for_more) {
  write("f", noise(40'960, 33));
  ASSERT_EQ(seal({"f"}), SealOutcome::sealed);
  const std::string more = noise(5000, 34);
  ASSERT_EQ(::pwrite(opened("f").get(), more.data(), 4000, 40'960), 4000);
  EXPECT_EQ(seal({"f"}), SealOutcome::already);
  ASSERT_EQ(::pwrite(opened("f").get(), more.data(), 5000, 40'960), 5000);
  EXPECT_EQ(seal({"f"}), SealOutcome::sealed);
}

TEST_P(SealTest, a_file_that_has_changed_meanwhile_keeps_its_bytes) {
  const std::string bytes = noise(50'000, 5);
  write("f", bytes);
  write("g", bytes);
  Sealer sealer(*store_, 1, hashing::Profile::general);
  const base::UniqueFd fds[2] = {opened("f"), opened("g")};
  std::vector<SealDraft> drafts(2);
  for (std::size_t i = 0; i < 2; ++i) {
    drafts[i].file = store_->medium().file_of(fds[i].get());
    drafts[i].untouched = [i] { return i == 0; };
    ASSERT_TRUE(sealer.prepare(drafts[i]));
  }
  ASSERT_EQ(::ftruncate(fds[0].get(), 49'999), 0);
  ASSERT_TRUE(sealer.commit(drafts));
  EXPECT_EQ(drafts[0].outcome, SealOutcome::changed);
  EXPECT_EQ(drafts[1].outcome, SealOutcome::changed) << "somebody wants it";
  EXPECT_EQ(slurp(path("f")), bytes.substr(0, 49'999));
  EXPECT_EQ(slurp(path("g")), bytes);
}

TEST_P(SealTest, who_waits_for_a_file_gets_its_bytes) {
  const std::string bytes = noise(50'000, 11);
  write("f", bytes);
  write("g", bytes);
  Sealer sealer(*store_, 1, hashing::Profile::general);
  const base::UniqueFd fds[2] = {opened("f"), opened("g")};
  std::vector<SealDraft> drafts(2);
  int asked = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    drafts[i].file = store_->medium().file_of(fds[i].get());
    // Of the first one: somebody comes when it has its record.
    drafts[i].untouched = [i, &asked] { return i == 1 || asked++ == 0; };
    ASSERT_TRUE(sealer.prepare(drafts[i]));
  }
  ASSERT_TRUE(sealer.commit(drafts));
  EXPECT_EQ(drafts[0].outcome, SealOutcome::changed);
  EXPECT_EQ(drafts[1].outcome, SealOutcome::sealed);
  EXPECT_EQ(slurp(path("f")), bytes);
  EXPECT_EQ(slurp(path("g")), std::string(bytes.size(), '\0'));
}

// As a process leaves it that ends between the record and the first hole, or behind that.
TEST_P(SealTest, what_a_local_process_writes_after_a_crash_is_not_taken_out) {
  const std::string bytes = noise(200'000, 12);
  for (const bool punched : {false, true}) {
    write("f", bytes);
    ASSERT_EQ(seal({"f"}), SealOutcome::sealed);
    const base::UniqueFd fd = opened("f");
    const auto file = store_->medium().file_of(fd.get());
    const KernelHandle handle = *file->handle();
    Record record = *decode_record(**file->attribute(record_name), store_->keys(), handle);
    record.pending = true;
    ASSERT_TRUE(file->set_attribute(record_name, encode(record, store_->keys(), handle)));
    ASSERT_TRUE(file->write(0, base::bytes_of(bytes)));
    if (punched) {
      ASSERT_TRUE(file->punch(65'536, 65'536));
    }
    const std::string newer(65'536, 'n');
    ASSERT_TRUE(file->write(0, base::bytes_of(newer)));
    if (punched) {
      EXPECT_EQ(unsealed("f").error(), base::errno_of(EBUSY));
      EXPECT_EQ(slurp(path("f")).substr(0, 65'536), newer);
    } else {
      EXPECT_EQ(seal({"f"}), SealOutcome::changed);
      EXPECT_EQ(slurp(path("f")), newer + bytes.substr(65'536));
      EXPECT_EQ(seal({"f"}), SealOutcome::sealed);
      EXPECT_EQ(read("f"), newer + bytes.substr(65'536));
    }
    std::filesystem::remove(path("f"));
  }
}

TEST_P(SealTest, the_newest_write_wins) {
  const std::string bytes = noise(500'000, 6);
  write("f", bytes);
  ASSERT_EQ(seal({"f"}), SealOutcome::sealed);
  const base::UniqueFd fd = opened("f");
  const std::string block(4096, 'n');
  ASSERT_EQ(::pwrite(fd.get(), block.data(), block.size(), 8192), 4096);
  std::string wanted = bytes;
  wanted.replace(8192, 4096, block);
  EXPECT_EQ(read("f"), wanted);
  const std::uint64_t added = store_->chunks().counts().bytes_added;
  EXPECT_EQ(seal({"f"}), SealOutcome::sealed) << "what is new is sealed, too";
  EXPECT_LT(store_->chunks().counts().bytes_added - added, 20'000U) << "and nothing else";
  EXPECT_LE(status("f").st_blocks * 512, 4096);
  EXPECT_EQ(read("f"), wanted);
  ASSERT_EQ(::pwrite(fd.get(), block.data(), block.size(), 65'536), 4096);
  wanted.replace(65'536, 4096, block);
  EXPECT_EQ(unsealed("f"), true);
  EXPECT_EQ(slurp(path("f")), wanted);
}

TEST_P(SealTest, a_record_counts_for_its_own_file_alone) {
  write("f", noise(50'000, 7));
  write("g", std::string(50'000, '\0'));
  ASSERT_EQ(seal({"f"}), SealOutcome::sealed);
  std::array<char, 256> record{};
  const ssize_t size = ::getxattr(path("f").c_str(), record_name, record.data(), record.size());
  ASSERT_EQ(size, 60);
  ASSERT_EQ(::setxattr(path("g").c_str(), record_name, record.data(), 60, 0), 0);
  EXPECT_EQ(read("g").error(), base::errno_of(EBADMSG));
  EXPECT_EQ(unsealed("g").error(), base::errno_of(EBADMSG));
}

TEST_P(SealTest, holes_are_found) {
  write("f", noise(100'000, 8));
  const base::UniqueFd fd = opened("f");
  ASSERT_EQ(::ftruncate(fd.get(), 400'000'000), 0);
  ASSERT_EQ(::pwrite(fd.get(), noise(65'536, 9).data(), 65'536, 300'023'808), 65'536);
  ASSERT_EQ(seal({"f"}), SealOutcome::sealed);
  const auto stub = store_->medium().file_of(fd.get());
  const auto sealed =
      *SealedFile::open(store_->chunks(), store_->keys(), *stub->handle(), **stub->attribute(record_name));
  const std::uint64_t size = 400'000'000;
  EXPECT_EQ(sealed->seek(*stub, 0, true, size), 0U);
  EXPECT_GE(*sealed->seek(*stub, 0, false, size), 100'000U);
  EXPECT_LE(*sealed->seek(*stub, 0, false, size), 131'072U);
  EXPECT_EQ(sealed->seek(*stub, 200'000, true, size), 300'023'808U);
  EXPECT_EQ(sealed->seek(*stub, 310'000'000, true, size), size);
}

// What a child process does to a file until it ends; it is told in its environment.
constexpr const char *child_test = "SealChild.DISABLED_ends_before_a_change",
                     *child_task = "BRAID_CHILD_TASK", *child_store = "BRAID_CHILD_STORE",
                     *child_file = "BRAID_CHILD_FILE", *child_calls = "BRAID_CHILD_CALLS";
constexpr int stopped_status = 7, finished_status = 8;

// A process that ends at any of its system calls on the file leaves a file that reads as it should.
class StoppingFile final : public File {
 public:
  StoppingFile(std::unique_ptr<File> file, int calls) : file_(std::move(file)), left_(calls) {}
  base::Result<std::size_t> read(std::uint64_t o, base::MutableBytes to) override {
    return file_->read(o, to);
  }
  base::Result<void> write(std::uint64_t o, base::BytesView b) override { return step(&File::write, o, b); }
  base::Result<void> resize(std::uint64_t s) override { return step(&File::resize, s); }
  base::Result<void> punch(std::uint64_t o, std::uint64_t n) override { return step(&File::punch, o, n); }
  base::Result<std::optional<Extent>> next_data(std::uint64_t o) override { return file_->next_data(o); }
  base::Result<FileStatus> status() override { return file_->status(); }
  base::Result<void> set_times(const vfs::Time& a, const vfs::Time& m) override {
    return step(&File::set_times, a, m);
  }
  base::Result<void> sync() override { return step(&File::sync); }
  base::Result<void> sync_file_system() override { return step(&File::sync_file_system); }
  void forget_cached(std::uint64_t, std::uint64_t) override {}
  base::Result<std::optional<base::Bytes>> attribute(const char* n) override { return file_->attribute(n); }
  base::Result<void> set_attribute(const char* n, base::BytesView v) override {
    return step(&File::set_attribute, n, v);
  }
  base::Result<void> remove_attribute(const char* n) override { return step(&File::remove_attribute, n); }
  base::Result<void> set_hint(bool on) override { return step(&File::set_hint, on); }
  base::Result<KernelHandle> handle() override { return file_->handle(); }

 private:
  template <class... Parameters, class... Arguments>
  base::Result<void> step(base::Result<void> (File::*call)(Parameters...), Arguments... arguments) {
    if (left_-- <= 0) ::_exit(stopped_status);
    return ((*file_).*call)(arguments...);
  }
  std::unique_ptr<File> file_;
  int left_;
};

// Only child processes run it.
TEST(SealChild, DISABLED_ends_before_a_change) {
  const auto told = [](const char* name) {
    const char* const value = ::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const std::string task = told(child_task);
  if (task.empty()) GTEST_SKIP() << "it is for child processes of other tests";
  const auto store = std::move(*Store::open(told(child_store), {.what = OpenFor::writing}));
  const base::UniqueFd fd(::open(told(child_file).c_str(), O_RDWR | O_CLOEXEC));
  auto file = std::make_unique<StoppingFile>(store->medium().file_of(fd.get()), std::stoi(told(child_calls)));
  if (task == "seal") {
    Sealer sealer(*store, 1, hashing::Profile::general);
    SealDraft draft;
    draft.file = std::move(file);
    draft.untouched = [] { return true; };
    if (sealer.prepare(draft)) (void)sealer.commit(std::span(&draft, 1));
  } else {
    UnsealDraft draft;
    draft.file = std::move(file);
    unseal(*store, 1, std::span(&draft, 1));
  }
  ::_exit(finished_status);
}

// Runs the task in a process that ends before the n-th change of the file; false once it has come to its end.
// It is a program of its own: the child of a fork has none of this process's threads, among them RocksDB's.
bool stops(const std::string& task, const std::string& store, const std::string& file, int calls) {
  const std::string filter = std::string("--gtest_filter=") + child_test;
  const auto setting = [](const char* name, const std::string& value) {
    return std::string(name) + "=" + value;
  };
  std::vector<std::string> texts{setting(child_task, task), setting(child_store, store),
                                 setting(child_file, file), setting(child_calls, std::to_string(calls))};
  std::vector<char*> environment;
  for (std::string& text : texts) environment.push_back(text.data());
  for (char** inherited = environ; *inherited != nullptr; ++inherited) environment.push_back(*inherited);
  environment.push_back(nullptr);
  std::string program = "/proc/self/exe", also = "--gtest_also_run_disabled_tests", brief = "--gtest_brief=1",
              which = filter;
  std::array<char*, 5> arguments{program.data(), also.data(), brief.data(), which.data(), nullptr};
  pid_t child = 0;
  EXPECT_EQ(::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments.data(), environment.data()),
            0);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) &&
              (WEXITSTATUS(status) == stopped_status || WEXITSTATUS(status) == finished_status))
      << status;
  return WIFEXITED(status) && WEXITSTATUS(status) == stopped_status;
}

TEST_P(SealTest, whenever_the_process_ends_the_bytes_are_there) {
  const std::string bytes = noise(200'000, 10);
  bool stopped = true;
  for (int calls = 0; stopped; ++calls) {
    write("f", bytes);
    const struct stat before = status("f");
    store_.reset();
    stopped = stops("seal", store_path_, path("f"), calls);
    open_store();
    ASSERT_EQ(read("f"), bytes) << calls;
    seal({"f"});
    ASSERT_EQ(read("f"), bytes) << calls;
    EXPECT_LE(status("f").st_blocks * 512, 4096);
    EXPECT_EQ(status("f").st_mtim.tv_nsec, before.st_mtim.tv_nsec) << calls;
    store_.reset();
    const bool undone = stops("unseal", store_path_, path("f"), calls);
    stopped = stopped || undone;
    open_store();
    ASSERT_EQ(read("f"), bytes) << calls;
    ASSERT_TRUE(unsealed("f"));
    ASSERT_EQ(slurp(path("f")), bytes) << calls;
    std::filesystem::remove(path("f"));
  }
}

}  // namespace
}  // namespace braid::store::test
