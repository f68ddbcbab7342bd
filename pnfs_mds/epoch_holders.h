// Who may have handles of a file's current epoch, and what sizes those tell of.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "pnfs/data_handle.h"
#include "pnfs/object.h"
#include "pnfs_mds/shared_locks.h"
#include "pnfs_mds/truncations.h"
#include "vfs/types.h"

namespace braid::pnfs_mds {

// Of one file, in memory: a view of the state and its lock, which outlive it. Thread-safe. docs/pnfs.md says
// why who truncates a file keeps its own.
class EpochHolders {
 public:
  // Counts the settings of the size: odd as long as it is being set.
  using Moment = std::uint32_t;
  class State {
   public:
    // `fresh`: nobody has ever had any. Otherwise anybody may have some, which tell of any size.
    explicit State(bool fresh) : others(!fresh) {}

   private:
    friend class EpochHolders;
    vfs::LeaseHolder one{};      // has handles; 0: nobody, if there are no others
    pnfs::GrantNumber first{};   // of the one's handles for writing; 0: it has none
    vfs::LeaseHolder in_band{};  // note_in_band(): who; 0: several
    pnfs::GrantNumber last{};    // the same; 0: nobody
    std::uint64_t told = 0;      // the largest size that handles of the one tell of
    Moment moment = 0;
    bool others = false;  // somebody else may have some
  };
  EpochHolders(SharedLocks::Lock& lock, State& state) : lock_(lock), state_(state) {}

 private:
  template <class F>
  auto with(F&& f) const {
    return SharedLocks::with(lock_, state_, std::forward<F>(f));
  }

 public:
  // When the size of the file was looked at, for note().
  [[nodiscard]] Moment moment() const {
    return with([](const State& state) { return state.moment; });
  }
  // Handles are about to be made for `client`; to be called before anybody looks at the file's epoch for
  // them. `writing`: the number of their grant, if they are for writing. The size that they may tell of:
  // `size`, which was the file's after `since`; 0 if it may be another one, and for writing.
  std::uint64_t note(vfs::LeaseHolder client, std::optional<pnfs::GrantNumber> writing, std::uint64_t size,
                     Moment since) const;
  // `who` has a layout, and writes through this server: what it has sent to a data server by what it was
  // granted up to `last`, and heard no answer to, may come later.
  void note_in_band(vfs::LeaseHolder who, pnfs::GrantNumber last) const;

  // As long as the size of the file is being set; one at a time.
  class Resizing;
  // What a truncation by `who` may leave it of `handles`, those for writing of the layout that it has: all or
  // nothing.
  [[nodiscard]] std::optional<Truncations::Keeps> kept_by(
      vfs::LeaseHolder who, const std::optional<pnfs::KeptHandles>& handles) const;
  // Nobody but `who` has handles, none for writing but those that are kept, and none tells of more than
  // `size`.
  [[nodiscard]] bool only(vfs::LeaseHolder who, const std::optional<Truncations::Keeps>& kept,
                          std::uint64_t size) const;
  // A new epoch is on the medium, and nobody has seen it yet; of those before there is only what is kept.
  void new_epoch(const std::optional<Truncations::Keeps>& kept) const;

 private:
  void next_moment() const {
    with([](State& state) { ++state.moment; });
  }

  SharedLocks::Lock& lock_;
  State& state_;
};

class EpochHolders::Resizing {
 public:
  explicit Resizing(const EpochHolders& of) : of_(of) { of_.next_moment(); }
  Resizing(const Resizing&) = delete;
  Resizing& operator=(const Resizing&) = delete;
  ~Resizing() { of_.next_moment(); }

 private:
  const EpochHolders of_;
};

}  // namespace braid::pnfs_mds
