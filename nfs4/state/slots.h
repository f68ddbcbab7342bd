// The slots of a fore channel (RFC 8881 2.10.6): what makes a request be executed exactly once.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/state/ids.h"
#include "rpc/replay_cache.h"

namespace braid::nfs4::state {

// What SEQUENCE brings, and what tells a false retry from a true one.
struct SlotRequest {
  std::uint32_t slot = 0;
  std::uint32_t sequence = 0;
  std::uint32_t highest_slot = 0;
  bool cache_this = false;
  std::uint64_t fingerprint = 0;  // of the caller and the whole request, keyed
};

// A repeated request that waits for the first one; in a list of the slot. The owner knows how to go on: call
// start() again.
struct SlotWaiter {
  SlotWaiter* next = nullptr;
};

// What to do with a request whose SEQUENCE is in order.
enum class SlotVerdict : std::uint8_t {
  execute,   // new: execute it, then finish() its slot
  replay,    // repeated: `reply` is the answer, byte for byte
  uncached,  // repeated, and nobody asked to keep its reply: NFS4ERR_RETRY_UNCACHED_REP after SEQUENCE
  wait,      // repeated while the first one runs: the waiter is handed out by finish()
};

struct SlotStart {
  SlotVerdict verdict = SlotVerdict::execute;
  rpc::KeptReply reply;
  std::uint32_t highest_slot = 0;  // sr_highest_slotid
  std::uint32_t target_slot = 0;   // sr_target_highest_slotid
};

struct SlotStats {
  std::uint32_t slots = 0;
  std::uint32_t running = 0;
  std::uint32_t used = 0;  // slots that were ever used
  std::size_t kept_bytes = 0;
};

// Not thread-safe: Session guards it. Memory for slots is taken as the client uses them.
class SlotTable {
 public:
  explicit SlotTable(std::uint32_t slots) : limit_(slots), target_(slots) {}

  // RFC 8881 2.10.6.1, 18.46.3. Errors: BADSLOT; BAD_HIGH_SLOT; SEQ_MISORDERED; SEQ_FALSE_RETRY (same ids,
  // another request); DELAY (that of a running one, too many wait already, or `waiter` is null); DEADSESSION.
  // An error changes nothing.
  base::Result<SlotStart, nfsstat4> start(const SlotRequest& request, SlotWaiter* waiter);
  // An empty `reply` is not kept: a repeated request then gets `uncached`. Returns who waited.
  [[nodiscard]] SlotWaiter* finish(std::uint32_t slot, rpc::KeptReply reply);

  void set_target(std::uint32_t slots);
  [[nodiscard]] bool retire(std::uint32_t running_max);
  [[nodiscard]] SlotStats stats() const;

 private:
  static constexpr std::uint32_t waiters_max = 4;  // per slot: each holds a connection's request

  struct Slot {
    std::uint32_t sequence = 0;  // of the last request; the first one brings 1
    std::uint32_t waiting = 0;
    bool used = false;
    bool running = false;
    std::uint64_t fingerprint = 0;
    rpc::KeptReply reply;
    SlotWaiter* waiters = nullptr;
  };

  base::Result<SlotStart, nfsstat4> repeated(Slot& slot, const SlotRequest& request, SlotWaiter* waiter);
  [[nodiscard]] SlotStart outcome(SlotVerdict verdict) const;
  // Drops the replies of slots beyond the target that the client does not use.
  void shrink(std::uint32_t highest_slot);

  std::vector<Slot> slots_;
  std::uint32_t limit_;
  std::uint32_t target_;
  std::uint32_t running_ = 0;
  bool retired_ = false;
};

}  // namespace braid::nfs4::state
