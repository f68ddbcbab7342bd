// Byte-range locks and leases: what local processes see of them, and what is seen of theirs.
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <utility>

#include "bell.h"
#include "io/gate.h"
#include "io/reactor.h"
#include "posix_fixture.h"

namespace braid::vfs {
namespace {

constexpr LockOwnerId alice{1};
constexpr LockOwnerId bob{2};
constexpr LockRange everything{};

class LockTest : public PosixTest {
 protected:
  void SetUp() override {
    PosixTest::SetUp();
    if (IsSkipped()) return;
    local_write("file", "0123456789");
    file_ = find("file");
    both_ = open(OpenAccess::both);
  }
  void TearDown() override {
    both_.reset();
    file_ = {};
    PosixTest::TearDown();
  }
  OpenFileRef open(OpenAccess access) { return run(fs_->open({}, file_, access, OpenRule::caller)).value(); }
  // True if it was placed.
  bool lock(LockOwnerId owner, LockRange range, LockType type) {
    const auto conflict = run(fs_->lock(both_, owner, range, type));
    EXPECT_TRUE(conflict);
    conflict_ = conflict.value_or(std::nullopt);
    return conflict && !*conflict;
  }
  bool unlock(LockOwnerId owner, LockRange range) {
    return run(fs_->unlock(file_, owner, range)).has_value();
  }
  bool free_for(LockOwnerId owner, LockRange range, LockType type) {
    const auto conflict = run(fs_->test_lock(file_, owner, range, type));
    EXPECT_TRUE(conflict);
    conflict_ = conflict.value_or(std::nullopt);
    return conflict && !*conflict;
  }

  // A local process' view, through a description of its own.
  class Local {
   public:
    explicit Local(const std::string& path, int flags = O_RDWR)
        : fd_(::open(path.c_str(), flags | O_CLOEXEC)) {}
    bool lock(short type, off_t start, off_t length) const {
      struct flock lock{};
      lock.l_type = type;
      lock.l_whence = SEEK_SET;
      lock.l_start = start;
      lock.l_len = length;
      return ::fcntl(fd_.get(), F_OFD_SETLK, &lock) == 0;
    }
    [[nodiscard]] int fd() const { return fd_.get(); }

   private:
    base::UniqueFd fd_;
  };

