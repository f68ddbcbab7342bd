// The slots of a fore channel (RFC 8881 2.10.6): what makes a request be executed exactly once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/state/clients/ids.h"
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
  std::uint32_t slots = 0;   // that the client may use now
  std::uint32_t target = 0;  // that it should use
  std::uint32_t running = 0;
  std::uint32_t used = 0;  // slots that were ever used
  std::size_t kept_bytes = 0;
};

// How much memory for kept replies has been promised to sessions, of what all together may take, or to those
// of one address. Thread-safe.
class ReplyBudget {
 public:
  explicit ReplyBudget(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  // Of one address: what it promises, `all` promises.
  explicit ReplyBudget(std::shared_ptr<ReplyBudget> all)
      : bytes_max_(all->bytes_max_), all_(std::move(all)) {}
  ReplyBudget(const ReplyBudget&) = delete;
  ReplyBudget& operator=(const ReplyBudget&) = delete;

  [[nodiscard]] bool take(std::size_t bytes) {
    if (all_ != nullptr && !all_->take(bytes)) return false;
    std::size_t before = promised_.load(std::memory_order_relaxed);
    do {
      if (bytes > bytes_max_ - before) return false;
    } while (!promised_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
    return true;
  }
  void give_back(std::size_t bytes) {
    promised_.fetch_sub(bytes, std::memory_order_relaxed);
    if (all_ != nullptr) all_->give_back(bytes);
  }
  [[nodiscard]] std::size_t bytes_max() const { return bytes_max_; }
  [[nodiscard]] std::size_t left() const { return bytes_max_ - promised_.load(std::memory_order_relaxed); }
  // From here on sessions are asked for slots, and get no further ones.
  [[nodiscard]] bool scarce() const { return all_ != nullptr ? all_->scarce() : left() < bytes_max_ / 4; }
  // Of one address: it has half as much as all leave, and they leave less than a sixteenth, which is for
  // others.
  [[nodiscard]] bool over_share() const {
    const std::size_t left = all_->left();
    return left < bytes_max_ / 16 && promised_.load(std::memory_order_relaxed) >= left / 2;
  }

 private:
  const std::size_t bytes_max_;
  const std::shared_ptr<ReplyBudget> all_{};  // null: this is that
  std::atomic<std::size_t> promised_{0};
};

// What a table of slots may take. The budget has granted the first `slots`.
struct SlotOptions {
  std::uint32_t slots = 1;
  std::uint32_t slots_max = 1;            // that it may grow to
  std::size_t reply_bytes_max = 0;        // that a slot may keep
  std::shared_ptr<ReplyBudget> budget{};  // null: slots cost nothing
};

// Not thread-safe: Session guards it. Memory for slots is taken as the client uses them.
//
// The number of slots changes (RFC 8881 2.10.6.1). Downwards: set_target() asks for fewer; once the client
// has seen that and uses no more than those, the others end, and what they may keep goes back to the budget.
// Upwards: a client that uses its last slot gets a fifth more, if the budget allows.
class SlotTable {
 public:
  explicit SlotTable(const SlotOptions& options);
  explicit SlotTable(std::uint32_t slots) : SlotTable(SlotOptions{.slots = slots, .slots_max = slots}) {}
  ~SlotTable() { return_budget(limit_); }
  SlotTable(const SlotTable&) = delete;
  SlotTable& operator=(const SlotTable&) = delete;

  // RFC 8881 2.10.6.1, 18.46.3. Errors: BADSLOT; BAD_HIGH_SLOT; SEQ_MISORDERED; SEQ_FALSE_RETRY (same ids,
  // another request); DELAY (that of a running one, too many wait already, or `waiter` is null); DEADSESSION.
  // An error changes nothing.
  base::Result<SlotStart, nfsstat4> start(const SlotRequest& request, SlotWaiter* waiter);
  // An empty `reply` is not kept: a repeated request then gets `uncached`. Returns who waited.
  [[nodiscard]] SlotWaiter* finish(std::uint32_t slot, rpc::KeptReply reply);

  // Whether the client has sent nothing on that slot since the request with this number, whose reply may not
  // have come yet.
  [[nodiscard]] bool is_last(std::uint32_t slot, std::uint32_t sequence) const {
    return slot < slots_.size() && slots_[slot].used && slots_[slot].sequence == sequence;
  }

  // At least 1; slots beyond those that there are come with their use.
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
    // Ended and come again: the client counts on, or from 1 if it has forgotten the slot.
    bool anew = false;
    std::uint32_t told = 0;  // the number of the target that its last reply brought
    std::uint64_t fingerprint = 0;
    rpc::KeptReply reply;
    SlotWaiter* waiters = nullptr;
  };

  base::Result<SlotStart, nfsstat4> repeated(Slot& slot, const SlotRequest& request, SlotWaiter* waiter);
  [[nodiscard]] SlotStart outcome(SlotVerdict verdict) const;
  // What a new request tells about the slots that its client uses.
  void shrink(const Slot& slot, const SlotRequest& request);
  void grow(const SlotRequest& request);
  void return_budget(std::uint32_t slots);

  const SlotOptions options_;
  std::vector<Slot> slots_;
  std::uint32_t limit_;
  std::uint32_t target_;
  std::uint32_t target_number_ = 1;  // how often the target was lowered
  std::uint32_t running_ = 0;
  bool retired_ = false;
};

}  // namespace braid::nfs4::state
