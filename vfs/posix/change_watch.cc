#include "vfs/posix/change_watch.h"

#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

namespace braid::vfs::posix {
namespace {

// Linux says IN_ATTRIB of a file that loses or gains a name, too: also when another one is renamed over it.
constexpr std::uint32_t any_lease = IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF;
// Nobody writes under a read lease, but an mtime that is set alone is IN_MODIFY. Under a write lease it is
// the holder's writing.
constexpr std::uint32_t read_lease = any_lease | IN_MODIFY;
// What happens to entries comes with their names. Not IN_MODIFY: the kernel would say it of every write to a
// file in the directory, and only an mtime of the directory itself that is set alone goes unnoticed without.
constexpr std::uint32_t of_entries = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
constexpr std::uint32_t directory_lease = any_lease | of_entries | IN_ONLYDIR;

constexpr std::uint32_t expected_of(OwnChange kind) {
  return kind == OwnChange::names ? IN_ATTRIB | IN_MOVE_SELF : IN_ATTRIB | IN_MODIFY;
}

}  // namespace

Outcome<> ChangeWatch::open() {
  if (inotify_.get() >= 0) return {};
  base::UniqueFd fresh(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (fresh.get() < 0) return failed_call();
  const f_owner_ex owner{F_OWNER_TID, thread_};
  Outcome<> done = outcome_of(::fcntl(fresh.get(), F_SETSIG, signal_));
  if (done) done = outcome_of(::fcntl(fresh.get(), F_SETOWN_EX, &owner));
  if (done) done = outcome_of(::fcntl(fresh.get(), F_SETFL, O_NONBLOCK | O_ASYNC));
  if (done) inotify_ = std::move(fresh);
  return done;
}

Outcome<> ChangeWatch::add(int file, LeaseType type, const std::shared_ptr<LeaseNotice>& notice) {
  return watch(file, type == LeaseType::read ? read_lease : any_lease, notice);
}

Outcome<> ChangeWatch::add_directory(int directory, const std::shared_ptr<LeaseNotice>& notice) {
  return watch(directory, directory_lease, notice);
}

Outcome<> ChangeWatch::watch(int file, std::uint32_t mask, const std::shared_ptr<LeaseNotice>& notice) {
  if (auto opened = open(); !opened) return opened;
  // What was said of the file before is nothing to the new one.
  read();
  const int watch = ::inotify_add_watch(inotify_.get(), path_of(file).c_str(), mask | IN_MASK_ADD);
  if (watch < 0) return failed_call();
  watches_[watch].notices.push_back(notice);
  numbers_[notice.get()] = watch;
  return {};
}

ChangeWatch::Watches::iterator ChangeWatch::find(const LeaseNotice& notice) {
  const auto number = numbers_.find(&notice);
  return number == numbers_.end() ? watches_.end() : watches_.find(number->second);
}

void ChangeWatch::remove(const LeaseNotice& notice) {
  const auto found = find(notice);
  if (found == watches_.end()) return;
  std::erase_if(found->second.notices, [&](const auto& one) { return one.get() == &notice; });
  numbers_.erase(&notice);
  if (found->second.notices.empty()) end_watch(found);
}

void ChangeWatch::end_watch(Watches::iterator watched) {
  for (const auto& notice : watched->second.notices) numbers_.erase(notice.get());
  ::inotify_rm_watch(inotify_.get(), watched->first);
  watches_.erase(watched);
}

// They have no more to learn: a program that goes on changing the file costs nothing.
void ChangeWatch::tell(Watches::iterator watched) {
  for (const auto& notice : watched->second.notices) notice->tell();
  end_watch(watched);
}

// The other things that the kernel says of entries are no matter of the directory.
void ChangeWatch::entry_changed(Watches::iterator watched, std::uint32_t mask, std::string_view name) {
  if ((mask & of_entries) == 0) return;
  const bool own = std::ranges::find(watched->second.own_entries, name) != watched->second.own_entries.end();
  if (!own || watched->second.notices.size() > 1) tell(watched);
}

void ChangeWatch::happened(int watch, std::uint32_t mask, std::string_view entry) {
  if ((mask & IN_Q_OVERFLOW) != 0) {
    while (!watches_.empty()) tell(watches_.begin());
    return;
  }
  const auto found = watches_.find(watch);
  if (found == watches_.end()) return;
  if (!entry.empty())
    entry_changed(found, mask, entry);
  else if (found->second.own == 0)
    tell(found);
  else
    found->second.seen |= mask & ~std::uint32_t{IN_ISDIR};
}

void ChangeWatch::read() {
  int bytes = 0;
  if (inotify_.get() < 0 || ::ioctl(inotify_.get(), FIONREAD, &bytes) < 0) return;
  alignas(inotify_event) std::array<char, 4096> buffer;
  while (bytes > 0) {
    const ssize_t got = ::read(inotify_.get(), buffer.data(), buffer.size());
    if (got <= 0) return;
    bytes -= static_cast<int>(got);
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      inotify_event event;
      std::memcpy(&event, buffer.data() + at, sizeof event);
      // The name, if there is one, ends with at least one NUL.
      const char* const name = buffer.data() + at + sizeof event;
      happened(event.wd, event.mask, event.len == 0 ? std::string_view() : std::string_view(name));
      at += sizeof event + event.len;
    }
  }
}

void ChangeWatch::begin_own(const LeaseNotice& notice, std::uint64_t links) {
  read();
  const auto found = find(notice);
  if (found == watches_.end() || found->second.own++ > 0) return;
  found->second.seen = 0;
  found->second.links = links;
}

void ChangeWatch::end_own(const LeaseNotice& notice, OwnChange kind, std::uint64_t links) {
  const auto found = find(notice);
  if (found == watches_.end() || found->second.own == 0 || --found->second.own > 0) return;
  const Watched& watched = found->second;
  const bool ours =
      (watched.seen & ~expected_of(kind)) == 0 && (kind == OwnChange::names || links == watched.links);
  const bool others = kind != OwnChange::stub && watched.notices.size() > 1;
  if (!ours || (watched.seen != 0 && others)) tell(found);
}

void ChangeWatch::begin_own_entry(const LeaseNotice& notice, std::string_view name) {
  read();
  if (const auto found = find(notice); found != watches_.end()) found->second.own_entries.emplace_back(name);
}

void ChangeWatch::end_own_entry(const LeaseNotice& notice, std::string_view name) {
  read();
  const auto found = find(notice);
  if (found == watches_.end()) return;
  std::vector<std::string>& entries = found->second.own_entries;
  if (const auto one = std::ranges::find(entries, name); one != entries.end()) entries.erase(one);
}

}  // namespace braid::vfs::posix