  FileRef file_;
  OpenFileRef both_;
  std::optional<LockConflict> conflict_;
};
BRAID_ON_EVERY_FILE_SYSTEM(LockTest);

TEST_P(LockTest, a_lock_keeps_local_processes_out_until_it_ends) {
  const Local local(this->local("file"));
  ASSERT_TRUE(lock(alice, {2, 3}, LockType::write));
  EXPECT_FALSE(local.lock(F_RDLCK, 2, 1));
  EXPECT_FALSE(local.lock(F_WRLCK, 4, 10));
  EXPECT_TRUE(local.lock(F_WRLCK, 5, 10));
  EXPECT_TRUE(local.lock(F_WRLCK, 0, 2));
  ASSERT_TRUE(unlock(alice, {2, 3}));
  EXPECT_TRUE(local.lock(F_WRLCK, 0, 0));
}

TEST_P(LockTest, a_local_lock_is_the_answer) {
  const Local local(this->local("file"));
  ASSERT_TRUE(local.lock(F_RDLCK, 4, 2));
  EXPECT_FALSE(lock(alice, {0, 10}, LockType::write));
  ASSERT_TRUE(conflict_);
  EXPECT_EQ(conflict_->type, LockType::read);
  EXPECT_EQ(conflict_->range, (LockRange{4, 2}));
  EXPECT_FALSE(conflict_->owner);
  EXPECT_FALSE(free_for(alice, {5, 1}, LockType::write));
  EXPECT_TRUE(free_for(alice, {5, 1}, LockType::read));
  EXPECT_TRUE(lock(alice, {0, 10}, LockType::read));
  EXPECT_FALSE(lock(alice, {0, 10}, LockType::write)) << "an upgrade meets it too";
  ASSERT_TRUE(local.lock(F_UNLCK, 0, 0));
  EXPECT_TRUE(lock(alice, {0, 10}, LockType::write));
}

TEST_P(LockTest, a_refused_upgrade_leaves_the_lock_that_was_there) {
  const Local local(this->local("file"));
  ASSERT_TRUE(lock(alice, {0, 10}, LockType::read));
  ASSERT_TRUE(local.lock(F_RDLCK, 0, 10));
  EXPECT_FALSE(lock(alice, {0, 10}, LockType::write));
  ASSERT_TRUE(local.lock(F_UNLCK, 0, 0));
  EXPECT_FALSE(local.lock(F_WRLCK, 9, 1));
}

TEST_P(LockTest, owners_are_in_each_others_way) {
  ASSERT_TRUE(lock(alice, {0, 5}, LockType::write));
  EXPECT_FALSE(lock(bob, {4, 4}, LockType::read));
  ASSERT_TRUE(conflict_);
  EXPECT_EQ(conflict_->owner, alice);
  EXPECT_EQ(conflict_->range, (LockRange{0, 5}));
  EXPECT_TRUE(lock(bob, {5, 5}, LockType::write));
  EXPECT_FALSE(free_for(alice, {0, 10}, LockType::read));
  EXPECT_EQ(conflict_->owner, bob);
}

TEST_P(LockTest, what_two_owners_read_locked_stays_until_both_are_done) {
  const Local local(this->local("file"));
  ASSERT_TRUE(lock(alice, {0, 6}, LockType::read));
  ASSERT_TRUE(lock(bob, {4, 6}, LockType::read));
  ASSERT_TRUE(unlock(alice, {0, 6}));
  EXPECT_TRUE(local.lock(F_WRLCK, 0, 4));
  EXPECT_FALSE(local.lock(F_WRLCK, 4, 1));
  ASSERT_TRUE(unlock(bob, everything));
  EXPECT_TRUE(local.lock(F_WRLCK, 0, 0));
}

TEST_P(LockTest, a_downgrade_lets_readers_in) {
  const Local local(this->local("file"));
  ASSERT_TRUE(lock(alice, everything, LockType::write));
  ASSERT_TRUE(lock(alice, {0, 4}, LockType::read));
  EXPECT_TRUE(local.lock(F_RDLCK, 0, 4));
  EXPECT_FALSE(local.lock(F_RDLCK, 4, 1));
  EXPECT_TRUE(lock(bob, {0, 4}, LockType::read));
}

TEST_P(LockTest, ranges_beyond_what_the_kernel_knows_are_locks_too) {
  const std::uint64_t far = std::uint64_t{1} << 63U;
  ASSERT_TRUE(lock(alice, {far + 5, 10}, LockType::write));
  EXPECT_FALSE(lock(bob, {far + 14, LockRange::to_end}, LockType::write));
  EXPECT_TRUE(lock(bob, {far + 15, LockRange::to_end}, LockType::write));
  EXPECT_EQ(conflict_, std::nullopt);
  const Local local(this->local("file"));
  EXPECT_TRUE(local.lock(F_WRLCK, 0, 0));
}

TEST_P(LockTest, a_range_must_have_bytes_and_end_within_64_bits) {
  EXPECT_EQ(run(fs_->lock(both_, alice, {5, 0}, LockType::read)).error(), Error::inval);
  EXPECT_EQ(run(fs_->lock(both_, alice, {5, LockRange::to_end - 1}, LockType::read)).error(), Error::inval);
  EXPECT_TRUE(lock(alice, {1, LockRange::to_end - 1}, LockType::read));
}

TEST_P(LockTest, a_lock_needs_an_open_of_its_kind) {
  const auto reader = open(OpenAccess::read);
  const auto writer = open(OpenAccess::write);
  EXPECT_EQ(run(fs_->lock(reader, alice, everything, LockType::write)).error(), Error::inval);
  EXPECT_EQ(run(fs_->lock(writer, alice, everything, LockType::read)).error(), Error::inval);
  EXPECT_TRUE(run(fs_->lock(writer, alice, {0, 1}, LockType::write)));
  EXPECT_TRUE(run(fs_->lock(reader, bob, {5, 1}, LockType::read)));
}

TEST_P(LockTest, a_lock_outlives_the_open_and_other_descriptors_of_the_server) {
  const Local local(this->local("file"));
  ASSERT_TRUE(lock(alice, {0, 10}, LockType::write));
  both_.reset();
  EXPECT_EQ(read(file_), "0123456789");
  {
    const auto more = open(OpenAccess::read);
  }
  EXPECT_FALSE(local.lock(F_RDLCK, 0, 1));
  ASSERT_TRUE(unlock(alice, everything));
  EXPECT_TRUE(local.lock(F_WRLCK, 0, 0));
}

TEST_P(LockTest, a_file_without_a_name_can_be_locked) {
  ASSERT_TRUE(remove("file"));
  EXPECT_TRUE(lock(alice, {0, 10}, LockType::write));
  EXPECT_FALSE(lock(bob, {0, 10}, LockType::write));
  EXPECT_TRUE(unlock(alice, {0, 10}));
  EXPECT_TRUE(free_for(bob, {0, 10}, LockType::write));
}

class LeaseTest : public LockTest {
 protected:
  Outcome<LeaseRef> lease(const OpenFileRef& open, LeaseType type) {
    return run(fs_->lease(open, type, holder, bell_.ring()));
  }
  // Of another process: whether open(2) succeeds at once.
  [[nodiscard]] bool opens_locally(int flags) const {
    const base::UniqueFd fd(::open(local("file").c_str(), flags | O_NONBLOCK | O_CLOEXEC));
    return static_cast<bool>(fd);
  }
  static constexpr LeaseHolder holder{7};
  Bell bell_;
};
BRAID_ON_EVERY_FILE_SYSTEM(LeaseTest);

TEST_P(LeaseTest, a_local_writer_waits_for_a_read_lease_and_is_announced) {
  both_.reset();
  const auto reader = open(OpenAccess::read);
  auto held = lease(reader, LeaseType::read);
  ASSERT_TRUE(held);
  EXPECT_TRUE(opens_locally(O_RDONLY));
  EXPECT_FALSE(bell_.rung());
  EXPECT_FALSE(opens_locally(O_WRONLY));
  EXPECT_TRUE(bell_.wait());
  held->reset();
  EXPECT_TRUE(opens_locally(O_WRONLY));
}

// Under a lease locks are placed through the description of the open, which cannot hold locks for writing.
TEST_P(LeaseTest, many_locks_come_to_another_description_in_portions) {
  constexpr std::uint64_t locks = 2000, distance = 20;
  both_.reset();
  const auto reader = open(OpenAccess::read);
  auto held = lease(reader, LeaseType::read);
  ASSERT_TRUE(held);
  for (std::uint64_t i = 1; i <= locks; ++i)
    ASSERT_TRUE(run(fs_->lock(reader, alice, {distance * i, 10}, LockType::read)));
  held->reset();
  const auto writer = open(OpenAccess::both);
  const base::SystemClock clock;
  const auto reactor = io::Reactor::create({}, clock).value();
  io::Gate gate;
  bool done = false;
  int turns = 0;
  const auto write_lock = [&]() -> io::Op<> {
    const auto conflict = co_await fs_->lock(writer, bob, {0, 10}, LockType::write).as_result();
    EXPECT_TRUE(conflict && !*conflict);
    done = true;
  };
  const auto others = [&]() -> io::Op<> {
    while (!done) {
      co_await reactor->next_turn();
      if (++turns != 5) continue;
      // Before and behind what has been placed already.
      for (const std::uint64_t at : {std::uint64_t{12}, distance * locks + 12}) {
        const auto conflict = co_await fs_->lock(reader, alice, {at, 4}, LockType::read).as_result();
        EXPECT_TRUE(conflict && !*conflict);
      }
      for (const std::uint64_t i : {std::uint64_t{1}, locks})
        EXPECT_TRUE(co_await fs_->unlock(file_, alice, {distance * i, 10}).as_result());
    }
    reactor->stop();
  };
  reactor->post(std::function<void()>([&] {
    io::spawn(gate, write_lock());
    io::spawn(gate, others());
  }));
  reactor->run();
  EXPECT_GE(turns, static_cast<int>(locks / 64));
  // What others of the reactor waited for.
  EXPECT_GE(fs_->stats().lock_entries_max, locks);
  EXPECT_LE(fs_->stats().lock_entries_max, std::uint64_t{1} << 15);
  const Local local(this->local("file"));
  const auto is_locked = [&](std::uint64_t at) { return !local.lock(F_WRLCK, static_cast<off_t>(at), 1); };
  EXPECT_TRUE(is_locked(0) && is_locked(12) && is_locked(distance * locks + 12));
  EXPECT_FALSE(is_locked(distance + 1) || is_locked(distance * locks + 1));
  for (std::uint64_t i = 2; i < locks; ++i) ASSERT_TRUE(is_locked(distance * i + 9)) << i;
  EXPECT_TRUE(unlock(alice, {0, LockRange::to_end}) && unlock(bob, {0, LockRange::to_end}));
  EXPECT_TRUE(local.lock(F_WRLCK, 0, 0));
}

TEST_P(LeaseTest, keeps_its_file_system_when_the_export_is_gone) {
  both_.reset();
  auto reader = open(OpenAccess::read);
  auto held = lease(reader, LeaseType::read);
  ASSERT_TRUE(held);
  const std::weak_ptr<PosixFileSystem> export_of = fs_;
  file_ = {};
  root_ = {};
  fs_.reset();
  EXPECT_FALSE(opens_locally(O_WRONLY));
  EXPECT_TRUE(bell_.wait());
  reader.reset();
  held->reset();
  EXPECT_TRUE(opens_locally(O_WRONLY));
  EXPECT_TRUE(export_of.expired());
}

TEST_P(LeaseTest, a_blocked_local_open_goes_on_when_the_lease_is_given_back) {
  auto held = lease(both_, LeaseType::write);
  ASSERT_TRUE(held);
  const std::string path = local("file");
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::open(path.c_str(), O_RDONLY) >= 0 ? 0 : 1);
  EXPECT_TRUE(bell_.wait());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, WNOHANG), 0) << "it waits";
  held->reset();
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_P(LeaseTest, a_lease_is_refused_while_a_local_process_is_in_the_way) {
  both_.reset();
  const auto reader = open(OpenAccess::read);
  {
    const Local local(this->local("file"), O_WRONLY);
    EXPECT_EQ(lease(reader, LeaseType::read).error(), Error::delay);
  }
  const Local local(this->local("file"), O_RDONLY);
  EXPECT_TRUE(lease(reader, LeaseType::read));
  EXPECT_EQ(lease(open(OpenAccess::both), LeaseType::write).error(), Error::delay);
}

