// Files that are sealed while clients use them.
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <random>
#include <stop_token>
#include <thread>

#include "io/blocking_pool.h"
#include "io/gate.h"
#include "io/reactor.h"
#include "store/content/live_sealer.h"
#include "store/content/on_pool.h"
#include "tests/unit/store/source_fixture.h"

namespace braid::store::test {
namespace {

using vfs::Error;

class LiveSealTest : public SourceTest {
 protected:
  void SetUp() override {
    SourceTest::SetUp();
    if (IsSkipped()) return;
    sealer_ = std::make_unique<LiveSealer>(*store_, *source_, [this] { return stopping_; });
  }
  // As clients do, and without what keeps the file open for writing.
  void client_write(const std::string& name, const std::string& bytes) {
    if (!lookup(root_, name)) {
      ASSERT_TRUE(create(name));
    }
    for (std::size_t at = 0; at < bytes.size(); at += 1U << 20U) {
      const std::string piece = bytes.substr(at, 1U << 20U);
      ASSERT_TRUE(write(find(name), piece, at, {}, vfs::Stability::file_sync));
    }
    anew();
  }
  void anew() {
    root_ = {};
    fs_.reset();
    fs_ = opened();
    root_ = fs_->root();
  }
  vfs::posix::Outcome<SealOutcome> seal_live(const std::string& name) {
    return vfs::run(sealer_->seal(*fs_, 1, find(name), false));
  }
  std::map<std::string, vfs::Attributes> listed() {
    std::map<std::string, vfs::Attributes> out;
    const auto take = [&](const vfs::DirectoryEntry& entry) {
      if (entry.attributes) out.emplace(entry.name, *entry.attributes);
      return true;
    };
    EXPECT_TRUE(vfs::run(fs_->readdir({}, root_, {.cookie = 0, .plus = true}, take)));
    return out;
  }
  static void expect_same(const vfs::Attributes& now, const vfs::Attributes& before) {
    EXPECT_EQ(now.change, before.change);
    EXPECT_TRUE(now.mtime == before.mtime);
    EXPECT_TRUE(now.ctime == before.ctime);
    EXPECT_EQ(now.size, before.size);
    EXPECT_EQ(now.mode, before.mode);
    EXPECT_GE(now.space, before.size);
  }
  bool is_sealed(const std::string& name) {
    const base::UniqueFd fd(::open(local(name).c_str(), O_RDONLY | O_CLOEXEC));
    return store_->medium().file_of(fd.get())->attribute(record_name)->has_value();
  }

