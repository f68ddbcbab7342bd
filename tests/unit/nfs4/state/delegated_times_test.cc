// Times of a file that the holder of a delegation keeps (RFC 9754 section 5).
#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>
#include <utility>

#include "delegations_compound_fixture.h"

namespace braid::nfs4::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t timed_wish = any_wish | OPEN4_SHARE_ACCESS_WANT_DELEG_TIMESTAMPS;

// One time alone, by its attribute.
template <std::uint32_t attribute>
fattr4 said(std::int64_t seconds) {
  static constexpr std::array<std::uint32_t, 3> mask{0, 0, 1U << (attribute % 32)};
  io::SlabCursor cursor(test_slabs());
  xdr::Encoder out(cursor);
  out.i64(seconds);
  out.u32(5);
  return {.attrmask = mask, .attr_vals = out.finish().bytes};
}
fattr4 said_modified(std::int64_t seconds) { return said<FATTR4_TIME_DELEG_MODIFY>(seconds); }
fattr4 said_read(std::int64_t seconds) { return said<FATTR4_TIME_DELEG_ACCESS>(seconds); }

// Of "file": what the file system says, and what it is to say.
class DelegatedTimes : public DelegationCompound {
 protected:
  DelegatedTimes() { put(1000); }
  void put(std::int64_t seconds) const {
    const timespec both[2] = {{seconds, 0}, {seconds, 0}};
    EXPECT_EQ(::utimensat(AT_FDCWD, path().c_str(), both, 0), 0);
  }
  [[nodiscard]] std::int64_t modified() const { return now().st_mtim.tv_sec; }
  [[nodiscard]] std::int64_t accessed() const { return now().st_atim.tv_sec; }
  [[nodiscard]] std::string path() const { return world_.directory() + "/file"; }

 private:
  [[nodiscard]] struct stat now() const {
    struct stat stat{};
    EXPECT_EQ(::stat(path().c_str(), &stat), 0);
    return stat;
  }
};

TEST_F(DelegatedTimes, are_not_for_who_may_only_read) {
  ASSERT_EQ(::chmod(world_.directory().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(path().c_str(), 0644), 0);
  SessionClient carol(world_, 2, "carol", {.uid = 1000, .gid = 1000, .connection = peer_.connection()});
  const auto given = open_file(carol, read_access | timed_wish).delegation;
  EXPECT_EQ(given.delegation_type, OPEN_DELEGATE_READ);
  const stateid4 id = id_of(given);
  EXPECT_EQ(on_file(carol, OP_SETATTR, SETATTR4args{id, said_modified(2000)}).status(), NFS4ERR_INVAL);
  EXPECT_EQ(on_file(carol, OP_SETATTR, SETATTR4args{id, said_read(2000)}).status(), NFS4ERR_INVAL);
  EXPECT_EQ(modified(), 1000);
  EXPECT_EQ(accessed(), 1000);
}

TEST_F(DelegatedTimes, of_a_read_delegation_are_the_atime_alone) {
  const auto given = open_file(alice_, read_access | timed_wish).delegation;
  ASSERT_EQ(given.delegation_type, OPEN_DELEGATE_READ_ATTRS_DELEG);
  EXPECT_EQ(on_file(alice_, OP_SETATTR, SETATTR4args{id_of(given), said_modified(2000)}).status(),
            NFS4ERR_OPENMODE);
  EXPECT_EQ(on_file(alice_, OP_SETATTR, SETATTR4args{id_of(given), said_read(2000)}).status(), NFS4_OK);
  EXPECT_EQ(modified(), 1000);
  EXPECT_EQ(accessed(), 2000);
}

TEST_F(DelegatedTimes, are_not_said_with_somebody_elses_delegation) {
  ASSERT_EQ(::chmod(world_.directory().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(path().c_str(), 0644), 0);
  const stateid4 id = id_of(open_file(alice_, both_access | timed_wish).delegation);
  const auto say = [&](std::uint32_t uid) {
    Request request = alice_.request();
    request.add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"file"});
    request.add(OP_SETATTR, SETATTR4args{id, said_modified(2000)});
    return world_.send(request, {.uid = uid, .gid = uid, .connection = peer_.connection()}).status();
  };
  EXPECT_EQ(say(1000), NFS4ERR_ACCESS);
  EXPECT_EQ(modified(), 1000);
  EXPECT_EQ(say(0), NFS4_OK);
  EXPECT_EQ(modified(), 2000);
}

