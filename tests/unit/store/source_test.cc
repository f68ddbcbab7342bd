// Sealed files in an export.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>

#include "io/blocking_pool.h"
#include "io/gate.h"
#include "io/reactor.h"
#include "store/sealer.h"
#include "store/store_source.h"
#include "tests/unit/vfs/posix_fixture.h"

namespace braid::store::test {
namespace {

using vfs::Error;

class SourceTest : public vfs::PosixTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    std::string pattern = testing::TempDir() + "store-XXXXXX";
    store_path_ = ::mkdtemp(pattern.data());
    store_ = std::move(*Store::open(store_path_, {.what = OpenFor::creating}));
    source_ = std::make_unique<StoreSource>(*store_);
    options_.sources = {source_.get()};
    PosixTest::SetUp();
  }
  void TearDown() override {
    PosixTest::TearDown();
    source_.reset();
    store_.reset();
    if (!store_path_.empty()) std::filesystem::remove_all(store_path_);
  }
  void seal(const std::string& name) {
    const base::UniqueFd fd(::open(local(name).c_str(), O_RDWR | O_CLOEXEC));
    Sealer sealer(*store_, 1, hashing::Profile::general);
    SealDraft draft;
    draft.file = store_->medium().file_of(fd.get());
    draft.untouched = [] { return true; };
    ASSERT_TRUE(sealer.prepare(draft));
    ASSERT_EQ(draft.outcome, SealOutcome::sealed);
    ASSERT_TRUE(sealer.commit(std::span(&draft, 1)));
  }
  static std::string text_of_numbers(int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += std::to_string(i) + " ";
    return out;
  }
  // The same export, as one that does not know the store serves it.
  std::shared_ptr<vfs::posix::PosixFileSystem> without_store() {
    options_.sources.clear();
    return opened();
  }

