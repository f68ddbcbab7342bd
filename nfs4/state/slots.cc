#include "nfs4/state/slots.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace braid::nfs4::state {

using enum nfsstat4;

base::Result<SlotStart, nfsstat4> SlotTable::start(const SlotRequest& request, SlotWaiter* waiter) {
  if (retired_) return base::fail(NFS4ERR_DEADSESSION);
  if (request.slot >= limit_) return base::fail(NFS4ERR_BADSLOT);
  if (request.highest_slot >= limit_) return base::fail(NFS4ERR_BAD_HIGH_SLOT);
  // A request on a slot that was never used must bring 1, so nothing is kept for one that does not.
  if (request.slot >= slots_.size()) {
    if (request.sequence != 1) return base::fail(NFS4ERR_SEQ_MISORDERED);
    slots_.resize(request.slot + 1);
  }
  Slot& slot = slots_[request.slot];
  if (slot.used && request.sequence == slot.sequence) return repeated(slot, request, waiter);
  if (request.sequence != slot.sequence + 1) return base::fail(NFS4ERR_SEQ_MISORDERED);
  // The client goes on without having seen the reply to a request that still runs.
  if (slot.running) return base::fail(NFS4ERR_SEQ_MISORDERED);
  slot.sequence = request.sequence;
  slot.used = true;
  slot.running = true;
  slot.fingerprint = request.fingerprint;
  slot.reply = {};
  ++running_;
  shrink(request.highest_slot);
  return outcome(SlotVerdict::execute);
}

base::Result<SlotStart, nfsstat4> SlotTable::repeated(Slot& slot, const SlotRequest& request,
                                                      SlotWaiter* waiter) {
  const bool same = slot.fingerprint == request.fingerprint;
  if (slot.running) {
    // A client that gave a request up and sends another in its place learns later what became of the first:
    // if it were told now, it would go on to a sequence id that cannot be taken yet.
    if (!same || waiter == nullptr || slot.waiting == waiters_max) return base::fail(NFS4ERR_DELAY);
    waiter->next = std::exchange(slot.waiters, waiter);
    ++slot.waiting;
    return outcome(SlotVerdict::wait);
  }
  // RFC 8881 2.10.6.1.3.1
  if (!same) return base::fail(NFS4ERR_SEQ_FALSE_RETRY);
  SlotStart start = outcome(slot.reply.data ? SlotVerdict::replay : SlotVerdict::uncached);
  start.reply = slot.reply;
  return start;
}

SlotStart SlotTable::outcome(SlotVerdict verdict) const {
  return {.verdict = verdict, .reply = {}, .highest_slot = limit_ - 1, .target_slot = target_ - 1};
}

SlotWaiter* SlotTable::finish(std::uint32_t index, rpc::KeptReply reply) {
  base::check(index < slots_.size() && slots_[index].running, "a request ends once");
  Slot& slot = slots_[index];
  slot.running = false;
  slot.reply = std::move(reply);
  slot.waiting = 0;
  --running_;
  return std::exchange(slot.waiters, nullptr);
}

void SlotTable::set_target(std::uint32_t slots) { target_ = std::clamp<std::uint32_t>(slots, 1, limit_); }

// RFC 8881 2.10.6.1: from sa_highest_slotid the server learns which replies nobody will ask for again.
void SlotTable::shrink(std::uint32_t highest_slot) {
  const std::uint32_t keep = std::max(highest_slot + 1, target_);
  for (std::size_t i = keep; i < slots_.size(); ++i)
    if (!slots_[i].running) slots_[i].reply = {};
}

bool SlotTable::retire(std::uint32_t running_max) {
  if (running_ > running_max) return false;
  retired_ = true;
  return true;
}

SlotStats SlotTable::stats() const {
  SlotStats out{.slots = limit_, .running = running_};
  for (const Slot& slot : slots_) {
    if (slot.used) ++out.used;
    out.kept_bytes += slot.reply.length;
  }
  return out;
}

}  // namespace braid::nfs4::state
