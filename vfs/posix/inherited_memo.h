// Extended attributes that files have from directories above them, remembered for each directory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/guarded.h"
#include "base/unique_fd.h"
#include "vfs/content.h"

namespace braid::vfs::posix {

// What was found is good until attributes of a directory on the way up change, or such a directory is moved:
// the kernel says so before the call that did it returns (fanotify(7)). Any of these ends all that is
// remembered. Thread-safe.
class InheritedMemo {
 public:
  struct Directory {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    friend auto operator<=>(const Directory&, const Directory&) = default;
  };
  // Nothing: no directory has the attribute.
  using Found = std::optional<Stub::Inherited>;
  // So many directories are remembered, and so many are watched.
  static constexpr std::size_t directories_max = 1024;

  // `local`: nobody but this machine changes the file system. Otherwise nothing is remembered.
  explicit InheritedMemo(bool local) {
    state_.with([local](State& state) { state.usable = local; });
  }

  // What files in this directory have; nothing: somebody has to look.
  std::optional<Found> find(const Directory& directory, std::string_view attribute);

  // Before a look, for keep(); nothing: what is found cannot be kept.
  std::optional<std::uint64_t> begin();
  // Each directory that is looked at, before that. False: what is found cannot be kept.
  bool watch(int directory);
  // Unless something has changed since begin().
  void keep(std::uint64_t since, const Directory& directory, std::string_view attribute, const Found& found);

 private:
  struct Entry {
    std::string attribute;
    Found found;
  };
  struct State {
    bool usable = false;
    base::UniqueFd fanotify;    // none before the first look
    std::uint64_t changes = 0;  // that ended what was remembered
    std::size_t watched = 0;    // directories, some of them twice
    std::map<Directory, Entry> entries;
  };
  // Takes what the kernel has to say by now.
  static void read(State& state);
  static void forget_all(State& state);

  base::Guarded<State> state_;
};

}  // namespace braid::vfs::posix
