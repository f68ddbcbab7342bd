// Who may have handles of a file's current epoch, and what sizes those tell of.
#pragma once

#include <cstdint>

#include "base/guarded.h"
#include "vfs/types.h"

namespace braid::pnfs_mds {

// Of one file, in memory. Thread-safe.
class EpochHolders {
 public:
  // `fresh`: nobody has ever had any. Otherwise anybody may have some, which tell of any size.
  explicit EpochHolders(bool fresh) {
    state_.with([&](State& state) { state.others = !fresh; });
  }
  EpochHolders(const EpochHolders&) = delete;
  EpochHolders& operator=(const EpochHolders&) = delete;

  // When the size of the file was looked at, for note().
  [[nodiscard]] std::uint64_t moment() const {
    return state_.with([](const State& state) { return state.moment; });
  }
  // Handles are about to be made for `client`; to be called before anybody looks at the file's epoch for
  // them. The size that they may tell of: `size`, which was the file's after `since`; 0 if it may be another
  // one.
  std::uint64_t note(vfs::LeaseHolder client, std::uint64_t size, std::uint64_t since);

  // As long as the size of the file is being set; one at a time.
  class Resizing {
   public:
    explicit Resizing(EpochHolders& of) : of_(of) { of_.next_moment(); }
    Resizing(const Resizing&) = delete;
    Resizing& operator=(const Resizing&) = delete;
    ~Resizing() { of_.next_moment(); }

   private:
    EpochHolders& of_;
  };
  // Nobody but `who` has handles, and none tells of more than `size`.
  [[nodiscard]] bool only(vfs::LeaseHolder who, std::uint64_t size) const;
  // A new epoch is on the medium, and nobody has seen it yet.
  void new_epoch();

 private:
  struct State {
    vfs::LeaseHolder one{};    // has handles; 0: nobody, if there are no others
    bool others = false;       // somebody else may have some
    std::uint64_t told = 0;    // the largest size that handles of the one tell of
    std::uint64_t moment = 0;  // odd as long as the size is being set
  };
  void next_moment() {
    state_.with([](State& state) { ++state.moment; });
  }

  base::Guarded<State> state_;
};

}  // namespace braid::pnfs_mds
