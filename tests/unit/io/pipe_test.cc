#include "io/pipe.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

#include "base/assert.h"
#include "io/payload.h"

namespace braid::io {
namespace {

class PipeTest : public testing::Test {
 protected:
  PipeTest() {
    char path[] = "/tmp/braid-pipe-XXXXXX";
    file_ = base::UniqueFd(::mkstemp(path));
    ::unlink(path);
    for (std::size_t i = 0; i < text_.size(); ++i) text_[i] = static_cast<char>('a' + i % 23);
    base::check(::pwrite(file_.get(), text_.data(), text_.size(), 0) == static_cast<ssize_t>(text_.size()));
    std::array<int, 2> fds;
    base::check(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds.data()) == 0);
    here_ = base::UniqueFd(fds[0]);
    there_ = base::UniqueFd(fds[1]);
  }
  std::string drain(const SlabRef& piped) {
    std::string got;
    std::string buffer(65536, '\0');
    while (piped.pipe()->size() > 0) {
      auto sent = piped.pipe()->drain_to(here_.get(), piped.pipe()->size(), false);
      if (!sent) {
        EXPECT_EQ(sent.error(), base::errno_of(EAGAIN));
      }
      for (ssize_t n; (n = ::read(there_.get(), buffer.data(), buffer.size())) > 0;)
        got.append(buffer.data(), static_cast<std::size_t>(n));
    }
    return got;
  }
  std::string text_ = std::string(300'000, ' ');
  base::UniqueFd file_, here_, there_;
};

TEST_F(PipeTest, bytes_of_a_file_reach_the_socket_in_order) {
  PipePool pool;
  SlabRef piped = pool.take().value();
  EXPECT_EQ(piped.pipe()->fill(file_.get(), 1000, 200'000).value(), 200'000U);
  EXPECT_EQ(drain(piped), text_.substr(1000, 200'000));
}

TEST_F(PipeTest, bytes_can_be_brought_to_memory_piece_by_piece) {
  PipePool pool;
  SlabRef piped = pool.take().value();
  ASSERT_EQ(piped.pipe()->fill(file_.get(), 1000, 200'000).value(), 200'000U);
  std::string got(200'000, '\0');
  const base::MutableBytes all = std::as_writable_bytes(std::span(got));
  ASSERT_TRUE(piped.pipe()->copy_to_memory(0, all.first(150'001)));
  ASSERT_TRUE(piped.pipe()->copy_to_memory(150'001, all.subspan(150'001)));
  EXPECT_EQ(got, text_.substr(1000, 200'000));
  EXPECT_EQ(piped.pipe()->size(), 200'000U);
  // Who begins anew finds them, and a file, too.
  ASSERT_TRUE(piped.pipe()->copy_to_memory(7, all.first(100)));
  EXPECT_EQ(got.substr(0, 100), text_.substr(1007, 100));
  for (std::uint64_t at = 0; piped.pipe()->size() > 0;)
    at += piped.pipe()->drain_to_file(file_.get(), 500'000 + at, piped.pipe()->size()).value();
  std::string put(200'000, '\0');
  ASSERT_EQ(::pread(file_.get(), put.data(), put.size(), 500'000), 200'000);
  EXPECT_EQ(put, text_.substr(1000, 200'000));
}

TEST_F(PipeTest, a_pipe_whose_bytes_were_only_copied_is_lent_again_empty) {
  PipePool pool;
  std::string got(10'000, '\0');
  {
    const SlabRef piped = pool.take().value();
    ASSERT_EQ(piped.pipe()->fill(file_.get(), 0, got.size()).value(), got.size());
    ASSERT_TRUE(piped.pipe()->copy_to_memory(0, std::as_writable_bytes(std::span(got))));
  }
  const SlabRef piped = pool.take().value();
  EXPECT_EQ(piped.pipe()->size(), 0U);
  ASSERT_EQ(piped.pipe()->fill(file_.get(), 20'000, got.size()).value(), got.size());
  ASSERT_TRUE(piped.pipe()->copy_to_memory(0, std::as_writable_bytes(std::span(got))));
  EXPECT_EQ(got, text_.substr(20'000, got.size()));
}

TEST_F(PipeTest, filling_stops_at_the_end_of_the_file) {
  PipePool pool;
  SlabRef piped = pool.take().value();
  EXPECT_EQ(piped.pipe()->fill(file_.get(), 299'990, 4096).value(), 10U);
  EXPECT_EQ(drain(piped), text_.substr(299'990));
}

TEST_F(PipeTest, a_pipe_that_still_holds_bytes_is_not_lent_again) {
  PipePool pool(1);
  {
    SlabRef piped = pool.take().value();
    ASSERT_EQ(piped.pipe()->fill(file_.get(), 0, 4096).value(), 4096U);
  }
  SlabRef next = pool.take().value();
  EXPECT_EQ(next.pipe()->fill(file_.get(), 8192, 100).value(), 100U);
  EXPECT_EQ(drain(next), text_.substr(8192, 100));
}

TEST_F(PipeTest, no_more_pipes_are_lent_than_allowed) {
  PipePool pool(2);
  SlabRef first = pool.take().value();
  SlabRef second = pool.take().value();
  EXPECT_EQ(pool.take().error(), base::errno_of(ENOBUFS));
  second = {};
  EXPECT_TRUE(pool.take());
}

TEST_F(PipeTest, bytes_of_a_socket_reach_their_place_in_the_file) {
  PipePool pool;
  SlabRef piped = pool.take().value();
  EXPECT_EQ(piped.pipe()->fill_from_socket(there_.get(), 10).error(), base::errno_of(EAGAIN));
  ASSERT_EQ(::send(here_.get(), text_.data(), 50'000, 0), 50'000);
  std::size_t filled = 0;
  while (filled < 50'000) filled += piped.pipe()->fill_from_socket(there_.get(), 50'000 - filled).value();
  base::UniqueFd out(::memfd_create("out", MFD_CLOEXEC));
  EXPECT_EQ(piped.pipe()->drain_to_file(out.get(), 10, 20'000).value(), 20'000U);
  EXPECT_EQ(piped.pipe()->drain_to_file(out.get(), 20'010, 30'000).value(), 30'000U);
  EXPECT_EQ(piped.pipe()->size(), 0U);
  std::string got(60'000, '\0');
  EXPECT_EQ(::pread(out.get(), got.data(), got.size(), 0), 50'010);
  EXPECT_EQ(got.substr(10, 50'000), text_.substr(0, 50'000));
  here_ = {};
  EXPECT_EQ(piped.pipe()->fill_from_socket(there_.get(), 10).value(), 0U);
}

TEST_F(PipeTest, a_file_that_takes_no_splice_gets_the_bytes_by_a_copy) {
  PipePool pool;
  SlabRef piped = pool.take().value();
  ASSERT_EQ(piped.pipe()->fill(file_.get(), 0, 50'000).value(), 50'000U);
  base::UniqueFd out(::memfd_create("out", MFD_CLOEXEC));
  ASSERT_EQ(::fcntl(out.get(), F_SETFL, O_APPEND), 0);  // splice(2) refuses such a descriptor
  std::size_t written = 0;
  while (written < 50'000) {
    const auto drained = piped.pipe()->drain_to_file(out.get(), written, 50'000 - written);
    ASSERT_TRUE(drained);
    written += *drained;
  }
  EXPECT_EQ(piped.pipe()->size(), 0U);
  std::string got(60'000, '\0');
  ASSERT_EQ(::pread(out.get(), got.data(), got.size(), 0), 50'000);
  EXPECT_EQ(got.substr(0, 50'000), text_.substr(0, 50'000));
}

// The size that a file of this process may have; more is refused with EFBIG, after a short write.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    base::check(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit limit{bytes, before_.rlim_max};
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    base::check(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST_F(PipeTest, what_a_copy_could_not_write_is_still_in_the_pipe) {
  constexpr std::size_t all = 50'000, allowed = 10'000;
  PipePool pool;
  SlabRef piped = pool.take().value();
  Pipe& pipe = *piped.pipe();
  ASSERT_EQ(pipe.fill(file_.get(), 0, all).value(), all);
  base::UniqueFd out(::memfd_create("out", MFD_CLOEXEC));
  ASSERT_EQ(::fcntl(out.get(), F_SETFL, O_APPEND), 0);
  {
    const FileSizeLimit limit(allowed);
    EXPECT_EQ(pipe.drain_to_file(out.get(), 0, all).value(), allowed);
    EXPECT_EQ(pipe.size(), all - allowed);
    EXPECT_EQ(pipe.drain_to_file(out.get(), allowed, all - allowed).error(), base::errno_of(EFBIG));
    EXPECT_EQ(pipe.size(), all - allowed);
  }
  while (pipe.size() > 0) ASSERT_TRUE(pipe.drain_to_file(out.get(), all - pipe.size(), pipe.size()));
  std::string got(all + 1, '\0');
  ASSERT_EQ(::pread(out.get(), got.data(), got.size(), 0), static_cast<ssize_t>(all));
  EXPECT_EQ(got.substr(0, all), text_.substr(0, all));
}

TEST_F(PipeTest, an_error_of_the_file_is_told) {
  PipePool pool;
  SlabRef piped = pool.take().value();
  ASSERT_EQ(piped.pipe()->fill(file_.get(), 0, 5000).value(), 5000U);
  base::UniqueFd sealed(::memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::fcntl(sealed.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW), 0);
  EXPECT_EQ(piped.pipe()->drain_to_file(sealed.get(), 0, 5000).error(), base::errno_of(EPERM));
}

TEST_F(PipeTest, a_pipe_with_no_room_for_pieces_says_so) {
  PipePool pool;
  SlabRef piped = pool.take().value();
  base::Result<std::size_t> moved = 0;
  for (int i = 0; i < 100'000 && moved; ++i) {
    ASSERT_EQ(::send(here_.get(), text_.data(), 1, 0), 1);
    moved = piped.pipe()->fill_from_socket(there_.get(), 1);
  }
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error(), base::errno_of(ENOBUFS));
}

TEST_F(PipeTest, a_payload_tells_its_piped_bytes_from_those_in_memory) {
  SlabPool slabs({});
  SlabCursor cursor(slabs);
  PipePool pool;
  SlabRef piped = pool.take().value();
  ASSERT_EQ(piped.pipe()->fill(file_.get(), 0, 50).value(), 50U);
  Payload payload(cursor.carve(10).value());
  EXPECT_FALSE(payload.piped());
  EXPECT_EQ(payload.in_memory().value().size(), 10U);
  payload.append({std::move(piped), 0, 50});
  payload.append(cursor.carve(6).value());
  EXPECT_TRUE(payload.piped());
  EXPECT_FALSE(payload.in_memory());
  EXPECT_FALSE(payload.ranges()[1].memory());
  EXPECT_EQ(payload.front_in_memory().size(), 10U);
  EXPECT_EQ(payload.size(), 66U);
  std::array<iovec, 4> vectors;
  EXPECT_EQ(to_iovecs(payload, 0, vectors), 1U);
  EXPECT_EQ(to_iovecs(payload, 10, vectors), 0U);
  EXPECT_EQ(to_iovecs(payload, 60, vectors), 1U);
}

}  // namespace
}  // namespace braid::io