TEST_P(LeaseTest, nfsv3_calls_that_conflict_ask_for_the_lease) {
  auto held = lease(both_, LeaseType::write);
  ASSERT_TRUE(held);
  EXPECT_EQ(read(file_).error(), Error::delay);
  EXPECT_TRUE(bell_.wait());
  held->reset();
  EXPECT_EQ(read(file_), "0123456789");
}

TEST_P(LeaseTest, a_change_by_somebody_else_asks_for_the_lease) {
  both_.reset();
  const auto reader = open(OpenAccess::read);
  const FileRef root = fs_->root();
  SetAttributes mode;
  mode.mode = 0640;
  local_write("other", "");
  Credentials own;
  own.holder = holder;
  const std::pair<const char*, std::function<Outcome<>(const Credentials&)>> changes[] = {
      {"setattr", [&](const auto& who) { return run(fs_->setattr(who, file_, mode, std::nullopt, &wcc_)); }},
      {"link", [&](const auto& who) { return run(fs_->link(who, file_, root, "second", wcc_)); }},
      {"rename over",
       [&](const auto& who) { return run(fs_->rename(who, root, "other", root, "second", wcc_, wcc_)); }},
      {"rename",
       [&](const auto& who) { return run(fs_->rename(who, root, "file", root, "moved", wcc_, wcc_)); }},
      {"remove", [&](const auto& who) { return run(fs_->remove(who, root, "moved", wcc_)); }},
  };
  for (const auto& [what, change] : changes) {
    SCOPED_TRACE(what);
    bell_.reset();
    auto held = lease(reader, LeaseType::read);
    ASSERT_TRUE(held);
    const auto refused = change({});
    EXPECT_EQ(refused ? Error{} : refused.error(), Error::delay);
    EXPECT_TRUE(bell_.rung());
    EXPECT_TRUE(change(own)) << "the holder itself";
  }
}

