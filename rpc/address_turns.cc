#include "rpc/address_turns.h"

#include <vector>

#include "base/assert.h"

namespace braid::rpc {

// The work of others that lies between two who ask, such as calls that go on, counts for the first one: what
// it costs an address is to wait for the next turn.
bool AddressTurns::admits(Address& address, const Turn& turn, base::TimePoint now) {
  if (working_ != nullptr) working_->spent_ += now - began_;
  began_ = now;
  if (address.turn_ != turn_) {
    address.turn_ = turn_;
    address.spent_ = {};
  }
  if (!armed_) {
    armed_ = true;
    reactor_.at_end_of_turn({[](void* self) { static_cast<AddressTurns*>(self)->end_of_turn(); }, this});
  }
  const bool first = turn.called_ || address.waiting_.empty();
  const bool admitted = first && address.spent_ < share;
  working_ = admitted ? &address : nullptr;
  return admitted;
}

void AddressTurns::wait(Address& address, const Turn& turn, std::coroutine_handle<> handle) {
  if (address.waiting_.empty()) waited_for_.insert(&address);
  if (turn.called_)
    address.waiting_.push_front(handle);
  else
    address.waiting_.push_back(handle);
}

void AddressTurns::end(Address& address, Turn& turn) {
  if (!turn.called_) return;
  turn.called_ = false;
  if (!address.waiting_.empty()) call_first(address);
}

void AddressTurns::forget(const Address& address) {
  base::check(address.waiting_.empty(), "nobody waits for the turn of an address that ends");
  if (working_ == &address) working_ = nullptr;
}

void AddressTurns::call_first(Address& address) {
  reactor_.ready_queue().push(io::ReadyItem::of(address.waiting_.front()));
  address.waiting_.pop_front();
  if (address.waiting_.empty()) waited_for_.erase(&address);
}

void AddressTurns::end_of_turn() {
  armed_ = false;
  working_ = nullptr;
  ++turn_;
  const std::vector<Address*> due(waited_for_.begin(), waited_for_.end());
  for (Address* const address : due) call_first(*address);
}

io::Op<> AddressTurns::close() {
  while (armed_) co_await reactor_.next_turn();
}

}  // namespace braid::rpc
