// Which containers somebody is about to refer to: those are no garbage, though no file names them yet.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/guarded.h"

namespace braid::store {

// Thread-safe.
class Pins {
 public:
  // Held from before the first chunk is put or found until a record names what was: meanwhile it is kept.
  class Use {
   public:
    Use(Use&& other) noexcept : pins_(std::exchange(other.pins_, nullptr)), since_(other.since_) {}
    Use& operator=(Use&& other) noexcept {
      std::swap(pins_, other.pins_);
      std::swap(since_, other.since_);
      return *this;
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() {
      if (pins_ != nullptr) pins_->end(since_);
    }

   private:
    friend class Pins;
    Use(Pins* pins, std::uint64_t since) : pins_(pins), since_(since) {}
    Pins* pins_;
    std::uint64_t since_;
  };
  Use use();

  // Somebody will refer to a chunk of the container. False: it goes, and nobody may any more.
  bool refer(std::uint32_t container);

  // The number of what happened last: whoever holds something has begun with that or before.
  std::uint64_t last();
  // A mark begins. What was referred to since then, or is held by who began before, it need not see.
  std::uint64_t begin_mark();
  // Of these containers, in which a mark has seen nothing, those that nobody has referred to since. From now
  // on nobody can.
  std::vector<std::uint32_t> condemn(std::span<const std::uint32_t> containers, std::uint64_t mark);
  // One of these stays after all.
  void pardon(std::uint32_t container);

 private:
  struct State {
    std::uint64_t last = 0;                                       // number of what happened
    std::multiset<std::uint64_t> uses{};                          // when they began
    std::unordered_map<std::uint32_t, std::uint64_t> referred{};  // when, by container
    std::unordered_set<std::uint32_t> condemned{};
  };
  void end(std::uint64_t since);
  base::Guarded<State> state_;
};

}  // namespace braid::store
