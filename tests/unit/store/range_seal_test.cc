// Files that are sealed while clients have them open for writing: where nobody has written to for a while.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "store/content/live_sealer.h"
#include "tests/unit/store/source_fixture.h"

namespace braid::store::test {
namespace {

constexpr std::uint64_t grain = WrittenRanges::grain_bytes_min;

class RangeSealTest : public SourceTest {
 protected:
  void SetUp() override {
    SourceTest::SetUp();
    if (IsSkipped()) return;
    sealer_ = std::make_unique<LiveSealer>(*store_, *source_, [] { return false; });
    wanted_ = bytes_.substr(0, 20 * grain - 1000);
    ASSERT_TRUE(create("f"));
    anew();
    open_ = file("f");
    put(0, wanted_);
  }
  void TearDown() override {
    if (open_ != nullptr) close();
    SourceTest::TearDown();
  }
  // As the client that has it open.
  void put(std::uint64_t at, const std::string& text) {
    for (std::size_t done = 0; done < text.size(); done += 1U << 19U) {
      const std::string piece = text.substr(done, 1U << 19U);
      const io::Payload data = payload(piece);
      ASSERT_TRUE(vfs::run(open_->write({}, at + done, data, vfs::Stability::unstable, nullptr)));
    }
    if (wanted_.size() < at + text.size()) wanted_.resize(at + text.size());
    wanted_.replace(at, text.size(), text);
  }
  // The same of what lies in a pipe; false: nothing is spliced here.
  bool put_by_pipe(std::uint64_t at, const std::string& text) {
    local_write("data", text);
    const base::UniqueFd data(::open(local("data").c_str(), O_RDONLY | O_CLOEXEC));
    auto pipe = pipes_.take();
    if (!pipe || pipe->pipe()->fill(data.get(), 0, text.size()) != text.size()) return false;
    io::Payload piped;
    piped.append({std::move(*pipe), 0, static_cast<std::uint32_t>(text.size())});
    const auto written = vfs::run(open_->write({}, at, piped, vfs::Stability::unstable, nullptr));
    EXPECT_TRUE(written && written->count == text.size());
    wanted_.replace(at, text.size(), text);
    return true;
  }
  vfs::posix::Outcome<SealOutcome> seal_live(bool restless = false) {
    return vfs::run(sealer_->seal(*fs_, 1, find("f"), restless));
  }
  void close() {
    EXPECT_TRUE(vfs::run(fs_->close(open_)));
    open_.reset();
  }
  // What the client that has it open reads.
  std::string seen() {
    std::string out;
    for (;;) {
      const auto got = vfs::run(open_->read(out.size(), 1U << 20U, *cursor_));
      EXPECT_TRUE(got);
      if (!got) return out;
      for (const io::SlabRange& range : got->data.ranges()) out += base::text_of(*range.memory());
      if (got->eof) return out;
    }
  }
  // Where the file has bytes of its own.
  [[nodiscard]] std::vector<Extent> own() const {
    std::vector<Extent> out;
    const base::UniqueFd fd(::open(local("f").c_str(), O_RDONLY | O_CLOEXEC));
    for (off_t at = 0;;) {
      at = ::lseek(fd.get(), at, SEEK_DATA);
      if (at < 0) return out;
      const off_t end = ::lseek(fd.get(), at, SEEK_HOLE);
      out.push_back({static_cast<std::uint64_t>(at), static_cast<std::uint64_t>(end)});
      at = end;
    }
  }
  // Does that while the file is being sealed, when some of it was read.
  void meanwhile(std::function<void()> work) {
    sealer_ = std::make_unique<LiveSealer>(*store_, *source_, [] { return false; });
    sealer_->hash_by(
        [work = std::move(work), first = true](const hashing::Job& job, hashing::CpuHasher& own) mutable {
          if (std::exchange(first, false)) work();
          return own.run(job);
        });
  }
  // Nobody uses it any more, and it comes back from the medium.
  void anew() {
    if (open_ != nullptr) close();
    root_ = {};
    fs_.reset();
    fs_ = opened();
    root_ = fs_->root();
  }

