#include "rpc/address_turns.h"

#include <utility>
#include <vector>

#include "base/assert.h"

namespace braid::rpc {

void AddressTurns::enter(Turn& turn, const PeerKey& of) {
  turn.address_ = &addresses_.try_emplace(of, of).first->second;
  ++turn.address_->connections;
}

void AddressTurns::leave(Turn& turn) {
  Address* const address = std::exchange(turn.address_, nullptr);
  if (address == nullptr || --address->connections > 0) return;
  base::check(address->waiting.empty(), "nobody waits for the turn of an address that ends");
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
  const bool first = turn.called_ || address.waiting.empty();
  const bool admitted = first && address.spent < share;
  working_ = admitted ? &address : nullptr;
  return admitted;
}

void AddressTurns::wait(Turn& turn, io::ReadyItem item) {
  Address& address = *turn.address_;
  if (address.waiting.empty()) waited_for_.insert(&address);
  if (std::exchange(turn.called_, false))
    address.waiting.push_front({&turn, item});
  else
    address.waiting.push_back({&turn, item});
}

void AddressTurns::end(Turn& turn) {
  if (!std::exchange(turn.called_, false)) return;
  if (!turn.address_->waiting.empty()) call_first(*turn.address_);
}

void AddressTurns::call_first(Address& address) {
  const Waiting first = address.waiting.front();
  address.waiting.pop_front();
  if (address.waiting.empty()) waited_for_.erase(&address);
  first.turn->called_ = true;
  reactor_.ready_queue().push(first.item);
}

void AddressTurns::end_of_turn() {
  armed_ = false;
  working_ = nullptr;
  ++turn_;
  const std::vector<Address*> due(waited_for_.begin(), waited_for_.end());
  for (Address* const address : due) call_first(*address);
}

io::Op<> AddressTurns::close() {
  while (armed_ && addresses_.empty()) co_await reactor_.next_turn();
}

}  // namespace braid::rpc
