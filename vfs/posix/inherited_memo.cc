#include "vfs/posix/inherited_memo.h"

#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>

#include "vfs/posix/kernel.h"

namespace braid::vfs::posix {
namespace {

// Of the directory itself, and not of what is in it.
constexpr std::uint64_t events = FAN_ATTRIB | FAN_MOVE_SELF | FAN_DELETE_SELF | FAN_ONDIR;

}  // namespace

// What the watches said so far is of no use without them.
void InheritedMemo::forget_all(State& state) {
  ++state.changes;
  state.entries.clear();
}

void InheritedMemo::read(State& state) {
  if (!state.fanotify) return;
  alignas(fanotify_event_metadata) std::array<char, 4096> buffer;
  for (;;) {
    // Cheaper than a read(2) of nothing.
    int bytes = 0;
    if (::ioctl(state.fanotify.get(), FIONREAD, &bytes) == 0 && bytes == 0) return;
    forget_all(state);
    if (::read(state.fanotify.get(), buffer.data(), buffer.size()) <= 0) return;
  }
}

std::optional<InheritedMemo::Found> InheritedMemo::find(const Directory& directory,
                                                        std::string_view attribute) {
  return state_.with([&](State& state) -> std::optional<Found> {
    read(state);
    const auto known = state.entries.find(directory);
    if (known == state.entries.end() || known->second.attribute != attribute) return std::nullopt;
    return known->second.found;
  });
}

std::optional<std::uint64_t> InheritedMemo::begin() {
  return state_.with([](State& state) -> std::optional<std::uint64_t> {
    if (!state.usable) return std::nullopt;
    if (!state.fanotify) {
      constexpr unsigned flags = FAN_CLASS_NOTIF | FAN_REPORT_FID | FAN_CLOEXEC | FAN_NONBLOCK;
      state.fanotify = base::UniqueFd(::fanotify_init(flags, O_RDONLY | O_CLOEXEC));
      // The kernel is too old, or this process may not.
      state.usable = static_cast<bool>(state.fanotify);
      if (!state.usable) return std::nullopt;
    }
    read(state);
    return state.changes;
  });
}

bool InheritedMemo::watch(int directory) {
  return state_.with([directory](State& state) {
    if (!state.fanotify) return false;
    if (state.watched >= directories_max) {
      ::fanotify_mark(state.fanotify.get(), FAN_MARK_FLUSH, 0, AT_FDCWD, nullptr);
      state.watched = 0;
      forget_all(state);
    }
    const int done =
        ::fanotify_mark(state.fanotify.get(), FAN_MARK_ADD | FAN_MARK_ONLYDIR, events, directory, ".");
    if (done == 0) ++state.watched;
    return done == 0;
  });
}

void InheritedMemo::keep(std::uint64_t since, const Directory& directory, std::string_view attribute,
                         const Found& found) {
  state_.with([&](State& state) {
    read(state);
    if (state.changes != since) return;
    if (state.entries.size() >= directories_max) state.entries.clear();
    state.entries.insert_or_assign(directory, Entry{std::string(attribute), found});
  });
}

}  // namespace braid::vfs::posix