// What leases do not tell of.
TEST_P(LeaseTest, a_local_change_of_names_or_attributes_is_announced) {
  both_.reset();
  const auto reader = open(OpenAccess::read);
  local_write("other", "");
  const std::string file = local("file"), second = local("second"), other = local("other");
  const timespec mtime_alone[2] = {{0, UTIME_OMIT}, {7, 0}};
  const std::pair<const char*, std::function<int()>> changes[] = {
      {"chmod", [&] { return ::chmod(file.c_str(), 0640); }},
      {"chown", [&] { return ::chown(file.c_str(), 7, 8); }},
      {"mtime", [&] { return ::utimensat(AT_FDCWD, file.c_str(), mtime_alone, 0); }},
      {"link", [&] { return ::link(file.c_str(), second.c_str()); }},
      {"rename over a name of it", [&] { return ::rename(other.c_str(), second.c_str()); }},
      {"rename", [&] { return ::rename(file.c_str(), other.c_str()); }},
      {"exchange",
       [&] { return ::renameat2(AT_FDCWD, other.c_str(), AT_FDCWD, second.c_str(), RENAME_EXCHANGE); }},
      {"remove", [&] { return ::unlink(second.c_str()); }},
  };
  for (const auto& [what, change] : changes) {
    SCOPED_TRACE(what);
    bell_.reset();
    auto held = lease(reader, LeaseType::read);
    ASSERT_TRUE(held);
    ASSERT_EQ(change(), 0);
    EXPECT_TRUE(bell_.wait());
  }
}

