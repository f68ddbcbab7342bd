// Memory of ours that a server may read or write during one call, and not a moment longer.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "io/payload.h"
#include "rdma/keys.h"
#include "rdma/verbs.h"

namespace braid::rdma {

// Each piece of memory gets a registration of its own, with one right, for exactly its bytes: keys of the
// slab pool never leave this host. The memory is held for as long as it is offered, so that nobody else can
// get it from the pool before the peer has lost it. Belongs to one thread; the device outlives it.
class Exposure {
 public:
  Exposure() = default;
  ~Exposure() { withdraw(); }
  Exposure(const Exposure&) = delete;
  Exposure& operator=(const Exposure&) = delete;

  // Offers all of `memory`, in segments of at most `segment_bytes_max`, which are added to `segments`. Fails
  // with the errno of a registration; what was offered before stays offered.
  base::Result<void> offer(Device& device, const io::Payload& memory, Access access,
                           std::uint32_t segment_bytes_max, std::vector<Segment>& segments);
  // When this returns the device serves nobody this memory any more, whether the peer has invalidated its
  // keys or not.
  void withdraw();
  [[nodiscard]] bool offered() const { return !regions_.empty(); }

  // As many segments as offer() would make.
  static std::size_t segments_of(const io::Payload& memory, std::uint32_t segment_bytes_max);

 private:
  io::Payload memory_;
  std::vector<std::unique_ptr<MemoryRegion>> regions_;
};

}  // namespace braid::rdma