TEST_F(DelegatedTimes, never_go_back_from_the_future) {
  const std::int64_t future = 4'000'000'000;
  put(future);
  const stateid4 id = id_of(open_file(alice_, both_access | timed_wish).delegation);
  EXPECT_EQ(on_file(alice_, OP_SETATTR, SETATTR4args{id, said_modified(future + 1)}).status(), NFS4_OK);
  EXPECT_EQ(modified(), future);
}

// What bob sees is of no interest but for the question that it leads to.
TEST_F(DelegatedTimes, told_by_callback_lie_between_the_files_own_and_the_present) {
  open_file(alice_, both_access | timed_wish);
  peer_.keeps_times = true;
  peer_.change = 1;
  peer_.atime = peer_.mtime = 2000;
  EXPECT_TRUE(size_seen_by(bob_));
  EXPECT_EQ(peer_.await(nfs_cb_opnum4::OP_CB_GETATTR).attributes, 3U);
  EXPECT_EQ(std::pair(accessed(), modified()), std::pair(2000L, 2000L));
  peer_.atime = peer_.mtime = 0;
  EXPECT_TRUE(size_seen_by(bob_));
  EXPECT_EQ(std::pair(accessed(), modified()), std::pair(2000L, 2000L));
  peer_.atime = peer_.mtime = 7'258'118'400;  // in 2200
  EXPECT_TRUE(size_seen_by(bob_));
  const std::int64_t present = world_.clock().wall().time_since_epoch() / 1s;
  EXPECT_EQ(std::pair(accessed(), modified()), std::pair(present, present));
}

TEST_F(DelegatedTimes, that_are_passed_over_hide_no_change) {
  open_file(alice_, both_access | timed_wish);
  peer_.keeps_times = true;
  peer_.change = 1;
  const auto change_seen = [&] {
    static constexpr std::array<std::uint32_t, 1> mask{1U << FATTR4_CHANGE};
    Reply reply = on_file(bob_, OP_GETATTR, GETATTR4args{mask});
    EXPECT_EQ(reply.status(), NFS4_OK);
    return size_in(reply.result<GETATTR4res>(OP_GETATTR));  // a number as the size is
  };
  const std::uint64_t before = change_seen();
  EXPECT_NE(change_seen(), before);
  EXPECT_EQ(modified(), 1000);
}

TEST_F(DelegatedTimes, are_the_holders_if_it_keeps_them) {
  const stateid4 id = id_of(open_file(alice_, both_access | timed_wish).delegation);
  EXPECT_EQ(on_file(alice_, OP_SETATTR, SETATTR4args{id, said_modified(2000)}).status(), NFS4_OK);
  EXPECT_EQ(modified(), 2000);
  EXPECT_EQ(on_file(alice_, OP_SETATTR, SETATTR4args{id, said_modified(1500)}).status(), NFS4_OK);
  EXPECT_EQ(modified(), 2000) << "time does not go back";
  EXPECT_EQ(give_back(alice_, id), NFS4_OK);
  const stateid4 plain = id_of(open_file(alice_, both_access | any_wish).delegation);
  EXPECT_EQ(on_file(alice_, OP_SETATTR, SETATTR4args{plain, said_modified(3000)}).status(), NFS4ERR_INVAL);
  // With a size, too.
  io::SlabCursor cursor(test_slabs());
  xdr::Encoder out(cursor);
  out.u64(0);
  out.i64(3000);
  out.u32(5);
  static constexpr std::array<std::uint32_t, 3> both{1U << FATTR4_SIZE, 0,
                                                     1U << (FATTR4_TIME_DELEG_MODIFY % 32)};
  const fattr4 cut{.attrmask = both, .attr_vals = out.finish().bytes};
  EXPECT_EQ(on_file(alice_, OP_SETATTR, SETATTR4args{plain, cut}).status(), NFS4ERR_INVAL);
  EXPECT_EQ(modified(), 2000);
  EXPECT_EQ(give_back(alice_, plain), NFS4_OK);
  EXPECT_EQ(world_.read_local("file"), "content") << "nothing is done of what is refused in part";
}

}  // namespace
}  // namespace braid::nfs4::test
