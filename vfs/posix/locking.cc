// Byte-range locks: kept by owner here, and placed for all owners together as locks of one open file
// description (fcntl(2), F_OFD_SETLK), where local processes meet them. No process of ours can lose them by
// closing some other descriptor of the file.
#include <algorithm>
#include <atomic>

#include "vfs/posix/tree.h"

namespace braid::vfs::posix {
namespace {

// The kernel keeps the locks of a file in a list, and each call looks at all of them: so many in all take
// about a millisecond.
constexpr std::size_t looked_at_once = 1U << 14;

std::size_t calls_at_once(const LockTable& locks) {
  constexpr std::size_t calls_max = 64;
  return std::clamp<std::size_t>(looked_at_once / std::max<std::size_t>(locks.size(), 1), 1, calls_max);
}

// A file with more is not locked twice in one turn of a reactor.
constexpr std::size_t crowd = looked_at_once / 16;

short kernel_type(LockType type) { return type == LockType::write ? F_WRLCK : F_RDLCK; }

// The part of a lock that the kernel can express; nothing when all of it is beyond the largest offset, where
// no local process can have a lock either.
std::optional<struct flock> kernel_lock(const ByteRange& span, short type) {
  if (span.first > offset_max) return std::nullopt;
  struct flock out{};
  out.l_type = type;
  out.l_whence = SEEK_SET;
  out.l_start = static_cast<off_t>(span.first);
  // 0 means to the end of everything.
  out.l_len = span.last >= offset_max ? 0 : static_cast<off_t>(span.last - span.first + 1);
  return out;
}

LockConflict conflict_of(const struct flock& lock) {
  LockConflict out;
  out.type = lock.l_type == F_WRLCK ? LockType::write : LockType::read;
  out.range.offset = static_cast<std::uint64_t>(lock.l_start);
  out.range.length = lock.l_len == 0 ? LockRange::to_end : static_cast<std::uint64_t>(lock.l_len);
  return out;
}

LockConflict conflict_of(const LockTable::Entry& holder) {
  return {.type = holder.type, .range = range_of(holder.range), .owner = holder.owner};
}

// A local lock in the way, as seen from a description that holds ours.
Outcome<std::optional<LockConflict>> ask(int fd, const ByteRange& span, LockType type) {
  auto lock = kernel_lock(span, kernel_type(type));
  if (!lock) return std::nullopt;
  if (::fcntl(fd, F_OFD_GETLK, &*lock) != 0) return failed_call();
  if (lock->l_type == F_UNLCK) return std::nullopt;
  return conflict_of(*lock);
}

Outcome<> place(Holdings::Kept& kept, const Holdings::LockDescription& through, const ByteRange& span,
                short type) {
  auto lock = kernel_lock(span, type);
  if (!lock) return {};
  kept.kernel_steps += kept.locks.size();
  return outcome_of(::fcntl(through.fd.get(), F_OFD_SETLK, &*lock));
}

// Notes what is looked at while it lives, of the kernel's list and of ours.
class Look {
 public:
  Look(const Holdings::Kept& kept, std::atomic<std::uint64_t>& most)
      : kept_(kept), most_(most), before_(steps()) {}
  ~Look() {
    const std::uint64_t taken = steps() - before_;
    std::uint64_t most = most_.load(std::memory_order_relaxed);
    while (taken > most && !most_.compare_exchange_weak(most, taken, std::memory_order_relaxed)) {
    }
  }
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;

