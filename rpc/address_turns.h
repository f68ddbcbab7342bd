// Whose turn it is on a reactor. An address is looked after for some time in each turn of the reactor,
// however many connections it has, by whatever transport: what came on others of its connections waits for
// the next turn, in the order in which it came. So who has many connections waits for himself.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <map>

#include "base/clock.h"
#include "io/op.h"
#include "io/reactor.h"
#include "rpc/peer_account.h"

namespace braid::rpc {

// Belongs to the reactor's thread. One turn of a connection, which has entered:
//
//   if (!turns.admits(turn, now)) co_await turns.next(turn);    and asks again
//   ... works ...
//   turns.end(turn);
class AddressTurns {
  struct Address;

 public:
  static constexpr base::Duration share = std::chrono::milliseconds(1);  // of a turn of the reactor

  // Of a connection. One that has not entered may always go on.
  class Turn {
    friend class AddressTurns;
    Address* address_ = nullptr;
    bool called_ = false;   // it is the first of those that have waited
    io::ReadyItem item_{};  // while it waits
    Turn* next_ = nullptr;  // behind it
  };

  explicit AddressTurns(io::Reactor& reactor) : reactor_(reactor) {}
  AddressTurns(const AddressTurns&) = delete;
  AddressTurns& operator=(const AddressTurns&) = delete;

  // A connection of this address comes.
  void enter(Turn& turn, const PeerKey& of);
  // It ends, and does not wait. What goes on counts for nobody if it was the last one there.
  void leave(Turn& turn);

  // Whether this connection may go on. What is done from now on, until somebody else asks, counts for its
  // address.
  [[nodiscard]] bool admits(const Turn& turn, base::TimePoint now);
  // To be awaited after admits() said no.
  auto next(Turn& turn) {
    struct Awaiter {
      AddressTurns& turns;
      Turn& turn;
      [[nodiscard]] bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> handle) { turns.wait(turn, io::ReadyItem::of(handle)); }
      void await_resume() const {}
    };
    return Awaiter{*this, turn};
  }
  // The same for who is no coroutine: `item` is called once, by the ready queue. Both outlive that.
  void wait(Turn& turn, io::ReadyItem item);
  // Its work is done, for now or for good.
  void end(Turn& turn);
  // For each transport, when its connections have ended: to be awaited before this is destroyed.
  io::Op<> close();

 private:
  struct Address {
    explicit Address(const PeerKey& of) : key(of) {}
    const PeerKey key;
    std::size_t connections = 0;
    Turn *first = nullptr, *last = nullptr;                     // of those that wait
    Address *waited_before = nullptr, *waited_after = nullptr;  // in waited_for_
    base::Duration spent{};                                     // in that turn of the reactor
    std::uint64_t turn = 0;
  };

  void note_waited_for(Address& address);
  void call_first(Address& address);
  void end_of_turn();

  io::Reactor& reactor_;
  std::map<PeerKey, Address> addresses_;  // that have connections
  Address* waited_for_ = nullptr;         // the latest of those that somebody waits for
  Address* working_ = nullptr;            // since began_, in this turn of the reactor
  base::TimePoint began_{};
  std::uint64_t turn_ = 1;  // of the reactor, as far as somebody asked
  bool armed_ = false;      // end_of_turn() will be called
};

}  // namespace braid::rpc
