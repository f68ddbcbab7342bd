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
#include "tests/unit/store/source_fixture.h"

namespace braid::store::test {
namespace {

using vfs::Error;

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
    const auto refused = co_await borrowed->read(1'000'000, 10, *cursor_).as_result();
    EXPECT_TRUE(!refused && refused.error() == Error::delay);
    reactor->stop();
  };
  reactor->post(std::function<void()>([&] { io::spawn(gate, read_twice()); }));
  reactor->run();
}

TEST_P(SourceTest, the_newest_write_wins) {
  local_write("f", bytes_);
  seal("f");
  std::string wanted = bytes_;
  const auto put = [&](std::uint64_t offset, const std::string& text) {
    const auto written = write(find("f"), text, offset, {}, vfs::Stability::file_sync);
    ASSERT_TRUE(written);
    EXPECT_EQ(written->count, text.size());
    wanted.resize(std::max<std::size_t>(wanted.size(), offset + text.size()));
    wanted.replace(offset, text.size(), text);
  };
  put(0, "first");
  put(5, "second");
  put(100'000, std::string(10'000, 'x'));
  put(8191, "over an edge");
  put(bytes_.size() - 3, "the end and what is behind it");
  put(bytes_.size() + 20'000, "behind a hole");
  EXPECT_EQ(attributes(find("f")).size, wanted.size());
  EXPECT_TRUE(all_of("f") == wanted);
  EXPECT_TRUE(local_read("f") != wanted) << "the rest is in the store";
  fs_ = opened();
  root_ = fs_->root();
  EXPECT_TRUE(all_of("f") == wanted);
  EXPECT_LE(attributes(find("f")).space, wanted.size() + 16'384);
}

TEST_P(SourceTest, what_was_cut_off_does_not_come_back) {
  local_write("f", bytes_);
  seal("f");
  for (const std::uint64_t shorter : {500'001U, 100'000U, 5U}) {
    ASSERT_TRUE(resize("f", shorter));
    ASSERT_TRUE(resize("f", shorter + 300'000));
    std::string wanted = bytes_.substr(0, shorter);
    wanted.resize(shorter + 300'000);
    EXPECT_TRUE(all_of("f") == wanted) << shorter;
    ASSERT_TRUE(resize("f", shorter));
    ASSERT_TRUE(write(find("f"), "y", shorter + 10));
    wanted.resize(shorter + 10);
    EXPECT_TRUE(all_of("f") == wanted + "y") << shorter;
  }
  ASSERT_TRUE(resize("f", 0));
  ASSERT_TRUE(write(find("f"), "plain"));
  EXPECT_TRUE(all_of("f") == "plain");
  const base::UniqueFd fd(::open(local("f").c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_EQ(store_->medium().file_of(fd.get())->attribute(record_name), std::nullopt)
      << "nothing is left of the recipe";
}

TEST_P(SourceTest, two_exports_have_the_same_file) {
  local_write("f", bytes_);
  seal("f");
  const auto other = opened();
  const vfs::FileRef there = vfs::run(other->lookup({}, other->root(), "f"))->file;
  const auto read_there = [&](std::uint64_t offset, std::uint32_t count) {
    const vfs::Credentials nobody;
    const auto got = vfs::run(other->borrow(nobody, there)->read(offset, count, *cursor_));
    return got ? got->data.in_memory()->bytes() : base::Bytes();
  };
  EXPECT_EQ(base::text_of(read_there(10, 10)), bytes_.substr(10, 10));
  ASSERT_TRUE(resize("f", 100));
  ASSERT_TRUE(resize("f", 1000));
  EXPECT_EQ(base::text_of(read_there(90, 20)), bytes_.substr(90, 10) + std::string(10, '\0'));
  ASSERT_TRUE(write(find("f"), "new", 50));
  EXPECT_EQ(base::text_of(read_there(49, 5)), bytes_.substr(49, 1) + "new" + bytes_.substr(53, 1));
}

TEST_P(SourceTest, a_store_that_was_opened_for_reading_is_not_written_to) {
  local_write("f", bytes_);
  seal("f");
  fs_.reset();
  source_.reset();
  store_.reset();
  store_ = std::move(*Store::open(store_path_, {.what = OpenFor::reading}));
  source_ = std::make_unique<StoreSource>(*store_);
  options_.sources = {source_.get()};
  fs_ = opened();
  root_ = fs_->root();
  EXPECT_EQ(write(find("f"), "x").error(), Error::rofs);
  EXPECT_EQ(resize("f", 5).error(), Error::rofs);
  EXPECT_EQ(read(find("f"), 0, 10), bytes_.substr(0, 10));
  EXPECT_TRUE(remove("f"));
}

// What a crash between the record and the holes leaves is finished before the first write, which then stays.
TEST_P(SourceTest, nothing_enters_an_announced_range) {
  local_write("f", bytes_);
  seal("f");
  leave_steps("f");
  EXPECT_EQ(read(find("f"), 0, 10), bytes_.substr(0, 10));
  ASSERT_TRUE(write(find("f"), "new", 1000));
  std::string wanted = bytes_;
  wanted.replace(1000, 3, "new");
  EXPECT_TRUE(all_of("f") == wanted);
  fs_ = opened();
  root_ = fs_->root();
  EXPECT_TRUE(all_of("f") == wanted);
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