  bool stopping_ = false;
  std::unique_ptr<LiveSealer> sealer_;
};
BRAID_ON_EVERY_FILE_SYSTEM(LiveSealTest);

TEST_P(LiveSealTest, clients_notice_nothing) {
  client_write("f", bytes_);
  const vfs::Attributes before = attributes(find("f"));
  EXPECT_EQ(seal_live("f"), SealOutcome::sealed);
  EXPECT_EQ(local_read("f"), std::string(bytes_.size(), '\0'));
  expect_same(attributes(find("f")), before);
  EXPECT_TRUE(all_of("f") == bytes_);
  expect_same(listed().at("f"), before);
  EXPECT_EQ(seal_live("f"), SealOutcome::already);
  expect_same(attributes(find("f")), before);
  // Whoever comes after a restart, or after the file has left the cache.
  anew();
  expect_same(listed().at("f"), before);
  expect_same(attributes(find("f")), before);
  EXPECT_TRUE(all_of("f") == bytes_);
}

TEST_P(LiveSealTest, a_change_after_it_is_seen) {
  client_write("f", bytes_);
  const vfs::Attributes before = attributes(find("f"));
  ASSERT_EQ(seal_live("f"), SealOutcome::sealed);
  ASSERT_TRUE(write(find("f"), "x", 5));
  const vfs::Attributes written = attributes(find("f"));
  EXPECT_GT(written.change, before.change);
  EXPECT_TRUE(before.mtime < written.mtime);
  std::string wanted = bytes_;
  wanted.replace(5, 1, "x");
  client_write("f", wanted.substr(0, 200'000));
  const vfs::Attributes more = attributes(find("f"));
  EXPECT_EQ(seal_live("f"), SealOutcome::sealed) << "what is new";
  expect_same(attributes(find("f")), more);
  EXPECT_TRUE(all_of("f") == wanted);
  ASSERT_TRUE(setattr(find("f"), vfs::with_mode(0600)));
  EXPECT_GT(attributes(find("f")).change, more.change);
  anew();
  EXPECT_GT(attributes(find("f")).change, more.change);
  EXPECT_GT(listed().at("f").change, more.change);
}

// The record of what is hidden is a hint: without it clients read the file anew.
TEST_P(LiveSealTest, without_the_index_the_change_shows_once) {
  client_write("f", bytes_);
  const vfs::Attributes before = attributes(find("f"));
  ASSERT_EQ(seal_live("f"), SealOutcome::sealed);
  store_->index()->put_note(store_->keys().id_of(ChunkKind::root, find("f")->handle().view()),
                            base::Bytes(64));
  anew();
  EXPECT_GT(attributes(find("f")).change, before.change);
  EXPECT_TRUE(attributes(find("f")).mtime == before.mtime);
  EXPECT_TRUE(all_of("f") == bytes_);
}

TEST_P(LiveSealTest, what_others_change_meanwhile_is_not_hidden) {
  client_write("f", bytes_);
  const vfs::FileRef file = find("f");
  const vfs::Attributes before = attributes(file);
  const auto stub = vfs::run(fs_->stub(file, *source_));
  vfs::Attributes during;
  const auto change_mode = [&](vfs::Stub&, SealedInode&) -> base::Result<void> {
    EXPECT_EQ(::chmod(local("f").c_str(), 0600), 0);
    during = *fs_->tree().observe(vfs::posix::node(file));
    return {};
  };
  ASSERT_TRUE(vfs::run(source_->replace(*fs_, find("f"), **stub, change_mode)));
  EXPECT_EQ(during.change, before.change) << "until it ends";
  EXPECT_GT(attributes(find("f")).change, before.change);
}

TEST_P(LiveSealTest, a_write_in_between_wins) {
  client_write("f", bytes_);
  const auto stub = vfs::run(fs_->stub(find("f"), *source_));
  Sealer sealer(*store_, 1, hashing::Profile::general);
  const base::UniqueFd fd(::open(local("f").c_str(), O_RDONLY | O_CLOEXEC));
  SealDraft draft;
  draft.file = store_->medium().file_of(fd.get());
  draft.untouched = [] { return true; };
  ASSERT_TRUE(sealer.prepare(draft));
  ASSERT_TRUE(sealer.announce(std::span(&draft, 1)));
  ASSERT_TRUE(write(find("f"), "newer", 100));
  ASSERT_TRUE(vfs::run(source_->replace(*fs_, find("f"), **stub, [&](vfs::Stub&, SealedInode&) {
    return sealer.carry_out(std::span(&draft, 1));
  })));
  EXPECT_EQ(draft.outcome, SealOutcome::changed);
  EXPECT_FALSE(is_sealed("f"));
  EXPECT_EQ(read(find("f"), 100, 5), "newer");
}

TEST_P(LiveSealTest, a_local_process_that_writes_keeps_it_from_being_sealed) {
  client_write("f", bytes_);
  {
    const base::UniqueFd local_writer(::open(local("f").c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(seal_live("f"), SealOutcome::in_use);
  }
  {
    const base::UniqueFd local_reader(::open(local("f").c_str(), O_RDONLY | O_CLOEXEC));
    const auto open = vfs::run(fs_->open({}, find("f"), vfs::OpenAccess::read, vfs::OpenRule::caller));
    EXPECT_EQ(seal_live("f"), SealOutcome::sealed) << "readers do not";
    const auto got = vfs::run((*open)->read(100'000, 10, *cursor_));
    ASSERT_TRUE(got);
    EXPECT_EQ(base::text_of(got->data.in_memory()->bytes()), bytes_.substr(100'000, 10))
        << "an open that is older than the seal";
  }
}

TEST_P(LiveSealTest, a_read_delegation_stays) {
  client_write("f", bytes_);
  const auto open = vfs::run(fs_->open({}, find("f"), vfs::OpenAccess::read, vfs::OpenRule::caller));
  ASSERT_TRUE(open);
  std::atomic<int> broken{0};
  const auto lease =
      vfs::run(fs_->lease(*open, vfs::LeaseType::read, vfs::LeaseHolder(1), [&] { ++broken; }));
  ASSERT_TRUE(lease);
  EXPECT_EQ(seal_live("f"), SealOutcome::sealed);
  EXPECT_TRUE(all_of("f") == bytes_);
  EXPECT_EQ(broken, 0);
  const base::UniqueFd local_writer(::open(local("f").c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
  EXPECT_FALSE(local_writer) << "the kernel still knows it";
}

TEST_P(LiveSealTest, empty_files_stay_and_stopping_leaves_them_as_they_are) {
  client_write("empty", "");
  EXPECT_EQ(seal_live("empty"), SealOutcome::small);
  client_write("f", bytes_);
  stopping_ = true;
  EXPECT_EQ(seal_live("f").error(), Error::delay);
  EXPECT_FALSE(is_sealed("f"));
  EXPECT_TRUE(all_of("f") == bytes_);
}

TEST_P(LiveSealTest, a_profile_is_the_files_or_its_directories) {
  ASSERT_TRUE(mkdir("d"));
  if (::setxattr(local("d").c_str(), profile_attribute, "block", 5, 0) != 0)
    GTEST_SKIP() << "no attributes of users here";
  const auto chunk_bytes = [&](const std::string& name) {
    const base::UniqueFd fd(::open(local(name).c_str(), O_RDONLY | O_CLOEXEC));
    const auto file = store_->medium().file_of(fd.get());
    const auto sealed =
        SealedFile::open(store_->chunks(), store_->keys(), *file->handle(), **file->attribute(record_name));
    return (*sealed)->root().top.entries.front().chunk.bytes;
  };
  local_write("d/f", bytes_.substr(0, 200'000));
  ASSERT_EQ(seal_live("d/f"), SealOutcome::sealed);
  EXPECT_EQ(chunk_bytes("d/f"), hashing::block_bytes_default);
  local_write("d/g", bytes_.substr(0, 200'000));
  ASSERT_EQ(::setxattr(local("d/g").c_str(), profile_attribute, "bulk", 4, 0), 0);
  ASSERT_EQ(seal_live("d/g"), SealOutcome::sealed);
  EXPECT_GE(chunk_bytes("d/g"), 64U * 1024);
}

TEST_P(LiveSealTest, unsealed_by_the_server_it_is_a_plain_file) {
  client_write("f", bytes_);
  const vfs::Attributes before = attributes(find("f"));
  EXPECT_EQ(vfs::run(sealer_->unseal(*fs_, 1, find("f"))), false);
  ASSERT_EQ(seal_live("f"), SealOutcome::sealed);
  EXPECT_EQ(vfs::run(sealer_->unseal(*fs_, 1, find("f"))), true);
  EXPECT_FALSE(is_sealed("f"));
  EXPECT_TRUE(local_read("f") == bytes_);
  EXPECT_TRUE(all_of("f") == bytes_);
  EXPECT_TRUE(attributes(find("f")).mtime == before.mtime);
  ASSERT_TRUE(write(find("f"), "new", 3));
  EXPECT_EQ(local_read("f").substr(0, 10), bytes_.substr(0, 3) + "new" + bytes_.substr(6, 4));
}

// Clients read and write while it is sealed again and again, and garbage is collected: what they wrote last
// is what they read.
class BusyFile : public LiveSealTest {
 protected:
  BusyFile() {
    store_options_.container_bytes = 64 << 10;
    store_options_.cache_bytes = 0;
  }
  void SetUp() override {
    LiveSealTest::SetUp();
    if (IsSkipped()) return;
    wanted_ = bytes_.substr(0, 300'000);
    client_write("f", wanted_);
    pool_.emplace(io::BlockingPoolOptions{});
    options_.pool = &*pool_;
    source_->use(*pool_, "store of this test");
    anew();
    file_ = find("f");
  }
  // Without the pool again.
  void end() {
    if (open_ != nullptr) {
      EXPECT_TRUE(vfs::run(fs_->close(open_)));
    }
    open_.reset();
    file_ = root_ = {};
    fs_.reset();
    options_.pool = nullptr;
    fs_ = opened();
    root_ = fs_->root();
  }
  io::Op<> write_some() {
    const std::uint64_t at = random_() % 290'000;
    const std::string text = bytes_.substr(random_() % 100'000, 1 + random_() % 9000);
    const io::Payload data = payload(text);
    const auto borrowed = fs_->borrow(nobody_, file_);
    vfs::OpenFile& through = open_ == nullptr ? *borrowed : *open_;
    const auto put = co_await through.write(nobody_, at, data, vfs::Stability::unstable, nullptr).as_result();
    EXPECT_TRUE(put);
    wanted_.resize(std::max<std::size_t>(wanted_.size(), at + text.size()));
    wanted_.replace(at, text.size(), text);
  }
  io::Op<> look() {
    const std::uint64_t at = random_() % 290'000;
    const auto borrowed = fs_->borrow(nobody_, file_);
    vfs::OpenFile& through = open_ == nullptr ? *borrowed : *open_;
    const auto got = co_await through.read(at, 9000, *cursor_).as_result();
    EXPECT_TRUE(got);
    std::string read;
    for (const io::SlabRange& range : got->data.ranges()) read += base::text_of(*range.memory());
    EXPECT_TRUE(read == wanted_.substr(at, 9000)) << at;
    const auto now = co_await fs_->getattr(file_).as_result();
    EXPECT_TRUE(now && now->change >= change_) << "it never goes back";
    change_ = now->change;
    // Others have their turn, if nothing was waited for.
    (void)co_await on_pool(source_->group(), io::BlockingReason::other, [] { return 0; }).as_result();
  }
  // Past writers(): the server's own descriptor for writing is in the cache for a while.
  io::Op<> seal_once() {
    const auto stub = co_await fs_->stub(file_, *source_).as_result();
    Sealer sealer(*store_, 1, hashing::Profile::block);
    const base::UniqueFd fd(::open(local("f").c_str(), O_RDONLY | O_CLOEXEC));
    SealDraft draft;
    draft.file = store_->medium().file_of(fd.get());
    draft.untouched = [] { return true; };
    draft.served = true;
    const auto prepare = [&] {
      auto done = sealer.prepare(draft);
      return done && draft.outcome == SealOutcome::sealed ? sealer.announce(std::span(&draft, 1)) : done;
    };
    const auto prepared = co_await on_pool(source_->group(), io::BlockingReason::other, prepare).as_result();
    EXPECT_TRUE(prepared && *prepared);
    const auto carry_out = [&](vfs::Stub& placed, SealedInode&) {
      draft.punch = [&placed](std::uint64_t offset, std::uint64_t length) -> base::Result<void> {
        return placed.punch_own(offset, length) ? base::Result<void>() : base::fail(EIO);
      };
      return sealer.carry_out(std::span(&draft, 1));
    };
    if (draft.outcome == SealOutcome::sealed)
      (void)co_await source_->replace(*fs_, file_, **stub, carry_out).as_result();
    sealed_ += draft.outcome == SealOutcome::sealed ? 1 : 0;
    ++attempts_;
  }

  io::Op<> seal_by_range() {
    const auto sealed = co_await sealer_->seal(*fs_, 1, file_, false).as_result();
    EXPECT_TRUE(sealed);
    sealed_ += sealed && *sealed == SealOutcome::sealed ? 1 : 0;
    ++attempts_;
    (void)co_await on_pool(source_->group(), io::BlockingReason::other, [] { return 0; }).as_result();
  }
  void keep_busy(const std::function<io::Op<>()>& seal_it);

  const vfs::Credentials nobody_;
  vfs::OpenFileRef open_;
  std::optional<io::BlockingPool> pool_;
  vfs::FileRef file_;
  std::mt19937 random_{7};
  std::string wanted_;
  std::uint64_t change_ = 0;
  int attempts_ = 0, sealed_ = 0;
};
BRAID_ON_EVERY_FILE_SYSTEM(BusyFile);

void BusyFile::keep_busy(const std::function<io::Op<>()>& seal_it) {
  constexpr int rounds = 40;
  std::uint64_t removed = 0;
  std::jthread collector([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const GcReport report = collect();
      EXPECT_EQ(report.alarm, "");
      removed += report.removed;
    }
  });
  const base::SystemClock clock;
  const auto reactor = io::Reactor::create({}, clock).value();
  io::Gate gate;
  int running = 2;
  const auto use = [&]() -> io::Op<> {
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < 3; ++i) co_await write_some();
      const int seen = attempts_;
      while (attempts_ < seen + 2) co_await look();
    }
    if (--running == 0) reactor->stop();
  };
  const auto seal = [&]() -> io::Op<> {
    while (running == 2) co_await seal_it();
    reactor->stop();
  };
  reactor->post(std::function<void()>([&] {
    io::spawn(gate, use());
    io::spawn(gate, seal());
  }));
  reactor->run();
  EXPECT_GT(sealed_, rounds / 2);
  collector.request_stop();
  collector.join();
  EXPECT_GT(removed, 0U);
  end();
  EXPECT_TRUE(all_of("f") == wanted_);
}

TEST_P(BusyFile, is_what_was_written_last) {
  keep_busy([this] { return seal_once(); });
}

// The server seals it itself, where nobody has written since it looked last.
TEST_P(BusyFile, is_what_was_written_last_while_a_client_has_it_open) {
  open_ = file("f");
  keep_busy([this] { return seal_by_range(); });
}

}  // namespace
}  // namespace braid::store::test
