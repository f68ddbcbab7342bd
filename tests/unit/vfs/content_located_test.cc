// Files whose content says where its bytes are in other files of this machine.
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "content_fixture.h"
#include "io/blocking_pool.h"
#include "io/pipe.h"
#include "page_cache.h"
#include "vfs/posix/kernel.h"

namespace braid::vfs {
namespace {

class ContentLocatedTest : public ContentFixture {
 protected:
  ContentLocatedTest() { options_.pool = &pool_; }
  void SetUp() override {
    ContentFixture::SetUp();
    if (IsSkipped()) return;
    local_write("place", place_);
    fd_ = base::UniqueFd(::open(local("place").c_str(), O_RDWR | O_CLOEXEC));
  }
  void TearDown() override {
    ContentFixture::TearDown();
    pool_.stop();
  }
  // Whether the kernel reads so from what is in the page cache, and from the page cache alone.
  [[nodiscard]] ssize_t read_now(std::uint64_t offset) const {
    char byte = 0;
    const iovec vector{&byte, 1};
    return ::preadv2(fd_.get(), &vector, 1, static_cast<off_t>(offset), RWF_NOWAIT);
  }
  [[nodiscard]] FileSlice slice(std::uint64_t offset, std::uint32_t length) const {
    return {.fd = fd_.get(), .length = length, .offset = offset};
  }
  // On a reactor.
  Outcome<ReadResult> read_of(OpenFile& file, std::uint64_t offset, std::uint32_t count, ReadMemory memory) {
    Outcome<ReadResult> out = base::fail(Error::server_fault);
    on_reactor([&]() -> io::Op<> { out = co_await file.read(offset, count, memory).as_result(); });
    return out;
  }
  static std::string text_of(const ReadResult& got) {
    return std::string(base::text_of(got.data.in_memory()->bytes()));
  }
  [[nodiscard]] std::uint64_t reading_jobs() const {
    return pool_.stats().jobs[static_cast<std::size_t>(io::BlockingReason::read)];
  }
  static std::string numbers(int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += std::to_string(i) + " ";
    return out;
  }

  io::BlockingPool pool_{{}};
  const std::string place_ = numbers(100'000);
  base::UniqueFd fd_;
};
BRAID_ON_EVERY_FILE_SYSTEM(ContentLocatedTest);

TEST_P(ContentLocatedTest, bytes_in_the_page_cache_are_read_from_where_they_are) {
  ASSERT_TRUE(setattr(file_, [] {
    SetAttributes set;
    set.size = 1000;
    return set;
  }()));
  const test::ReadsNeverRefused cached;
  content().slices = {slice(5, 10), {.fd = -1, .length = 3, .offset = 0}, slice(70'000, 20)};
  const std::string wanted = place_.substr(5, 10) + std::string(3, '\0') + place_.substr(70'000, 20);
  const OpenFileRef io = open(file_);
  const auto opened = read_of(*io, 0, 33, *cursor_);
  ASSERT_TRUE(opened);
  const Credentials who;
  const Borrowed lent = fs_->borrow(who, file_);
  const auto borrowed = read_of(*lent, 967, 33, *cursor_);
  ASSERT_TRUE(borrowed);
  if (read_now(0) != 1) GTEST_SKIP() << "this file system does not say what is in the page cache";
  EXPECT_EQ(text_of(*opened), wanted);
  EXPECT_FALSE(opened->eof);
  EXPECT_EQ(text_of(*borrowed), wanted);
  EXPECT_TRUE(borrowed->eof);
  EXPECT_EQ(borrowed->attributes.size, 1000U);
  EXPECT_EQ(borrowed->attributes.space, FakeContent::space_of);
  EXPECT_EQ(content().reads, 0);
  EXPECT_EQ(reading_jobs(), 0U);
}

TEST_P(ContentLocatedTest, what_is_long_comes_in_a_pipe) {
  if (!kernel_splices()) GTEST_SKIP() << "nothing is spliced here";
  content().slices = {slice(3, 50'000), slice(50'059, 60'001), slice(200'000, 70'000)};
  const std::string wanted =
      place_.substr(3, 50'000) + place_.substr(50'059, 60'001) + place_.substr(200'000, 70'000);
  io::PipePool pipes;
  const OpenFileRef io = open(file_);
  auto got = read_of(*io, 0, 180'001, {*cursor_, &pipes});
  ASSERT_TRUE(got);
  ASSERT_TRUE(got->data.piped());
  ASSERT_EQ(got->data.size(), wanted.size());
  std::string text(wanted.size(), '\0');
  ASSERT_TRUE(got->data.ranges()[0].slab.pipe()->copy_to_memory(0, std::as_writable_bytes(std::span(text))));
  EXPECT_TRUE(text == wanted);
  EXPECT_EQ(content().reads, 0);
  // Zeros are in no file.
  content().slices.push_back({.fd = -1, .length = 5, .offset = 0});
  got = read_of(*io, 0, 180'006, {*cursor_, &pipes});
  ASSERT_TRUE(got);
  if (read_now(0) != 1) return;
  EXPECT_EQ(content().reads, 0);
  EXPECT_TRUE(text_of(*got) == wanted + std::string(5, '\0'));
}

TEST_P(ContentLocatedTest, a_file_that_is_too_short_is_not_read) {
  content().slices = {slice(place_.size() - 3, 5), slice(0, 5)};
  const OpenFileRef io = open(file_);
  const auto got = read_of(*io, 0, 10, *cursor_);
  ASSERT_TRUE(got);
  EXPECT_EQ(text_of(*got), "0123456789");
  EXPECT_EQ(content().reads, 1);
}

TEST_P(ContentLocatedTest, what_is_not_in_the_page_cache_is_left_to_the_content) {
  ASSERT_EQ(::fsync(fd_.get()), 0);
  ASSERT_EQ(::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
  // Not asked by reading: that makes the kernel read ahead.
  if (posix::in_page_cache(fd_.get(), 100'000, 10)) GTEST_SKIP() << "it is always in the page cache";
  content().slices = {slice(300'000, 100'000)};
  const OpenFileRef io = open(file_);
  io::PipePool pipes;
  ASSERT_TRUE(read_of(*io, 0, 100'000, {*cursor_, &pipes}));
  EXPECT_EQ(content().reads, 1);
  content().slices = {slice(100'000, 10)};
  const test::ReadsRefused uncached;
  const auto got = read_of(*io, 0, 10, *cursor_);
  ASSERT_TRUE(got);
  EXPECT_EQ(text_of(*got), "0123456789");
  EXPECT_EQ(content().reads, 2);
}

TEST_P(ContentLocatedTest, rights_are_asked_for) {
  ASSERT_TRUE(setattr(file_, with_mode(0600)));
  content().slices = {slice(0, 10)};
  const Credentials stranger = user(4000, 4000);
  const Borrowed lent = fs_->borrow(stranger, file_);
  EXPECT_EQ(read_of(*lent, 0, 10, *cursor_).error(), Error::acces);
  const OpenFileRef writer = open(file_, OpenAccess::write);
  EXPECT_EQ(read_of(*writer, 0, 10, *cursor_).error(), Error::acces);
}

}  // namespace
}  // namespace braid::vfs
