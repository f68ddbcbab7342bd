// GETATTR and SETATTR.
#include <memory>
#include <vector>

#include "vfs/posix/contents.h"
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

Outcome<> settable_owner(const SetAttributes& set) {
  if (set.uid == no_change || set.gid == no_change) return base::fail(Error::inval);
  return {};
}

bool sets_times(const SetAttributes& set) {
  return set.atime.how != SetTime::How::leave || set.mtime.how != SetTime::How::leave;
}

}  // namespace

Outcome<Attributes> Tree::observe(PosixFile& file, Stat* inode) {
  if (auto opened = unpark(file); !opened) return base::fail(opened.error());
  const std::uint32_t changes = file.changes().changes();
  const auto stat = stat_of(file.fd());
  if (!stat) return base::fail(stat.error());
  if (inode != nullptr) *inode = *stat;
  return seen(file, *stat, changes);
}

Attributes Tree::seen(PosixFile& file, const Stat& stat, std::uint32_t changes) {
  Attributes out = attributes_of(stat, file.identity().fsid);
  file.note_size(out.size);
  file.note_no_dump((stat.stx_attributes & STATX_ATTR_NODUMP) != 0);
  out.change = file.stamp(out.change, changes);
  if (file.content() != nullptr) [[unlikely]]
    adjust(file, out);
  return out;
}

// Attributes of an object that still has a name or is held open. Others are stale, and nobody else shall find
// them.
Outcome<Attributes> Tree::live_attributes(PosixFile& file, Stat* inode) {
  auto now = observe(file, inode);
  if (now && now->nlink == 0 && lost_last_name(file)) return base::fail(Error::stale);
  return now;
}

// True if nobody holds it open either: it is then forgotten, otherwise with the last open or lease. Who has a
// lease on a directory hears of its end (RFC 8881 10.9.4); on a file, of the name's.
bool Tree::lost_last_name(PosixFile& file, io::PeerId remover) {
  std::vector<std::shared_ptr<LeaseNotice>> leases;
  const bool gone = file.hold([&](Holdings& held) {
    held.nameless = true;
    if (!held.opens.empty()) cache_.keep_nameless(held.kept().nameless, remover);
    if (file.type() == FileType::directory) leases = held.kept().leases;
    return held.opens.empty() && !held.leased();
  });
  for (const std::shared_ptr<LeaseNotice>& lease : leases) lease->tell();
  if (gone) forget(file);
  return gone;
}

void Tree::forget(PosixFile& file) {
  tell_gone(file);
  cache_.drop(file);
}

Outcome<Attributes> Tree::getattr(PosixFile& file) { return live_attributes(file); }

Outcome<> Tree::begin_setting(const Credentials& who, const FileData& data, const SetAttributes& set,
                              std::optional<Time> guard, Wcc* wcc, Setting& setting) {
  PosixFile& file = data.node();
  auto use = data.use();
  if (!use) return base::fail(use.error());
  setting.keep = std::move(use->keep);
  const Change& change = setting.change.emplace(*this, file, wcc);
  if (data.lent()) {
    if (auto allowed = change.allowed(who); !allowed) return allowed;
    auto free = ask_back(who, file, OwnChange::attributes);
    if (!free) return base::fail(free.error());
    setting.own.emplace(std::move(*free));
    if (guard && *guard != change.before().ctime) return base::fail(Error::not_sync);
    setting.plan = plan_sync(file);
  } else {
    if (auto alive = change.alive(); !alive) return alive;
    // Made so by a reload, since it was opened.
    if (opens_->read_only || who.read_only) return base::fail(Error::rofs);
    if (opens_sync()) setting.plan = planned(file);
  }
  return settable_owner(set);
}

Outcome<> Tree::setattr(const Credentials& who, const FileData& data, const SetAttributes& set,
                        std::optional<Time> guard, Wcc* wcc) {
  PlannedSync plan;
  {
    Setting setting;
    if (auto begun = begin_setting(who, data, set, guard, wcc, setting); !begun) return begun;
    if (auto applied = apply(who, data.node(), set, setting.change->before(), data); !applied) return applied;
    plan = std::move(setting.plan);
  }
  return carry_out(plan);
}

// The size has come with a new mtime.
Late<> Tree::end_setting(const Credentials& who, const FileData& data, const SetAttributes& set,
                         Setting& setting) {
  SetAttributes rest = set;
  rest.size.reset();
  if (rest.mtime.how == SetTime::How::server) rest.mtime.how = SetTime::How::leave;
  const Attributes& before = setting.change->before();
  Outcome<> done = drop_set_id(who, data.node(), before.mode);
  if (done) done = apply(who, data.node(), rest, before, data);
  setting.own.reset();
  setting.change.reset();
  if (!done) return late(done.error());
  return carry_out(setting.plan);
}

// The size is a matter of the content. What comes after the first change fails as a late step does.
Outcome<> Tree::apply(const Credentials& who, PosixFile& file, const SetAttributes& set,
                      const Attributes& now, const FileData& data) {
  if (auto owner = settable_owner(set); !owner) return owner;
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
      mode = without_set_id(mode);
    }
    const auto done =
        identity_.as(who, [&] { return change_mode(file.fd(), mode, root_.descriptors.get()); });
    if (!done) return failed(done.error());
    begun = true;
  }
  if (auto done = change_times(who, file, set, now); !done) return failed(done.error());
  return {};
}

Outcome<> Tree::put_times(const PosixFile& file, const SetAttributes& set) {
  if (!sets_times(set)) return {};
  const timespec times[2] = {timespec_of(set.atime), timespec_of(set.mtime)};
  return outcome_of(::utimensat(file.fd(), "", times, AT_EMPTY_PATH));
}

std::uint32_t Tree::without_set_id(std::uint32_t mode) {
  return mode & ~((mode & group_execute) != 0 ? set_uid | set_gid : set_uid);
}

Outcome<> Tree::drop_set_id(const Credentials& who, PosixFile& file, std::uint32_t mode) {
  if (identity_.is_superuser(who)) return {};
  const std::uint32_t kept = without_set_id(mode);
  if (kept == mode) return {};
  return change_mode(file.fd(), kept, root_.descriptors.get());
}

Outcome<> Tree::change_times(const Credentials& who, PosixFile& file, const SetAttributes& set,
                             const Attributes& now) {
  SetAttributes left = set;
  // Truncation has set the mtime to the server's time already, and only the owner could repeat it.
  if (set.size && left.mtime.how == SetTime::How::server) left.mtime.how = SetTime::How::leave;
  if (!sets_times(left)) return {};
  const auto set_times = [&] { return put_times(file, left); };
  auto done = identity_.as(who, set_times);
  if (done || left.atime.how == SetTime::How::client || left.mtime.how == SetTime::How::client) return done;
  // Whoever may write may set the server's time; utimensat(2) grants that only when both times are set.
  if (auto permitted = permit(who, file, W_OK, now); !permitted) return done;
  return set_times();
}

}  // namespace braid::vfs::posix
