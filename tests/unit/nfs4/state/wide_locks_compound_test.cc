// One operation over very many ranges of one owner, as clients and local processes see it.
#include <cstdint>
#include <optional>

#include "nfs4/state/locks/locks.h"
#include "opens_compound_fixture.h"

namespace braid::nfs4::test {
namespace {

class WideLockCompound : public OpenCompound {
 protected:
  static constexpr std::uint64_t ranges = 3 * state::Locks::ranges_at_once;
  // The byte of the last range.
  static constexpr std::uint64_t last = 2 * (ranges - 1);

  // Each second byte of the file.
  void SetUp() override {
    world_.write_local("file", "content");
    local_.emplace(world_.directory() + "/file");
    const stateid4 mine = opened(alice_, open_args("file", both_access));
    Reply first = on_file(alice_, "file", OP_LOCK, lock_args(mine, "a", nfs_lock_type4::WRITE_LT, 0, 1));
    id_ = first.result<LOCK4res>(OP_LOCK).resok4()->lock_stateid;
    for (std::uint64_t i = 1; i < ranges; ++i) {
      Reply another = on_file(alice_, "file", OP_LOCK, more(2 * i, 1));
      ASSERT_EQ(another.status(), NFS4_OK);
      id_ = another.result<LOCK4res>(OP_LOCK).resok4()->lock_stateid;
    }
  }
  [[nodiscard]] LOCK4args more(std::uint64_t offset, std::uint64_t length) const {
    LOCK4args args;
    args.locktype = nfs_lock_type4::WRITE_LT;
    args.offset = offset;
    args.length = length;
    args.locker = locker4::with_lock_owner({id_, 0});
    return args;
  }

  std::optional<LocalLocker> local_;
  stateid4 id_;
};

TEST_F(WideLockCompound, it_unlocks) {
  EXPECT_FALSE(local_->lock(F_WRLCK, last, 1));
  Reply unlocked = on_file(alice_, "file", OP_LOCKU, LOCKU4args{nfs_lock_type4::WRITE_LT, 0, id_, 0, last});
  ASSERT_EQ(unlocked.status(), NFS4_OK);
  EXPECT_EQ(unlocked.result<LOCKU4res>(OP_LOCKU).lock_stateid()->seqid, id_.seqid + 1);
  EXPECT_TRUE(local_->lock(F_WRLCK, 0, last));
  EXPECT_FALSE(local_->lock(F_WRLCK, last, 1)) << "it was not to be unlocked";
}

TEST_F(WideLockCompound, it_locks) {
  Reply locked = on_file(alice_, "file", OP_LOCK, more(0, last));
  ASSERT_EQ(locked.status(), NFS4_OK);
  const stateid4 id = locked.result<LOCK4res>(OP_LOCK).resok4()->lock_stateid;
  EXPECT_EQ(id.seqid, id_.seqid + 1);
  EXPECT_FALSE(local_->lock(F_WRLCK, last - 1, 1));
  const stateid4 bobs = opened(bob_, open_args("file", both_access));
  EXPECT_EQ(lock(bob_, lock_args(bobs, "b", nfs_lock_type4::READ_LT, last - 1, 1)), NFS4ERR_DENIED);
  Reply unlocked = on_file(alice_, "file", OP_LOCKU, LOCKU4args{nfs_lock_type4::WRITE_LT, 0, id, 0, last});
  ASSERT_EQ(unlocked.status(), NFS4_OK);
  EXPECT_EQ(lock(bob_, lock_args(bobs, "b", nfs_lock_type4::READ_LT, 0, last)), NFS4_OK);
}

TEST_F(WideLockCompound, what_a_local_process_has_locked_between_them_is_denied) {
  ASSERT_TRUE(local_->lock(F_WRLCK, last - 1, 1));
  EXPECT_EQ(on_file(alice_, "file", OP_LOCK, more(0, last)).status(), NFS4ERR_DENIED);
  const stateid4 bobs = opened(bob_, open_args("file", both_access));
  EXPECT_EQ(lock(bob_, lock_args(bobs, "b", nfs_lock_type4::WRITE_LT, 1, 1)), NFS4_OK);
  EXPECT_EQ(lock(bob_, lock_args(bobs, "b", nfs_lock_type4::READ_LT, 2, 1)), NFS4ERR_DENIED);
  ASSERT_TRUE(local_->lock(F_UNLCK, last - 1, 1));
  Reply locked = on_file(alice_, "file", OP_LOCK, more(2, last - 2));
  ASSERT_EQ(locked.status(), NFS4_OK) << "with the stateid that it had";
  EXPECT_EQ(locked.result<LOCK4res>(OP_LOCK).resok4()->lock_stateid.seqid, id_.seqid + 1);
}

}  // namespace
}  // namespace braid::nfs4::test