 private:
  [[nodiscard]] std::uint64_t steps() const { return kept_.kernel_steps + kept_.locks.steps(); }
  const Holdings::Kept& kept_;
  std::atomic<std::uint64_t>& most_;
  const std::uint64_t before_;
};

void forget_description_if_unused(Holdings::Kept& kept) {
  if (!kept.locks.empty()) return;
  kept.lock_description.reset();
  kept.successor.reset();
}

}  // namespace

// A description of the file that this type can be locked through: the open's, if all types can; so a file
// that one client uses is open once, as far as the kernel knows (LeaseMonitor::is_only). Else one of our own
// is best; where the file may not be opened once more (it runs as a program), or that would break the
// caller's own lease, the open's will do.
Outcome<Holdings::LockDescription> Tree::lock_description(const PosixOpenFile& open, LockType type,
                                                          bool leased) {
  auto slot = cache_.reserve_to_keep();
  if (!slot) return base::fail(Error::delay);
  constexpr int flags = O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  if (!leased && open.access() != OpenAccess::both) {
    if (auto fd = with_room([&] { return open_again(open.node(), O_RDWR | flags); }))
      return Holdings::LockDescription{std::move(*fd), true, std::move(*slot)};
  }
  const bool writable = includes(open.access(), OpenAccess::write);
  if (!includes(open.access(), type == LockType::write ? OpenAccess::write : OpenAccess::read))
    return base::fail(Error::inval);
  base::UniqueFd shared(::fcntl(open.fd(), F_DUPFD_CLOEXEC, 0));
  if (!shared) return failed_call();
  return Holdings::LockDescription{std::move(shared), writable, std::move(*slot)};
}

// A description without write access holds read locks only, which do not conflict with those of its
// successor: at no moment are they gone. Meanwhile locks come and go on both.
Outcome<bool> Tree::describe_locks(const PosixOpenFile& open, LockType type, Holdings& held) {
  Holdings::Kept& kept = held.kept();
  if (kept.lock_description && (type == LockType::read || kept.lock_description->writable)) return true;
  if (!kept.successor) {
    auto fresh = lock_description(open, type, held.leased());
    if (!fresh) return base::fail(fresh.error());
    kept.successor = std::make_unique<Holdings::Successor>(std::move(*fresh));
  }
  for (std::size_t parts = calls_at_once(kept.locks); parts > 0; --parts) {
    Holdings::Successor& successor = *kept.successor;
    const auto next = kept.locks.next_from(successor.owner, successor.first);
    if (!next) {
      // One that an open shares is not closed with it, and would keep them.
      if (kept.lock_description) (void)place(kept, *kept.lock_description, whole_file, F_UNLCK);
      kept.lock_description = std::move(successor.description);
      kept.successor.reset();
      return true;
    }
    const ByteRange& span = next->held.range;
    if (auto placed = place(kept, successor.description, span, kernel_type(next->held.type)); !placed) {
      kept.successor.reset();
      return base::fail(placed.error());
    }
    const bool to_end = span.last == UINT64_MAX;
    successor.owner = LockOwnerId(next->owner.value() + (to_end ? 1 : 0));
    successor.first = to_end ? 0 : span.last + 1;
  }
  return false;
}

Outcome<std::optional<LockAttempt>> Tree::lock(const PosixOpenFile& open, LockOwnerId owner,
                                               const LockRange& range, LockType type, bool& others_first) {
  const auto span = bytes_of(range);
  const OpenAccess needed = type == LockType::write ? OpenAccess::write : OpenAccess::read;
  if (!span || !includes(open.access(), needed)) return base::fail(Error::inval);
  const auto use = open.data().use();
  if (!use) return base::fail(use.error());
  return open.node().hold([&](Holdings& held) -> Outcome<std::optional<LockAttempt>> {
    Holdings::Kept& kept = held.kept();
    const Look look(kept, lock_entries_max_);
    if (const auto* holder = kept.locks.conflict(owner, *span, type))
      return LockAttempt{conflict_of(*holder)};
    others_first = kept.locks.size() > crowd;
    const auto ready = describe_locks(open, type, held);
    if (!ready) return base::fail(ready.error());
    if (!*ready) return std::nullopt;
    // Nobody else of ours has anything there but read locks under a read lock, so the type is right for all.
    const auto placed = place(kept, *kept.lock_description, *span, kernel_type(type));
    if (placed) {
      kept.locks.lock(owner, *span, type);
      if (kept.successor && !place(kept, kept.successor->description, *span, kernel_type(type)))
        kept.successor.reset();
      return LockAttempt{};
    }
    auto conflict = ask(kept.lock_description->fd.get(), *span, type);
    forget_description_if_unused(kept);
    // Not a conflict, or the other one has unlocked meanwhile.
    if (conflict && !*conflict) return base::fail(placed.error());
    if (!conflict) return base::fail(conflict.error());
    return LockAttempt{*conflict};
  });
}

Outcome<std::optional<LockConflict>> Tree::test_lock(PosixFile& file, LockOwnerId owner,
                                                     const LockRange& range, LockType type) {
  if (auto regular = require_regular(file); !regular) return base::fail(regular.error());
  const auto span = bytes_of(range);
  if (!span) return base::fail(Error::inval);
  if (auto opened = unpark(file); !opened) return base::fail(opened.error());
  struct Known {
    std::optional<LockConflict> conflict;
    bool locked = false, leased = false;
  };
  auto known = file.hold([&](Holdings& held) -> Outcome<Known> {
    Known out{{}, held.kept().lock_description.has_value(), held.leased()};
    if (const auto* holder = held.kept().locks.conflict(owner, *span, type))
      out.conflict = conflict_of(*holder);
    if (out.conflict || !out.locked) return out;
    auto asked = ask(held.kept().lock_description->fd.get(), *span, type);
    if (!asked) return base::fail(asked.error());
    out.conflict = *asked;
    return out;
  });
  if (!known) return base::fail(known.error());
  if (known->conflict || known->locked) return known->conflict;
  const auto data = readable(file);
  if (data) return ask(data->fd, *span, type);
  // Nobody but the holder of our own lease has the file open.
  if (known->leased && data.error() == Error::delay) return std::nullopt;
  return base::fail(data.error());
}

Outcome<OwnChanges> Tree::ask_back(const Credentials& who, const PosixFile& file, OwnChange kind) {
  PosixFile::Leases leases = file.leases(who.holder);
  for (const std::shared_ptr<LeaseNotice>& lease : leases.others) lease->tell();
  if (!leases.others.empty()) return base::fail(Error::delay);
  if (leases.own == nullptr) return OwnChanges();
  return OwnChanges(leases_, std::move(leases.own), kind, file.fd());
}

Outcome<OwnChanges> Tree::ask_back(const Credentials& who, const FileRef& file, OwnChange kind) {
  if (!file) return OwnChanges();
  return ask_back(who, static_cast<const PosixFile&>(*file), kind);
}

Outcome<OwnChanges> Tree::ask_back_entry(const Credentials& who, const PosixFile& directory,
                                         const Name& name) {
  PosixFile::Leases leases = directory.leases(who.holder);
  for (const std::shared_ptr<LeaseNotice>& lease : leases.others) lease->tell();
  if (!leases.others.empty()) return base::fail(Error::delay);
  if (leases.own == nullptr) return OwnChanges();
  return OwnChanges(leases_, std::move(leases.own), name.view());
}

Outcome<OwnChanges> Tree::ask_back_to_add(const Credentials& who, const PosixFile& directory,
                                          const Name& name) {
  if (!directory.leased() || stat_at(directory.fd(), name.c_str())) return OwnChanges();
  return ask_back_entry(who, directory, name);
}

Outcome<LeaseRef> Tree::lease_directory(const FileRef& directory, std::shared_ptr<LeaseNotice> notice) {
  auto& node = static_cast<PosixFile&>(*directory);
  if (node.type() != FileType::directory) return base::fail(Error::notdir);
  if (const auto alive = live_attributes(node); !alive) return base::fail(alive.error());
  return DirectoryLease::take(owner_.lock(), leases_, cache_, directory, std::move(notice));
}

FileRef Tree::cached(const std::optional<FileHandle>& handle) {
  return handle ? cache_.find(handle->view()) : FileRef();
}

Outcome<FileRef> Tree::cached_victim(const Credentials& who, const std::optional<FileHandle>& handle) {
  if (!handle) return FileRef();
  bool parked = false;
  Outcome<FileRef> known = cache_.find(handle->view(), parked);
  if (parked) known = resolve(handle->view());
  if (!known && known.error() == Error::stale) return FileRef();
  if (!known || !*known || cache_.room_for_nameless(who.peer) || !node(*known).held_open()) return known;
  const auto stat = stat_of(node(*known).fd());
  if (!stat || stat->stx_nlink != 1) return known;
  cache_.note_nameless_refused(who.peer);
  return base::fail(Error::delay);
}

Outcome<bool> Tree::unlock(PosixFile& file, LockOwnerId owner, const LockRange& range,
                           std::optional<LockTable::Freed>& freed, bool& others_first) {
  const auto span = bytes_of(range);
  if (!span) return base::fail(Error::inval);
  return file.hold([&](Holdings& held) -> Outcome<bool> {
    Holdings::Kept& kept = held.kept();
    const Look look(kept, lock_entries_max_);
    others_first = kept.locks.size() > crowd;
    if (!freed) freed.emplace(kept.locks.unlock(owner, *span));
    if (!kept.lock_description) return true;
    Outcome<> done;
    for (std::size_t parts = calls_at_once(kept.locks); parts > 0; --parts) {
      const auto part = kept.locks.next_free(*freed);
      if (!part) {
        forget_description_if_unused(kept);
        if (!done) return base::fail(done.error());
        return true;
      }
      if (auto placed = place(kept, *kept.lock_description, *part, F_UNLCK); !placed) done = placed;
      if (kept.successor)
        if (auto placed = place(kept, kept.successor->description, *part, F_UNLCK); !placed) done = placed;
    }
    if (!done) return base::fail(done.error());
    return false;
  });
}

}  // namespace braid::vfs::posix