  std::filesystem::path store_path_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<StoreSource> source_;
  const std::string bytes_ = text_of_numbers(200'000);
};
BRAID_ON_EVERY_FILE_SYSTEM(SourceTest);

TEST_P(SourceTest, a_sealed_file_is_read_as_it_was) {
  local_write("f", bytes_);
  local_write("plain", "plain");
  seal("f");
  EXPECT_EQ(local_read("f"), std::string(bytes_.size(), '\0'));
  EXPECT_EQ(read(find("f")), bytes_.substr(0, 1U << 20U));
  EXPECT_EQ(read(find("f"), bytes_.size() - 10, 100), bytes_.substr(bytes_.size() - 10));
  EXPECT_EQ(read(find("f"), bytes_.size(), 100), "");
  EXPECT_EQ(read(find("f"), 100'001, 7), bytes_.substr(100'001, 7));
  EXPECT_EQ(read(find("plain")), "plain");
  EXPECT_EQ(attributes(find("f")).size, bytes_.size());
  EXPECT_GE(attributes(find("f")).space, bytes_.size());
  const auto open = vfs::run(fs_->open({}, find("f"), vfs::OpenAccess::read, vfs::OpenRule::caller));
  ASSERT_TRUE(open);
  EXPECT_EQ(vfs::run((*open)->seek(0, vfs::SeekTo::data))->offset, 0U);
  EXPECT_EQ(vfs::run((*open)->seek(5, vfs::SeekTo::hole))->offset, bytes_.size());
  EXPECT_EQ(vfs::run((*open)->seek(bytes_.size(), vfs::SeekTo::data)).error(), Error::nxio);
}

// Its source, and with it its share of the threads, may end after the pool.
TEST_P(SourceTest, a_store_has_its_own_share_of_the_threads) {
  local_write("f", bytes_);
  seal("f");
  const vfs::FileRef file = find("f");
  const vfs::Credentials nobody;
  const auto borrowed = fs_->borrow(nobody, file);
  std::optional<io::BlockingPool> pool(std::in_place, io::BlockingPoolOptions{});
  source_->use(*pool, "store of this test");
  EXPECT_TRUE(std::ranges::any_of(pool->stats().groups,
                                  [](const auto& group) { return group.name == "store of this test"; }));
  const base::SystemClock clock;
  const auto reactor = io::Reactor::create({}, clock).value();
  io::Gate gate;
  const auto read_twice = [&]() -> io::Op<> {
    EXPECT_TRUE(co_await borrowed->read(0, 10, *cursor_).as_result());
    EXPECT_EQ(pool->stats().jobs[static_cast<std::size_t>(io::BlockingReason::read)], 1U);
    pool.reset();
    const auto refused = co_await borrowed->read(0, 10, *cursor_).as_result();
    EXPECT_TRUE(!refused && refused.error() == Error::delay);
    reactor->stop();
  };
  reactor->post(std::function<void()>([&] { io::spawn(gate, read_twice()); }));
  reactor->run();
}

TEST_P(SourceTest, it_is_not_written_to) {
  local_write("f", bytes_);
  seal("f");
  EXPECT_EQ(write(find("f"), "x").error(), Error::rofs);
  vfs::SetAttributes cut;
  cut.size = 5;
  EXPECT_EQ(setattr(find("f"), cut).error(), Error::rofs);
  EXPECT_EQ(read(find("f"), 0, 10), bytes_.substr(0, 10));
  EXPECT_TRUE(remove("f"));
}

TEST_P(SourceTest, without_its_store_it_is_an_error_and_no_zeros) {
  local_write("f", bytes_);
  local_write("plain", bytes_);
  seal("f");
  fs_ = without_store();
  root_ = fs_->root();
  EXPECT_EQ(read(find("f")).error(), Error::io);
  for (const vfs::OpenAccess access : {vfs::OpenAccess::read, vfs::OpenAccess::write, vfs::OpenAccess::both})
    EXPECT_EQ(vfs::run(fs_->open({}, find("f"), access, vfs::OpenRule::caller)).error(), Error::io);
  EXPECT_EQ(write(find("f"), "x").error(), Error::io);
  EXPECT_EQ(attributes(find("f")).size, bytes_.size());
  EXPECT_EQ(read(find("plain"), 0, 10), bytes_.substr(0, 10));
  EXPECT_TRUE(remove("f"));
}

TEST_P(SourceTest, a_file_that_is_known_and_sealed_then_is_refused_too) {
  local_write("f", bytes_);
  fs_ = without_store();
  root_ = fs_->root();
  const vfs::FileRef known = find("f");
  EXPECT_EQ(attributes(known).size, bytes_.size());
  seal("f");
  EXPECT_EQ(read(known).error(), Error::io);
}

TEST_P(SourceTest, a_file_with_the_flag_and_no_record_is_a_file) {
  local_write("f", bytes_);
  const base::UniqueFd fd(::open(local("f").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(store_->medium().file_of(fd.get())->set_hint(true));
  fs_ = without_store();
  root_ = fs_->root();
  EXPECT_EQ(read(find("f"), 0, 10), bytes_.substr(0, 10));
  EXPECT_TRUE(write(find("f"), "x"));
}

TEST_P(SourceTest, what_is_damaged_is_an_error_for_its_range_alone) {
  local_write("f", bytes_);
  seal("f");
  const std::filesystem::path container = store_path_ / Containers::name_of(1);
  {
    const base::UniqueFd fd(::open(container.c_str(), O_RDWR | O_CLOEXEC));
    char byte = 0;
    ASSERT_EQ(::pread(fd.get(), &byte, 1, 900'000), 1);
    byte = static_cast<char>(byte ^ 1);
    ASSERT_EQ(::pwrite(fd.get(), &byte, 1, 900'000), 1);
  }
  EXPECT_EQ(read(find("f"), 0, 1000), bytes_.substr(0, 1000));
  int failed = 0;
  for (std::uint64_t at = 0; at < bytes_.size(); at += 50'000) {
    const auto got = read(find("f"), at, 50'000);
    EXPECT_TRUE(!got || *got == bytes_.substr(at, 50'000)) << at;
    failed += got ? 0 : 1;
  }
  EXPECT_GT(failed, 0);
  EXPECT_LT(failed, 8);
}

TEST_P(SourceTest, a_record_that_was_copied_is_refused) {
  local_write("f", bytes_);
  local_write("g", std::string(bytes_.size(), '\0'));
  seal("f");
  const base::UniqueFd f(::open(local("f").c_str(), O_RDWR | O_CLOEXEC)),
      g(::open(local("g").c_str(), O_RDWR | O_CLOEXEC));
  const auto record = store_->medium().file_of(f.get())->attribute(record_name);
  ASSERT_TRUE(store_->medium().file_of(g.get())->set_attribute(record_name, **record));
  EXPECT_EQ(read(find("g")).error(), Error::io);
  EXPECT_TRUE(remove("g"));
}

}  // namespace
}  // namespace braid::store::test
