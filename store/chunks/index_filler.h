// Brings the index up to date with the containers: what was put last is not in it after a crash, and nothing
// is in one that was lost.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "store/chunks/containers.h"
#include "store/chunks/index.h"

namespace braid::store {

// How far it has come.
struct IndexFill {
  std::uint64_t containers = 0;  // that were looked through
  std::uint64_t left = 0;        // that are to be, as far as it is known
  std::uint64_t chunks = 0;      // that were put into the index
};

// One thread has it; what others may call says so.
class IndexFiller {
 public:
  // `index`: null where nothing is put, or not all is; then there is nothing to do.
  IndexFiller(Containers& containers, Index* index)
      : containers_(containers), index_(index), done_(index == nullptr) {}

  enum class Step : std::uint8_t {
    more,
    waits,  // the index has no room for what was found: to be called again in a while
    done,   // it has all chunks but those of containers that cannot be read, which are in the log
  };
  // Goes through one container; what is in several is put together.
  Step step();
  // What the index had no room for is to be put after all: it is not done then. To be called between steps.
  void begin_again();

  // From any thread, as what follows. The index has all chunks of containers before the returned one; zero:
  // of none.
  [[nodiscard]] std::uint32_t complete_to() const;
  [[nodiscard]] bool done() const { return done_.load(std::memory_order_acquire); }
  // It is not, or the index has had no room for some since.
  [[nodiscard]] bool lacks_some() const { return !done() || (index_ != nullptr && index_->has_lost()); }
  [[nodiscard]] IndexFill progress() const;
  // A chunk was put into the index by whoever appended it there: so that after a crash not everything since
  // the start has to be gone through. What the index had no room for is, when it is opened next.
  void note(Location at);
  // Nothing is put any more: what the index has is all that there is.
  void end();

 private:
  void begin();
  void take(std::uint32_t number);
  bool put();

  Containers& containers_;
  Index* const index_;
  std::optional<std::vector<std::uint32_t>> numbers_;  // of the containers that are left, the last one first
  Location known_;                                     // when it began
  std::vector<Index::Entry> entries_;                  // that are to be put
  std::uint32_t taken_ = 0;                            // container that was looked through last
  std::atomic<bool> done_;
  std::atomic<std::uint32_t> noted_{0};  // container: those before it are known to the index
  std::atomic<std::uint64_t> containers_done_{0}, left_{0}, chunks_{0};
};

}  // namespace braid::store
