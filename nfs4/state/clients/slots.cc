#include "nfs4/state/clients/slots.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace braid::nfs4::state {

using enum nfsstat4;

SlotTable::SlotTable(const SlotOptions& options)
    : options_(options), limit_(options.slots), target_(options.slots) {}

base::Result<SlotStart, nfsstat4> SlotTable::start(const SlotRequest& request, SlotWaiter* waiter) {
  if (retired_) return base::fail(NFS4ERR_DEADSESSION);
  if (request.slot >= limit_) return base::fail(NFS4ERR_BADSLOT);
  // The request may have been sent before its client learned of a smaller number.
  if (request.highest_slot >= std::max(limit_, options_.slots_max)) return base::fail(NFS4ERR_BAD_HIGH_SLOT);
  // A request on a slot that was never used must bring 1, so nothing is kept for one that does not.
  if (request.slot >= slots_.size()) {
    if (request.sequence != 1) return base::fail(NFS4ERR_SEQ_MISORDERED);
    slots_.resize(request.slot + 1);
  }
  Slot& slot = slots_[request.slot];
  if (slot.anew && request.sequence == 1) slot = Slot();
  if (slot.used && request.sequence == slot.sequence) return repeated(slot, request, waiter);
  if (request.sequence != slot.sequence + 1) return base::fail(NFS4ERR_SEQ_MISORDERED);
  // The client goes on without having seen the reply to a request that still runs.
  if (slot.running) return base::fail(NFS4ERR_SEQ_MISORDERED);
  shrink(slot, request);
  slot.sequence = request.sequence;
  slot.used = true;
  slot.anew = false;
  slot.running = true;
  slot.told = target_number_;
  slot.fingerprint = request.fingerprint;
  slot.reply = {};
  ++running_;
  grow(request);
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

void SlotTable::set_target(std::uint32_t slots) {
  const std::uint32_t target = std::clamp<std::uint32_t>(slots, 1, limit_);
  if (target < target_) ++target_number_;
  target_ = target;
}

// RFC 8881 2.10.6.1: a client that goes on on a slot has seen the target that the slot's last reply brought;
// sa_highest_slotid tells that no request beyond it is on its way.
void SlotTable::shrink(const Slot& slot, const SlotRequest& request) {
  if (target_ == limit_ || slot.told != target_number_) return;
  if (request.slot >= target_ || request.highest_slot >= target_) return;
  for (std::size_t i = target_; i < slots_.size(); ++i)
    if (slots_[i].running) return;
  for (std::size_t i = target_; i < slots_.size(); ++i) {
    slots_[i].reply = {};
    slots_[i].anew = slots_[i].used;
  }
  const std::uint32_t ended = limit_ - target_;
  limit_ = target_;
  return_budget(ended);
}

void SlotTable::grow(const SlotRequest& request) {
  constexpr std::uint32_t part = 5;
  if (request.slot + 1 < limit_ || target_ < limit_ || limit_ >= options_.slots_max) return;
  const std::uint32_t more = std::min(limit_ / part + 1, options_.slots_max - limit_);
  if (options_.budget != nullptr &&
      (options_.budget->scarce() || !options_.budget->take(more * options_.reply_bytes_max)))
    return;
  limit_ += more;
  target_ = limit_;
}

void SlotTable::return_budget(std::uint32_t slots) {
  if (options_.budget != nullptr && !retired_) options_.budget->give_back(slots * options_.reply_bytes_max);
}

bool SlotTable::retire(std::uint32_t running_max) {
  if (running_ > running_max) return false;
  return_budget(limit_);  // does nothing the second time
  retired_ = true;
  return true;
}

SlotStats SlotTable::stats() const {
  SlotStats out{.slots = limit_, .target = target_, .running = running_};
  for (const Slot& slot : slots_) {
    if (slot.used) ++out.used;
    out.kept_bytes += slot.reply.length;
  }
  return out;
}

}  // namespace braid::nfs4::state
