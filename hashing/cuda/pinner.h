// Pins the slab pool's memory, so that cards take bytes from where they are.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "base/bytes.h"
#include "hashing/cuda/context.h"
#include "io/slab.h"

namespace braid::hashing::cuda {

// Shared by all cards: a process pins a region once, for all of them. A region is pinned by the thread of the
// first card that works after it came, never by the thread that made the pool grow: a driver that hangs does
// not stop who needs memory. One that cannot be pinned (RLIMIT_MEMLOCK, a cgroup's limit) is served all the
// same: its bytes are copied first. Thread-safe.
class Pinner final : public io::SlabRegistrar {
 public:
  explicit Pinner(io::SlabPool& pool);
  ~Pinner() override;
  Pinner(const Pinner&) = delete;
  Pinner& operator=(const Pinner&) = delete;

  base::Result<void> register_region(std::uint32_t index, base::MutableBytes region) override;
  void unregister_region(std::uint32_t index) override;
  // Pins in `context` what nobody has pinned yet. On the thread of the context's card, which uses it.
  void pin_new(const Context& context);
  // Before the context ends: what was pinned in it is not pinned any more. As pin_new().
  void unpin_all(const Context& context);
  // After the context has ended, and what was pinned in it with it.
  void forget(const Context& context);
  // True if all of `bytes` can be uploaded from where it is.
  [[nodiscard]] bool pinned(base::BytesView bytes) const;

 private:
  struct Region {
    base::MutableBytes bytes;
    const Context* owner = nullptr;  // who pins it
    enum class State : std::uint8_t { fresh, taken, pinned, refused } state = State::fresh;
  };
  // Those that are fresh, or that `owner` has pinned, as taken: the driver is called without the lock. A
  // region stays where it is until unregister_region(), which comes when no card is left.
  std::vector<Region*> take(const Context& owner, Region::State from);
  void put(Region& region, const Context* owner, Region::State state);

  io::SlabPool& pool_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, Region> regions_;
};

}  // namespace braid::hashing::cuda
