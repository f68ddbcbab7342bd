// Files whose bytes clients have changed, and which are sealed when they have been left alone for a while.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "vfs/types.h"

namespace braid::store {

// Thread-safe. Times are those of a monotonic clock.
class RestingFiles {
 public:
  // `wait`: how long a file is left alone first. More than `files_max` are not remembered.
  explicit RestingFiles(base::Duration wait, std::size_t files_max = 1U << 18U)
      : wait_(wait), files_max_(files_max) {}

  // Whether a file was left alone for long enough that was changed so long ago.
  [[nodiscard]] bool has_rested(base::Duration rested) const { return rested >= wait_; }
  // The bytes of a file are about to be changed.
  void note(const vfs::FileHandle& file, base::TimePoint now);
  // Files that have waited long enough, at most so many; they are forgotten.
  struct Taken {
    vfs::FileHandle file{};
    base::TimePoint since{};  // when it was noted
  };
  std::vector<Taken> take(base::TimePoint now, std::size_t files);
  // One that was taken, and could not be sealed: it waits twice as long as the time before, up to an hour.
  void again(const Taken& taken, base::TimePoint now);
  // Whether one that was taken is to be looked at now, which was changed `rested` ago: it was left alone for
  // long enough, or never is, and has waited for four times as long. False: it waits for the rest of the
  // time.
  bool is_due(const Taken& taken, base::TimePoint now, base::Duration rested);
  // What became of one that was taken is settled.
  void done(const vfs::FileHandle& file);

  struct Counts {
    std::size_t waiting = 0;
    std::uint64_t forgotten = 0;  // for want of room
  };
  [[nodiscard]] Counts counts() const;

 private:
  using Key = std::vector<std::byte>;
  static Key key_of(const vfs::FileHandle& file);
  struct Times {
    base::TimePoint due{}, since{};
  };
  struct State {
    std::set<std::pair<base::TimePoint, Key>> due{};
    std::map<Key, Times> waiting{};
    std::map<Key, base::Duration> patience{};  // of those that could not be sealed
    std::uint64_t forgotten = 0;
  };
  void put(State& state, const Key& key, const Times& times) const;

  const base::Duration wait_;
  const std::size_t files_max_;
  base::Guarded<State> state_;
};

}  // namespace braid::store
