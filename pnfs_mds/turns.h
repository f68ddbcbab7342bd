// Who may go on and who waits: a lock for coroutines.
#pragma once

#include <coroutine>
#include <cstdint>
#include <mutex>
#include <utility>

#include "io/reactor.h"

namespace braid::pnfs_mds {

// Held by one alone, or by several together. Who comes later waits for who came before, so nobody waits for
// ever. Thread-safe; who waits does so on a reactor. It outlives its holds.
class Turns {
 public:
  Turns() = default;
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  class Hold {
   public:
    Hold(Hold&& other) noexcept : turns_(std::exchange(other.turns_, nullptr)), alone_(other.alone_) {}
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    Hold& operator=(Hold&&) = delete;
    ~Hold() {
      if (turns_ != nullptr) turns_->leave(alone_);
    }

   private:
    friend class Turns;
    Hold(Turns& turns, bool alone) : turns_(&turns), alone_(alone) {}
    Turns* turns_;
    bool alone_;
  };

  // const Turns::Hold hold = co_await turns.together();
  auto together() { return Awaiter(*this, false); }
  auto alone() { return Awaiter(*this, true); }

 private:
  // In the frame of who waits.
  struct Waiter {
    io::Reactor* reactor = nullptr;
    std::coroutine_handle<> handle;
    Waiter* next = nullptr;
    bool alone = false;
  };
  class Awaiter {
   public:
    Awaiter(Turns& turns, bool alone) : turns_(turns) { waiter_.alone = alone; }
    [[nodiscard]] bool await_ready() const { return false; }
    bool await_suspend(std::coroutine_handle<> handle) {
      waiter_.handle = handle;
      return turns_.waits(waiter_);
    }
    Hold await_resume() { return Hold(turns_, waiter_.alone); }

   private:
    Turns& turns_;
    Waiter waiter_;
  };

  // False: the caller has it.
  bool waits(Waiter& waiter);
  void leave(bool alone);
  [[nodiscard]] bool free_for(bool alone) const { return !alone_ && (!alone || together_ == 0); }
  void enter(bool alone);

  std::mutex mutex_;
  bool alone_ = false;          // one has it alone
  std::uint32_t together_ = 0;  // so many have it
  Waiter* first_ = nullptr;     // who waits, in the order in which they came
  Waiter* last_ = nullptr;
};

}  // namespace braid::pnfs_mds