TEST_P(LeaseTest, what_the_holder_changes_itself_is_not_announced_to_it) {
  const FileRef root = fs_->root();
  SetAttributes mode;
  mode.mode = 0640;
  Credentials own;
  own.holder = holder;
  auto held = lease(both_, LeaseType::write);
  ASSERT_TRUE(held);
  EXPECT_TRUE(run(fs_->setattr(own, file_, mode, std::nullopt, &wcc_)));
  EXPECT_TRUE(run(fs_->link(own, file_, root, "second", wcc_)));
  EXPECT_TRUE(run(fs_->rename(own, root, "file", root, "moved", wcc_, wcc_)));
  EXPECT_TRUE(run(fs_->remove(own, root, "second", wcc_)));
  EXPECT_FALSE(bell_.rung());
  ASSERT_EQ(::chmod(local("moved").c_str(), 0600), 0);
  EXPECT_TRUE(bell_.wait()) << "but what others change is";
}

TEST_P(LeaseTest, a_change_goes_on_when_the_lease_has_ended) {
  both_.reset();
  const auto reader = open(OpenAccess::read);
  {
    auto held = lease(reader, LeaseType::read);
    ASSERT_TRUE(held);
  }
  EXPECT_TRUE(run(fs_->remove({}, fs_->root(), "file", wcc_)));
  EXPECT_FALSE(bell_.rung());
}

