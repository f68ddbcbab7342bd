// GETATTR and SETATTR.
#include <memory>
#include <vector>

#include "vfs/posix/tree.h"

namespace braid::vfs::posix {
namespace {

constexpr std::uint32_t set_uid = 04000;
constexpr std::uint32_t set_gid = 02000;
constexpr std::uint32_t group_execute = 00010;
constexpr std::uint32_t no_change = 0xffffffff;  // to fchownat(2)

timespec timespec_of(const SetTime& set) {
  switch (set.how) {
    case SetTime::How::leave:
      return {0, UTIME_OMIT};
    case SetTime::How::server:
      return {0, UTIME_NOW};
    case SetTime::How::client:
      return {set.value.seconds, static_cast<long>(set.value.nanoseconds)};
  }
  return {0, UTIME_OMIT};
}

bool sets_times(const SetAttributes& set) {
  return set.atime.how != SetTime::How::leave || set.mtime.how != SetTime::How::leave;
}

}  // namespace

Outcome<Attributes> Tree::observe(PosixFile& file) {
  const std::uint32_t changes = file.changes().changes();
  const auto stat = stat_of(file.fd());
  if (!stat) return base::fail(stat.error());
  return seen(file, *stat, changes);
}

Attributes Tree::seen(PosixFile& file, const Stat& stat, std::uint32_t changes) {
  Attributes out = attributes_of(stat, file.identity().fsid);
  file.note_size(out.size);
  out.change = file.stamp().with([&](ChangeStamp& stamp) { return stamp.observe(out.change, changes); });
  return out;
}

// Attributes of an object that still has a name or is held open. Others are stale, and nobody else shall find
// them.
Outcome<Attributes> Tree::live_attributes(PosixFile& file) {
  auto now = observe(file);
  if (now && now->nlink == 0 && lost_last_name(file)) return base::fail(Error::stale);
  return now;
}

// True if nobody holds it open either: it is then forgotten, otherwise with the last open or lease. Who has a
// lease on a directory hears of its end (RFC 8881 10.9.4); on a file, of the name's.
bool Tree::lost_last_name(PosixFile& file) {
  std::vector<std::shared_ptr<LeaseNotice>> leases;
  const bool gone = file.hold([&](Holdings& held) {
    held.nameless = true;
    if (file.type() == FileType::directory) leases = held.leases;
    return held.opens.empty() && held.leases.empty();
  });
  for (const std::shared_ptr<LeaseNotice>& lease : leases) lease->tell();
  if (gone) cache_.drop(file);
  return gone;
}

Outcome<Attributes> Tree::getattr(PosixFile& file) { return live_attributes(file); }

Outcome<> Tree::setattr(const Credentials& who, PosixFile& file, const SetAttributes& set,
                        std::optional<Time> guard, Wcc* wcc) {
  PlannedSync plan;
  {
    const Change change(*this, file, wcc);
    if (auto allowed = change.allowed(); !allowed) return allowed;
    const auto free = ask_back(who, file, OwnChange::attributes);
    if (!free) return base::fail(free.error());
    if (guard && *guard != change.before().ctime) return base::fail(Error::not_sync);
    plan = plan_sync(file);
    const FileData data(*this, file, who);
    if (auto applied = apply(who, file, set, change.before(), data); !applied) return applied;
  }
  return carry_out(plan);
}

Outcome<> Tree::setattr(const Credentials& who, const FileData& open, const SetAttributes& set, Wcc* wcc) {
  PosixFile& file = open.node();
  PlannedSync plan;
  {
    const Change change(*this, file, wcc);
    if (auto alive = change.alive(); !alive) return alive;
    // Made so by a reload, since it was opened.
    if (opens_->read_only) return base::fail(Error::rofs);
    if (opens_sync()) plan = planned(file);
    if (auto applied = apply(who, file, set, change.before(), open); !applied) return applied;
  }
  return carry_out(plan);
}

// The size is a matter of the content. What comes after the first change fails as a late step does.
Outcome<> Tree::apply(const Credentials& who, PosixFile& file, const SetAttributes& set,
                      const Attributes& now, const FileData& data) {
  if (set.uid == no_change || set.gid == no_change) return base::fail(Error::inval);
  bool begun = false;
  const auto failed = [&](Error error) -> Outcome<> {
    if (begun) return late(error);
    return base::fail(error);
  };
  if (set.size) {
    if (auto done = data.resize(who, *set.size, now); !done) return done;
    begun = true;
  }
  if (set.uid || set.gid) {
    const auto done = identity_.as(who, [&] {
      return outcome_of(
          ::fchownat(file.fd(), "", set.uid.value_or(no_change), set.gid.value_or(no_change), AT_EMPTY_PATH));
    });
    if (!done) return failed(done.error());
    begun = true;
  }
  // A symbolic link has no mode; knfsd ignores it too.
  if (set.mode && file.type() != FileType::symlink) {
    std::uint32_t mode = *set.mode & 07777U;
    // A new owner does not inherit the set-id bits, not even in one call (as knfsd).
    if ((set.uid || set.gid) && file.type() != FileType::directory) {
      mode &= ~set_uid;
      if ((mode & group_execute) != 0) mode &= ~set_gid;
    }
    const auto done =
        identity_.as(who, [&] { return change_mode(file.fd(), mode, root_.descriptors.get()); });
    if (!done) return failed(done.error());
    begun = true;
  }
  if (auto done = change_times(who, file, set, now); !done) return failed(done.error());
  return {};
}

Outcome<> Tree::change_times(const Credentials& who, PosixFile& file, const SetAttributes& set,
                             const Attributes& now) {
  SetAttributes left = set;
  // Truncation has set the mtime to the server's time already, and only the owner could repeat it.
  if (set.size && left.mtime.how == SetTime::How::server) left.mtime.how = SetTime::How::leave;
  if (!sets_times(left)) return {};
  const timespec times[2] = {timespec_of(left.atime), timespec_of(left.mtime)};
  const auto set_times = [&] { return outcome_of(::utimensat(file.fd(), "", times, AT_EMPTY_PATH)); };
  auto done = identity_.as(who, set_times);
  if (done || left.atime.how == SetTime::How::client || left.mtime.how == SetTime::How::client) return done;
  // Whoever may write may set the server's time; utimensat(2) grants that only when both times are set.
  if (auto permitted = permit(who, file, W_OK, now); !permitted) return done;
  return set_times();
}

}  // namespace braid::vfs::posix
