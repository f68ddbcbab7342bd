// Whose turn it is on a reactor. An address is looked after for some time in each turn of the reactor,
// however many connections it has: what came on others of its connections waits for the next turn, in the
// order in which it came. So who has many connections waits for himself.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <list>
#include <set>

#include "base/clock.h"
#include "io/op.h"
#include "io/reactor.h"

namespace braid::rpc {

// Belongs to the reactor's thread. One turn of a connection:
//
//   if (!turns.admits(address, turn, now)) co_await turns.next(address, turn);    and asks again
//   ... works ...
//   turns.end(address, turn);
class AddressTurns {
 public:
  static constexpr base::Duration share = std::chrono::milliseconds(1);  // of a turn of the reactor

  // Of an address; outlives the turns of its connections, and ends after forget().
  class Address {
    friend class AddressTurns;
    std::list<std::coroutine_handle<>> waiting_;
    base::Duration spent_{};  // in that turn of the reactor
    std::uint64_t turn_ = 0;
  };
  // Of a connection.
  class Turn {
    friend class AddressTurns;
    bool called_ = false;  // it is the first of those that have waited
  };

  explicit AddressTurns(io::Reactor& reactor) : reactor_(reactor) {}
  AddressTurns(const AddressTurns&) = delete;
  AddressTurns& operator=(const AddressTurns&) = delete;

  // Whether this connection may go on. What is done from now on, until somebody else asks, counts for its
  // address.
  [[nodiscard]] bool admits(Address& address, const Turn& turn, base::TimePoint now);
  // To be awaited after admits() said no.
  auto next(Address& address, Turn& turn) {
    struct Awaiter {
      AddressTurns& turns;
      Address& address;
      Turn& turn;
      [[nodiscard]] bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> handle) { turns.wait(address, turn, handle); }
      void await_resume() const { turn.called_ = true; }
    };
    return Awaiter{*this, address, turn};
  }
  // Its work is done, for now or for good.
  void end(Address& address, Turn& turn);
  // Before the address is destroyed: what goes on counts for nobody.
  void forget(const Address& address);
  // Once nobody asks any more: to be awaited before this is destroyed.
  io::Op<> close();

 private:
  void wait(Address& address, const Turn& turn, std::coroutine_handle<> handle);
  void call_first(Address& address);
  void end_of_turn();

  io::Reactor& reactor_;
  std::set<Address*> waited_for_;  // those that somebody waits for
  Address* working_ = nullptr;     // since began_, in this turn of the reactor
  base::TimePoint began_{};
  std::uint64_t turn_ = 1;  // of the reactor, as far as somebody asked
  bool armed_ = false;      // end_of_turn() will be called
};

}  // namespace braid::rpc
