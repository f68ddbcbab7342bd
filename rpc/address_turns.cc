#include "rpc/address_turns.h"

#include <utility>

#include "base/assert.h"

namespace braid::rpc {

void AddressTurns::enter(Turn& turn, const PeerKey& of) {
  turn.address_ = &addresses_.try_emplace(of, of).first->second;
  ++turn.address_->connections;
}

void AddressTurns::leave(Turn& turn) {
  Address* const address = std::exchange(turn.address_, nullptr);
  if (address == nullptr || --address->connections > 0) return;
  base::check(address->first == nullptr, "nobody waits for the turn of an address that ends");
  if (working_ == address) working_ = nullptr;
  addresses_.erase(addresses_.find(address->key));
}

// The work of others that lies between two who ask, such as calls that go on, counts for the first one: what
// it costs an address is to wait for the next turn.
bool AddressTurns::admits(const Turn& turn, base::TimePoint now) {
  if (turn.address_ == nullptr) return true;
  Address& address = *turn.address_;
  if (working_ != nullptr) working_->spent += now - began_;
  began_ = now;
  if (address.turn != turn_) {
    address.turn = turn_;
    address.spent = {};
  }
  if (!armed_) {
    armed_ = true;
    reactor_.at_end_of_turn({[](void* self) { static_cast<AddressTurns*>(self)->end_of_turn(); }, this});
  }
  const bool first = turn.called_ || address.first == nullptr;
  const bool admitted = first && address.spent < share;
  working_ = admitted ? &address : nullptr;
  return admitted;
}

void AddressTurns::wait(Turn& turn, io::ReadyItem item) {
  Address& address = *turn.address_;
  turn.item_ = item;
  if (address.first == nullptr) {
    note_waited_for(address);
    address.first = address.last = &turn;
  } else if (turn.called_) {
    turn.next_ = std::exchange(address.first, &turn);
  } else {
    address.last = address.last->next_ = &turn;
  }
  turn.called_ = false;
}

void AddressTurns::note_waited_for(Address& address) {
  address.waited_after = std::exchange(waited_for_, &address);
  if (address.waited_after != nullptr) address.waited_after->waited_before = &address;
}

void AddressTurns::end(Turn& turn) {
  if (!std::exchange(turn.called_, false)) return;
  if (turn.address_->first != nullptr) call_first(*turn.address_);
}

void AddressTurns::call_first(Address& address) {
  Turn& first = *address.first;
  address.first = std::exchange(first.next_, nullptr);
  first.called_ = true;
  reactor_.ready_queue().push(first.item_);
  if (address.first != nullptr) return;
  Address* const before = std::exchange(address.waited_before, nullptr);
  Address* const after = std::exchange(address.waited_after, nullptr);
  if (after != nullptr) after->waited_before = before;
  (before == nullptr ? waited_for_ : before->waited_after) = after;
}

void AddressTurns::end_of_turn() {
  armed_ = false;
  working_ = nullptr;
  ++turn_;
  for (Address* next = waited_for_; next != nullptr;) {
    Address& due = *std::exchange(next, next->waited_after);
    call_first(due);
  }
}

io::Op<> AddressTurns::close() {
  while (armed_ && addresses_.empty()) co_await reactor_.next_turn();
}

}  // namespace braid::rpc
