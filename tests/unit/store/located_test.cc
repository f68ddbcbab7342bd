// Sealed files whose chunks were verified: they are read from where these lie.
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "io/blocking_pool.h"
#include "io/gate.h"
#include "io/pipe.h"
#include "io/reactor.h"
#include "tests/unit/store/source_fixture.h"
#include "tests/unit/vfs/page_cache.h"

namespace braid::store::test {
namespace {

// A file of some 300 chunks in several containers, so that its recipe has nodes, with a hole; it has been
// read once.
class LocatedTest : public SourceTest {
 protected:
  LocatedTest() { store_options_.container_bytes = 1 << 20; }
  void SetUp() override {
    SourceTest::SetUp();
    if (IsSkipped()) return;
    std::fill_n(wanted_.begin() + 1'000'000, 200'000, '\0');
    local_write("f", wanted_);
    seal_in_blocks("f");
    pool_.emplace(io::BlockingPoolOptions{});
    options_.pool = &*pool_;
    source_->use(*pool_, "store of this test");
    root_ = {};
    fs_ = opened();
    root_ = fs_->root();
    file_ = find("f");
    for (std::uint64_t at = 0; at < wanted_.size(); at += 1U << 20U)
      ASSERT_EQ(text_of(read_of(at, 1U << 20U, *cursor_)), wanted_.substr(at, 1U << 20U));
    warm_ = reading_jobs();
    ASSERT_GT(warm_, 0U);
  }
  void TearDown() override {
    file_ = root_ = {};
    fs_.reset();
    if (pool_) pool_->stop();
    SourceTest::TearDown();
  }
  void seal_in_blocks(const std::string& name) {
    const base::UniqueFd fd(::open(local(name).c_str(), O_RDWR | O_CLOEXEC));
    Sealer sealer(*store_, 1, hashing::Profile::block);
    SealDraft draft;
    draft.file = store_->medium().file_of(fd.get());
    draft.untouched = [] { return true; };
    ASSERT_TRUE(sealer.prepare(draft));
    ASSERT_EQ(draft.outcome, SealOutcome::sealed);
    ASSERT_TRUE(sealer.commit(std::span(&draft, 1)));
  }
  // On a reactor, as a server does.
  template <class F>
  void on_reactor(F body) {
    const base::SystemClock clock;
    const auto reactor = io::Reactor::create({}, clock).value();
    io::Gate gate;
    const auto run = [&]() -> io::Op<> {
      (void)co_await body().as_result();
      reactor->stop();
    };
    reactor->post(std::function<void()>([&] { io::spawn(gate, run()); }));
    reactor->run();
  }
  vfs::posix::Outcome<vfs::ReadResult> read_of(std::uint64_t offset, std::uint32_t count,
                                               vfs::ReadMemory memory) {
    vfs::posix::Outcome<vfs::ReadResult> out = base::fail(vfs::Error::server_fault);
    const vfs::Credentials nobody;
    const auto lent = fs_->borrow(nobody, file_);
    on_reactor([&]() -> io::Op<> { out = co_await lent->read(offset, count, memory).as_result(); });
    return out;
  }
  static std::string text_of(const vfs::posix::Outcome<vfs::ReadResult>& got) {
    return got ? std::string(base::text_of(got->data.in_memory()->bytes())) : std::string("an error");
  }
  static std::string drained(vfs::ReadResult& got) {
    std::string out;
    for (const io::SlabRange& range : got.data.ranges()) {
      std::string part(range.length, '\0');
      EXPECT_TRUE(range.slab.pipe()->copy_to_memory(0, std::as_writable_bytes(std::span(part))));
      out += part;
    }
    return out;
  }
  [[nodiscard]] std::uint64_t reading_jobs() const {
    return pool_->stats().jobs[static_cast<std::size_t>(io::BlockingReason::read)];
  }
  [[nodiscard]] std::uint64_t writing_jobs() const {
    return pool_->stats().jobs[static_cast<std::size_t>(io::BlockingReason::write)];
  }
  [[nodiscard]] bool all_is_right() {
    for (std::uint64_t at = 0; at < wanted_.size(); at += 1U << 20U)
      if (text_of(read_of(at, 1U << 20U, *cursor_)) != wanted_.substr(at, 1U << 20U)) return false;
    return true;
  }
  // Whether the kernel says of the store's file system what is in the page cache.
  [[nodiscard]] bool store_is_read_now() const {
    const base::UniqueFd fd(::open((store_path_ / Containers::name_of(1)).c_str(), O_RDONLY | O_CLOEXEC));
    char byte = 0;
    const iovec vector{&byte, 1};
    return ::preadv2(fd.get(), &vector, 1, 0, RWF_NOWAIT) == 1;
  }
  vfs::posix::Outcome<vfs::WriteResult> write_on_reactor(std::uint64_t offset, const std::string& text) {
    vfs::posix::Outcome<vfs::WriteResult> out = base::fail(vfs::Error::server_fault);
    const vfs::Credentials nobody;
    const auto lent = fs_->borrow(nobody, file_);
    const io::Payload data = payload(text);
    on_reactor([&]() -> io::Op<> {
      out = co_await lent->write(nobody, offset, data, vfs::Stability::unstable).as_result();
    });
    wanted_.replace(offset, text.size(), text);
    return out;
  }

  std::optional<io::BlockingPool> pool_;
  std::string wanted_ = text_of_numbers(740'000);
  vfs::FileRef file_;
  std::uint64_t warm_ = 0;
};
BRAID_ON_EVERY_FILE_SYSTEM(LocatedTest);

TEST_P(LocatedTest, what_was_verified_is_read_on_the_reactor) {
  if (!store_is_read_now()) GTEST_SKIP() << "the store's file system does not say what is in the page cache";
  const vfs::test::ReadsNeverRefused cached;
  EXPECT_EQ(text_of(read_of(100'001, 4096, *cursor_)), wanted_.substr(100'001, 4096));
  EXPECT_EQ(text_of(read_of(16'000, 1000, *cursor_)), wanted_.substr(16'000, 1000))
      << "over the edge of a chunk";
  EXPECT_EQ(text_of(read_of(990'000, 300'000, *cursor_)), wanted_.substr(990'000, 300'000)) << "over a hole";
  EXPECT_EQ(text_of(read_of(4'000'003, 1U << 20U, *cursor_)), wanted_.substr(4'000'003, 1U << 20U));
  const auto last = read_of(wanted_.size() - 10, 4096, *cursor_);
  EXPECT_EQ(text_of(last), wanted_.substr(wanted_.size() - 10));
  EXPECT_TRUE(last && last->eof);
  const auto behind = read_of(wanted_.size(), 4096, *cursor_);
  EXPECT_TRUE(behind && behind->eof && behind->data.size() == 0);
  EXPECT_EQ(behind->attributes.size, wanted_.size());
  EXPECT_GE(behind->attributes.space, wanted_.size() - 200'000);
  io::PipePool pipes;
  auto piped = read_of(2'000'000, 1U << 20U, {*cursor_, &pipes});
  ASSERT_TRUE(piped);
  if (piped->data.piped()) {
    EXPECT_TRUE(drained(*piped) == wanted_.substr(2'000'000, 1U << 20U))
        << "all of it, in two pipes if need be";
  }
  EXPECT_EQ(reading_jobs(), warm_);
}

TEST_P(LocatedTest, newer_bytes_win) {
  ASSERT_TRUE(write_on_reactor(2'000'100, "new"));
  io::PipePool pipes;
  auto got = read_of(1'999'000, 200'000, {*cursor_, &pipes});
  ASSERT_TRUE(got);
  EXPECT_TRUE((got->data.piped() ? drained(*got) : text_of(got)) == wanted_.substr(1'999'000, 200'000));
  EXPECT_EQ(text_of(read_of(2'000'000, 4096, *cursor_)), wanted_.substr(2'000'000, 4096));
  EXPECT_EQ(text_of(read_of(3'000'000, 4096, *cursor_)), wanted_.substr(3'000'000, 4096));
}

TEST_P(LocatedTest, a_write_over_whole_blocks_takes_no_thread) {
  // The first write to a file asks whether its content is to be another one.
  ASSERT_TRUE(write_on_reactor(0, "first"));
  const std::uint64_t jobs = writing_jobs();
  ASSERT_TRUE(write_on_reactor(512 * 4096, std::string(8192, 'w')));
  ASSERT_TRUE(write_on_reactor(513 * 4096, std::string(4096, 'x')));
  const std::uint64_t end = wanted_.size() / 4096 * 4096;
  ASSERT_TRUE(write_on_reactor(end - 4096, std::string(4096, 'y')));
  EXPECT_EQ(writing_jobs(), jobs);
  // The last block is not whole, and one may not get longer by the way.
  ASSERT_TRUE(write_on_reactor(end, std::string(4096, 'z').substr(0, wanted_.size() - end)));
  EXPECT_EQ(writing_jobs(), jobs + 1);
  EXPECT_TRUE(all_is_right());
}

TEST_P(LocatedTest, a_write_where_the_recipe_shows_nothing_takes_no_thread) {
  ASSERT_TRUE(write_on_reactor(2'000'100, "first"));
  ASSERT_TRUE(write_on_reactor(2'000'200, "second"));
  const std::uint64_t jobs = writing_jobs();
  EXPECT_GT(jobs, 0U);
  ASSERT_TRUE(write_on_reactor(2'000'100, "third"));
  ASSERT_TRUE(write_on_reactor(2'000'300, "more"));
  EXPECT_EQ(writing_jobs(), jobs);
  ASSERT_TRUE(write_on_reactor(2'004'096, "next")) << "another block";
  EXPECT_GT(writing_jobs(), jobs);
  EXPECT_TRUE(all_is_right());
}

// Its pages stay as they are until they are sent.
TEST_P(LocatedTest, bytes_in_a_pipe_outlive_their_container) {
  io::PipePool pipes;
  auto got = read_of(0, 500'000, {*cursor_, &pipes});
  ASSERT_TRUE(got);
  if (!got->data.piped()) GTEST_SKIP() << "nothing is spliced here";
  file_ = root_ = {};
  fs_.reset();
  ASSERT_EQ(::unlink(local("f").c_str()), 0);
  ASSERT_EQ(collect().alarm, "");
  EXPECT_FALSE(std::filesystem::exists(store_path_ / Containers::name_of(1)));
  EXPECT_TRUE(drained(*got) == wanted_.substr(0, got->data.size()));
}

}  // namespace
}  // namespace braid::store::test
