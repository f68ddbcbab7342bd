// Brings the index up to date with the containers: what was put last is not in it after a crash, and nothing
// is in one that was lost.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "store/containers.h"
#include "store/index.h"

namespace braid::store {

// How far it has come.
struct IndexFill {
  std::uint64_t containers = 0;  // that were looked through
  std::uint64_t left = 0;        // that are to be, as far as it is known
  std::uint64_t chunks = 0;      // that were put into the index
};

// Its steps are those of one thread; what others may call says so.
class IndexFiller {
 public:
  // `index`: null where nothing is put; then there is nothing to do.
  IndexFiller(Containers& containers, Index* index)
      : containers_(containers), index_(index), done_(index == nullptr) {}

  // Goes through one container; what is in several is put together. False: that was the last one, and the
  // index has all chunks but those of containers that cannot be read, which are in the log.
  bool step();

  // From any thread.
  [[nodiscard]] bool done() const { return done_.load(std::memory_order_acquire); }
  [[nodiscard]] IndexFill progress() const;
  // A chunk was put into the index by whoever appended it there: so that after a crash not everything since
  // the start has to be gone through.
  void note(Location at);

 private:
  void begin();
  void take(std::uint32_t number);
  void put();

  Containers& containers_;
  Index* const index_;
  std::optional<std::vector<std::uint32_t>> numbers_;  // of the containers that are left, the last one first
  Location known_;                                     // when it began
  std::vector<Index::Entry> entries_;                  // that are to be put
  std::atomic<bool> done_;
  std::atomic<std::uint32_t> noted_{0};  // container: those before it are known to the index
  std::atomic<std::uint64_t> containers_done_{0}, left_{0}, chunks_{0};
};

}  // namespace braid::store