  io::PipePool pipes_;
  std::unique_ptr<LiveSealer> sealer_;
  vfs::OpenFileRef open_;
  std::string wanted_;  // what is in the file
};
BRAID_ON_EVERY_FILE_SYSTEM(RangeSealTest);

TEST_P(RangeSealTest, it_is_sealed_when_it_was_looked_at_twice) {
  const vfs::Attributes before = attributes(find("f"));
  EXPECT_EQ(seal_live(), SealOutcome::in_use);
  EXPECT_EQ(own(), (std::vector<Extent>{{0, wanted_.size()}}));
  EXPECT_EQ(seal_live(), SealOutcome::sealed);
  EXPECT_TRUE(own().empty());
  EXPECT_TRUE(seen() == wanted_);
  const vfs::Attributes after = attributes(find("f"));
  EXPECT_TRUE(after.mtime == before.mtime && after.ctime == before.ctime && after.change == before.change);
  put(3 * grain + 5, "written to when it was sealed");
  EXPECT_TRUE(seen() == wanted_);
  EXPECT_GT(attributes(find("f")).change, before.change);
  anew();
  EXPECT_TRUE(all_of("f") == wanted_);
}

// The kernel's times have moved when it was sealed, and clients do not see that.
TEST_P(RangeSealTest, to_look_at_it_changes_nothing_that_clients_see) {
  anew();
  const vfs::Attributes before = attributes(find("f"));
  ASSERT_EQ(seal_live(), SealOutcome::sealed);
  ASSERT_EQ(attributes(find("f")).change, before.change);
  anew();
  open_ = file("f");
  EXPECT_EQ(seal_live(), SealOutcome::in_use);
  EXPECT_EQ(attributes(find("f")).change, before.change);
  EXPECT_EQ(seal_live(), SealOutcome::already);
  EXPECT_EQ(attributes(find("f")).change, before.change);
  EXPECT_TRUE(seen() == wanted_);
}

TEST_P(RangeSealTest, what_was_written_since_the_last_look_stays) {
  EXPECT_EQ(seal_live(), SealOutcome::in_use);
  put(5 * grain + 100, "new");
  put(9 * grain - 1, "here, too");
  EXPECT_EQ(seal_live(), SealOutcome::sealed);
  EXPECT_EQ(own(), (std::vector<Extent>{{5 * grain, 6 * grain}, {8 * grain, 10 * grain}}));
  EXPECT_EQ(sealer_->bytes(), wanted_.size() - 3 * grain);
  EXPECT_TRUE(seen() == wanted_);
  EXPECT_EQ(seal_live(), SealOutcome::sealed) << "now it has rested";
  EXPECT_TRUE(own().empty());
  EXPECT_EQ(seal_live(), SealOutcome::already);
  anew();
  EXPECT_TRUE(all_of("f") == wanted_);
}

TEST_P(RangeSealTest, what_comes_in_pipes_is_noted_too) {
  const std::string fresh(2 * grain, 'p'), more(2 * grain, 'q');
  EXPECT_EQ(seal_live(), SealOutcome::in_use);
  if (!put_by_pipe(5 * grain, fresh)) GTEST_SKIP() << "nothing is spliced here";
  EXPECT_EQ(seal_live(), SealOutcome::sealed);
  EXPECT_EQ(own(), (std::vector<Extent>{{5 * grain, 7 * grain}}));
  // Over what is sealed, and in part over what is not.
  ASSERT_TRUE(put_by_pipe(6 * grain, more));
  ASSERT_TRUE(put_by_pipe(10 * grain + 1, fresh));
  EXPECT_EQ(seal_live(), SealOutcome::sealed);
  EXPECT_EQ(own(), (std::vector<Extent>{{6 * grain, 8 * grain}, {10 * grain, 12 * grain + 4096}}));
  EXPECT_TRUE(seen() == wanted_);
  anew();
  EXPECT_TRUE(all_of("f") == wanted_);
}

TEST_P(RangeSealTest, what_is_written_while_it_is_sealed_stays) {
  EXPECT_EQ(seal_live(), SealOutcome::in_use);
  put(2 * grain, "hot");
  meanwhile([this] { put(7 * grain + 9, "newer"); });
  EXPECT_EQ(seal_live(), SealOutcome::sealed);
  EXPECT_EQ(own(), (std::vector<Extent>{{2 * grain, 3 * grain}, {7 * grain, 8 * grain}}));
  EXPECT_TRUE(seen() == wanted_);
  meanwhile([this] { put(2 * grain + 7, "newest"); });
  EXPECT_EQ(seal_live(), SealOutcome::changed) << "nothing is left to be sealed";
  EXPECT_EQ(own(), (std::vector<Extent>{{2 * grain, 3 * grain}, {7 * grain, 8 * grain}}));
  EXPECT_EQ(seal_live(), SealOutcome::sealed);
  EXPECT_EQ(own(), (std::vector<Extent>{{2 * grain, 3 * grain}}));
  anew();
  EXPECT_TRUE(all_of("f") == wanted_);
}

// `sealed`: some of it was before.
TEST_P(RangeSealTest, whatever_is_done_to_it_meanwhile_is_not_undone) {
  const auto grow = [this](std::uint64_t size) {
    ASSERT_TRUE(resize("f", size));
    wanted_.resize(size);
  };
  const auto punch = [this](std::uint64_t at, std::uint64_t length) {
    ASSERT_TRUE(vfs::run(open_->deallocate({}, at, length)));
    wanted_.replace(at, length, std::string(length, '\0'));
  };
  const auto space = [this](std::uint64_t at, std::uint64_t length) {
    ASSERT_TRUE(vfs::run(open_->allocate({}, at, length)));
    if (wanted_.size() < at + length) wanted_.resize(at + length);
  };
  const std::vector<std::pair<const char*, std::function<void()>>> kinds{
      {"append", [&] { put(wanted_.size(), "at its end"); }},
      {"write behind its end", [&] { put(wanted_.size() + 3 * grain, "far"); }},
      {"shorten", [&] { grow(4 * grain + 77); }},
      {"shorten to nothing", [&] { grow(0); }},
      {"lengthen", [&] { grow(wanted_.size() + 5); }},
      {"shorten and lengthen", [&] { grow(6 * grain + 9), grow(15 * grain); }},
      {"punch", [&] { punch(5 * grain + 17, 3 * grain); }},
      {"allocate", [&] { space(3 * grain, 4 * grain); }},
      {"allocate behind its end", [&] { space(wanted_.size() + 10, grain); }},
      {"all of it", [&] { put(0, bytes_.substr(1, wanted_.size())); }},
      {"the beginning", [&] { put(0, bytes_.substr(1, 1)); }},
  };
  for (const bool sealed : {false, true}) {
    for (const auto& [name, work] : kinds) {
      SCOPED_TRACE(std::string(name) + (sealed ? ", sealed" : ""));
      grow(0);
      put(0, bytes_.substr(0, 20 * grain - 1000));
      sealer_ = std::make_unique<LiveSealer>(*store_, *source_, [] { return false; });
      (void)seal_live();
      if (sealed) {
        EXPECT_EQ(seal_live(), SealOutcome::sealed);
        put(3 * grain + 5, bytes_.substr(0, grain));
        put(12 * grain, bytes_.substr(7, 2 * grain));
        EXPECT_TRUE(seal_live());  // what was written is hot
      }
      meanwhile(work);
      EXPECT_TRUE(seal_live());
      ASSERT_TRUE(seen() == wanted_);
      EXPECT_TRUE(seal_live());
      ASSERT_TRUE(seen() == wanted_);
      anew();
      ASSERT_TRUE(all_of("f") == wanted_);
      anew();
      open_ = file("f");
    }
  }
}

// Which is not noted anywhere.
TEST_P(RangeSealTest, what_a_local_process_has_written_meanwhile_is_not_lost) {
  EXPECT_EQ(seal_live(), SealOutcome::in_use);
  meanwhile([this] {
    put(10 * grain, "a client's");
    const base::UniqueFd fd(::open(local("f").c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(::pwrite(fd.get(), "local", 5, 777), 5);
  });
  wanted_.replace(777, 5, "local");
  EXPECT_EQ(seal_live(), SealOutcome::changed);
  EXPECT_TRUE(seen() == wanted_);
  EXPECT_EQ(seal_live(), SealOutcome::sealed);
  EXPECT_TRUE(seen() == wanted_);
}

// The recipe is another one then.
TEST_P(RangeSealTest, what_was_cloned_into_it_meanwhile_is_not_lost) {
  source_->use_trees([](const vfs::FileHandle&) { return 1U; });
  const std::string other = bytes_.substr(7 * grain, 4 * grain);
  ASSERT_TRUE(create("other"));
  ASSERT_TRUE(write(find("other"), other));
  anew();
  ASSERT_EQ(vfs::run(sealer_->seal(*fs_, 1, find("other"), false)), SealOutcome::sealed);
  open_ = file("f");
  EXPECT_EQ(seal_live(), SealOutcome::in_use);
  EXPECT_EQ(seal_live(), SealOutcome::sealed);
  put(12 * grain, "something to seal");
  EXPECT_EQ(seal_live(), SealOutcome::already) << "nobody has left it alone yet";
  meanwhile([&] {
    const auto from = file("other", vfs::OpenAccess::read);
    const auto done = vfs::run(open_->clone_from({}, *from, 0, 2 * grain, other.size()));
    EXPECT_TRUE(done);
    if (done) wanted_.replace(2 * grain, other.size(), other);
  });
  EXPECT_EQ(seal_live(), SealOutcome::changed);
  EXPECT_TRUE(seen() == wanted_);
  anew();
  EXPECT_TRUE(all_of("f") == wanted_);
}

TEST_P(RangeSealTest, a_write_delegation_stays) {
  std::atomic<int> broken{0};
  auto lease = vfs::run(fs_->lease(open_, vfs::LeaseType::write, vfs::LeaseHolder(1), [&] { ++broken; }));
  ASSERT_TRUE(lease);
  EXPECT_EQ(seal_live(), SealOutcome::in_use);
  put(0, "new");
  EXPECT_EQ(seal_live(), SealOutcome::sealed);
  EXPECT_TRUE(seen() == wanted_);
  EXPECT_EQ(broken, 0);
  const base::UniqueFd local_reader(::open(local("f").c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  EXPECT_FALSE(local_reader) << "the kernel still knows it";
  lease->reset();
  EXPECT_EQ(own(), (std::vector<Extent>{{0, grain}}));
}

// To read it would take one more descriptor, which the delegation would not survive.
TEST_P(RangeSealTest, who_can_only_write_keeps_a_delegation_and_it_is_not_sealed) {
  anew();
  open_ = file("f", vfs::OpenAccess::write);
  std::atomic<int> broken{0};
  auto lease = vfs::run(fs_->lease(open_, vfs::LeaseType::write, vfs::LeaseHolder(1), [&] { ++broken; }));
  ASSERT_TRUE(lease);
  EXPECT_EQ(seal_live(), SealOutcome::in_use);
  EXPECT_EQ(seal_live(), SealOutcome::in_use);
  EXPECT_EQ(broken, 0);
  lease->reset();
}

TEST_P(RangeSealTest, not_while_others_have_it_open) {
  EXPECT_EQ(seal_live(), SealOutcome::in_use);
  {
    const base::UniqueFd local_writer(::open(local("f").c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(seal_live(), SealOutcome::in_use);
  }
  {
    const base::UniqueFd local_reader(::open(local("f").c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(seal_live(), SealOutcome::in_use) << "the kernel does not tell one from the other";
  }
  EXPECT_EQ(seal_live(), SealOutcome::sealed);
}

// NFSv3, and what the server reads for itself.
TEST_P(RangeSealTest, what_the_server_has_open_for_reading_is_closed_for_it) {
  EXPECT_TRUE(all_of("f") == wanted_);
  EXPECT_EQ(seal_live(), SealOutcome::in_use);
  {
    const vfs::FileRef used = find("f");
    fs_->sweep();
  }
  EXPECT_EQ(seal_live(), SealOutcome::in_use);
  EXPECT_EQ(seal_live(), SealOutcome::in_use) << "not under a call: it is still there";
  fs_->sweep();
  EXPECT_EQ(seal_live(), SealOutcome::in_use) << "the first look";
  EXPECT_EQ(seal_live(), SealOutcome::sealed);
  EXPECT_TRUE(all_of("f") == wanted_);
  EXPECT_TRUE(seen() == wanted_);
}

// Images of virtual machines are locked.
TEST_P(RangeSealTest, locks_stay) {
  const vfs::LockOwnerId owner(1);
  const vfs::LockRange range{.offset = 100, .length = 1};
  EXPECT_EQ(vfs::run(fs_->lock(open_, owner, range, vfs::LockType::write)).value(), std::nullopt);
  EXPECT_EQ(seal_live(), SealOutcome::in_use);
  EXPECT_EQ(seal_live(), SealOutcome::sealed);
  EXPECT_TRUE(seen() == wanted_);
  const base::UniqueFd local_process(::open(local("f").c_str(), O_RDWR | O_CLOEXEC));
  struct flock lock{};
  lock.l_type = F_WRLCK;
  EXPECT_EQ(::fcntl(local_process.get(), F_OFD_SETLK, &lock), -1);
  EXPECT_TRUE(vfs::run(fs_->unlock(find("f"), owner, range)));
  EXPECT_EQ(::fcntl(local_process.get(), F_OFD_SETLK, &lock), 0);
}

// As NFSv3 does.
TEST_P(RangeSealTest, who_writes_without_an_open_all_the_time_has_it_sealed_too) {
  close();
  anew();
  const auto write_on = [&](const std::string& text) {
    ASSERT_TRUE(write(find("f"), text));
    wanted_.replace(0, text.size(), text);
  };
  write_on("one");
  EXPECT_EQ(seal_live(), SealOutcome::in_use);
  EXPECT_EQ(seal_live(), SealOutcome::in_use) << "its descriptor is closed soon";
  EXPECT_EQ(seal_live(true), SealOutcome::in_use) << "the first look";
  write_on("two");
  EXPECT_EQ(seal_live(true), SealOutcome::sealed);
  EXPECT_EQ(own(), (std::vector<Extent>{{0, grain}}));
  write_on("three");
  EXPECT_TRUE(all_of("f") == wanted_);
  anew();
  EXPECT_TRUE(all_of("f") == wanted_);
  const base::UniqueFd local_writer(::open(local("f").c_str(), O_WRONLY | O_CLOEXEC));
  write_on("four");
  EXPECT_EQ(seal_live(true), SealOutcome::in_use);
}

// Blocks between the extents of a file with many holes are not taken for holes.
TEST_P(RangeSealTest, a_file_in_many_pieces_is_sealed_piece_by_piece) {
  constexpr std::uint64_t pieces = 1100, piece = 4096, step = 2 * piece;
  static_assert(pieces > Root::steps_max);
  ASSERT_TRUE(resize("f", 0));
  wanted_.clear();
  ASSERT_TRUE(resize("f", pieces * step));
  wanted_.resize(pieces * step);
  for (std::uint64_t i = 0; i < pieces; ++i) put(i * step, bytes_.substr(i, piece));
  EXPECT_EQ(seal_live(), SealOutcome::in_use);
  put(300 * step + piece, "between two");
  EXPECT_EQ(seal_live(), SealOutcome::sealed);
  EXPECT_FALSE(own().empty()) << "the next seal's";
  EXPECT_TRUE(seen() == wanted_);
  put(500 * step + piece, "between two");
  EXPECT_EQ(seal_live(), SealOutcome::sealed);
  EXPECT_TRUE(seen() == wanted_);
  anew();
  EXPECT_TRUE(all_of("f") == wanted_);
}

}  // namespace
}  // namespace braid::store::test