TEST_P(LeaseTest, the_holder_works_on_through_its_open) {
  auto held = lease(both_, LeaseType::write);
  ASSERT_TRUE(held);
  const io::Payload data = payload("new");
  EXPECT_TRUE(run(both_->write({}, 0, data, Stability::unstable)));
  EXPECT_TRUE(commit(file_));
  SetAttributes size;
  size.size = 5;
  EXPECT_TRUE(run(both_->set({}, size)));
  EXPECT_TRUE(lock(alice, {0, 4}, LockType::write)) << "on the holder's own description";
  EXPECT_TRUE(free_for(bob, {4, 4}, LockType::write));
  EXPECT_TRUE(unlock(alice, {0, 4}));
  EXPECT_TRUE(free_for(bob, {0, 4}, LockType::write));
  EXPECT_EQ(attributes(file_).size, 5U);
  EXPECT_FALSE(bell_.rung()) << "its own locks do not break the lease";
}

TEST_P(LeaseTest, a_lease_that_ended_is_not_announced) {
  {
    auto held = lease(both_, LeaseType::write);
  }
  auto again = lease(both_, LeaseType::write);
  ASSERT_TRUE(again);
  again->reset();
  EXPECT_TRUE(opens_locally(O_RDWR));
  EXPECT_FALSE(bell_.rung());
}

TEST_P(LeaseTest, a_write_lease_is_refused_while_somebody_else_has_the_file_open_in_the_same_way) {
  auto second = open(OpenAccess::both);
  EXPECT_EQ(lease(both_, LeaseType::write).error(), Error::delay);
  second.reset();
  auto held = lease(both_, LeaseType::write);
  EXPECT_TRUE(held);
  EXPECT_EQ(run(fs_->open({}, file_, OpenAccess::both, OpenRule::caller)).error(), Error::delay);
  EXPECT_TRUE(bell_.wait());
}

TEST_P(LeaseTest, read_leases_of_opens_that_share_a_descriptor_end_by_themselves) {
  both_.reset();
  const auto first = open(OpenAccess::read), second = open(OpenAccess::read);
  auto one = lease(first, LeaseType::read);
  Bell other;
  auto two = run(fs_->lease(second, LeaseType::read, LeaseHolder(8), other.ring()));
  ASSERT_TRUE(one && two);
  one->reset();
  EXPECT_FALSE(opens_locally(O_WRONLY));
  EXPECT_TRUE(other.wait());
  EXPECT_FALSE(bell_.rung());
  EXPECT_EQ(lease(first, LeaseType::read).error(), Error::delay) << "somebody waits";
  two->reset();
  EXPECT_TRUE(opens_locally(O_WRONLY));
  EXPECT_TRUE(lease(first, LeaseType::read));
}

TEST_P(LeaseTest, a_local_writer_is_announced_to_all_who_have_a_read_lease) {
  both_.reset();
  const auto first = open(OpenAccess::read), second = open(OpenAccess::read);
  const auto one = lease(first, LeaseType::read);
  Bell other;
  const auto two = run(fs_->lease(second, LeaseType::read, LeaseHolder(8), other.ring()));
  ASSERT_TRUE(one && two);
  EXPECT_FALSE(opens_locally(O_WRONLY));
  EXPECT_TRUE(bell_.wait());
  EXPECT_TRUE(other.wait());
}

TEST_P(LeaseTest, a_read_lease_needs_an_open_for_reading_alone) {
  EXPECT_EQ(lease(both_, LeaseType::read).error(), Error::inval);
}

}  // namespace
}  // namespace braid::vfs
