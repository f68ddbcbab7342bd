// The exchange of contents under calls on several threads.
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "content_fixture.h"

namespace braid::vfs {
namespace {

// For all rounds together, on a machine with much else to do.
constexpr base::Duration patience = std::chrono::seconds(5);

class ContentExchangeTest : public ContentFixture {};
BRAID_ON_EVERY_FILE_SYSTEM(ContentExchangeTest);

TEST_P(ContentExchangeTest, a_call_ends_with_the_content_that_it_began_with) {
  auto next = std::make_shared<FakeContent>(source_, "other bytes");
  source_.slow = true;
  on_reactor([&]() -> io::Op<> {
    const OpenFileRef io = open(file_);
    VfsOp<ReadResult> reading = io->read(0, 100, *cursor_);
    reading.start({});
    EXPECT_FALSE(reading.done());
    VfsOp<ContentRef> exchanging = fs_->exchange(file_, next);
    exchanging.start({});
    EXPECT_FALSE(exchanging.done()) << "a call on the former content is under way";
    VfsOp<ReadResult> later = io->read(0, 100, *cursor_);
    const auto before = co_await std::move(reading).as_result();
    EXPECT_EQ(before->data.size(), 10U);
    const auto former = co_await std::move(exchanging).as_result();
    EXPECT_EQ(former->get(), &content());
    const auto after = co_await std::move(later).as_result();
    EXPECT_EQ(after->data.size(), 11U);
  });
  EXPECT_EQ(run(fs_->content(file_)).value(), next);
}

TEST_P(ContentExchangeTest, a_file_gets_its_own_bytes_back) {
  EXPECT_EQ(run(fs_->place(file_, source_, {})).value(), nullptr);
  EXPECT_EQ(local_read("file"), "0123456789");
  EXPECT_EQ(read(file_), "0123456789");
  restart();
  file_ = find("file");
  EXPECT_EQ(read(file_), "0123456789");
}

TEST_P(ContentExchangeTest, a_file_of_another_source_is_not_placed) {
  FakeSource other;
  options_.sources.push_back(&other);
  const auto both = opened();
  const FileRef file = run(both->resolve(file_->handle().view())).value();
  EXPECT_EQ(run(both->place(file, other, {})).error(), Error::exist);
}

// plain -> content -> plain, with readers through an open and through the handle all the time: the stub has
// zeros while the content has the bytes, and nobody sees them.
TEST_P(ContentExchangeTest, readers_see_the_bytes_whatever_content_the_file_has) {
  constexpr int rounds = 60;
  const FileRef plain = find("plain");
  const OpenFileRef io = open(plain, OpenAccess::read);
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> wrong{0}, reads{0};
  std::vector<std::unique_ptr<rpc::test::ReactorThread>> threads;
  for (int i = 0; i < 3; ++i) threads.push_back(std::make_unique<rpc::test::ReactorThread>(clock_));
  const auto reader = [&](bool opened) -> io::Op<> {
    const Credentials who;
    io::SlabCursor cursor(slabs_);
    while (!over.load()) {
      {
        const Borrowed lent = fs_->borrow(who, plain);
        OpenFile& file = opened ? *io : *lent;
        const auto got = co_await file.read(0, 9, cursor).as_result();
        std::string text(got ? got->data.size() : 0, '\0');
        if (got) got->data.in_memory().value().copy_to(0, std::as_writable_bytes(std::span(text)));
        if (text != "own bytes") ++wrong;
        ++reads;
      }
      co_await io::Reactor::current()->yield();
    }
  };
  std::vector<std::thread> drivers;
  for (std::size_t i = 0; i < 2; ++i)
    drivers.emplace_back([&, i] { threads[i]->await([&, i] { return reader(i == 0); }); });
  threads[2]->await([&]() -> io::Op<> {
    const base::TimePoint end = clock_.now() + patience;
    for (int i = 0; i < rounds && clock_.now() < end; ++i) {
      const auto placed = co_await fs_->place(plain, source_, {}).as_result();
      if (!placed) ++wrong;
      for (const std::uint64_t seen = reads.load(); reads.load() == seen;)
        co_await io::Reactor::current()->yield();
    }
  });
  over.store(true);
  for (std::thread& driver : drivers) driver.join();
  threads.clear();
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(source_.wrong, 0);
}

// Each content is punched as soon as the exchange has ended.
TEST_P(ContentExchangeTest, nobody_reads_from_a_content_that_was_exchanged_away) {
  constexpr int rounds = 100;
  const OpenFileRef io = open(file_, OpenAccess::read);
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> failed{0}, reads{0};
  std::vector<std::unique_ptr<rpc::test::ReactorThread>> threads;
  for (int i = 0; i < 3; ++i) threads.push_back(std::make_unique<rpc::test::ReactorThread>(clock_));
  const auto reader = [&]() -> io::Op<> {
    io::SlabCursor cursor(slabs_);
    while (!over.load()) {
      const auto got = co_await io->read(0, 100, cursor).as_result();
      if (!got) ++failed;
      ++reads;
      co_await io::Reactor::current()->yield();
    }
  };
  std::vector<std::thread> drivers;
  for (std::size_t i = 0; i < 2; ++i) drivers.emplace_back([&, i] { threads[i]->await(reader); });
  threads[2]->await([&]() -> io::Op<> {
    const base::TimePoint end = clock_.now() + patience;
    for (int i = 0; i < rounds && clock_.now() < end; ++i) {
      auto next = std::make_shared<FakeContent>(source_, "bytes of " + std::to_string(i));
      const auto former = co_await fs_->exchange(file_, next).as_result();
      static_cast<FakeContent&>(**former).punched.store(true);
      for (const std::uint64_t seen = reads.load(); reads.load() == seen;)
        co_await io::Reactor::current()->yield();
    }
  });
  over.store(true);
  for (std::thread& driver : drivers) driver.join();
  threads.clear();
  EXPECT_EQ(failed, 0U);
  EXPECT_EQ(source_.wrong, 0);
}

}  // namespace
}  // namespace braid::vfs
