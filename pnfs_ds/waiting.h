// Waiting for each other on different threads: one at a time, and "everything that has begun is over".
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "io/reactor.h"

namespace braid::pnfs_ds {

// A coroutine that waits, and the reactor that it goes on with.
struct Parked {
  io::Reactor* home = nullptr;
  std::coroutine_handle<> handle;
  void resume() const { home->post(handle); }
};

// One holder at a time, in the order in which they came. Thread-safe; everybody has a reactor. Unlike a lock
// it may be held while its holder waits.
class Turn {
 public:
  class Hold {
   public:
    explicit Hold(Turn& turn) : turn_(&turn) {}
    Hold(Hold&& other) noexcept : turn_(std::exchange(other.turn_, nullptr)) {}
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    Hold& operator=(Hold&&) = delete;
    ~Hold() {
      if (turn_ != nullptr) turn_->leave();
    }

   private:
    Turn* turn_;
  };
  // `const Turn::Hold hold = co_await turn.take();`
  auto take() {
    struct Awaiter {
      Turn& turn;
      [[nodiscard]] bool await_ready() const { return false; }
      bool await_suspend(std::coroutine_handle<> handle) { return turn.park(handle); }
      Hold await_resume() const { return Hold(turn); }
    };
    return Awaiter{*this};
  }

 private:
  // False: it is the caller's turn now.
  bool park(std::coroutine_handle<> handle);
  void leave();

  std::mutex mutex_;
  bool taken_ = false;
  std::deque<Parked> waiting_;
};

// I/O of one object that is under way. Whoever shuts somebody out waits for what had been let in before.
// Thread-safe; those who wait have a reactor.
class RunningIo {
 public:
  class Hold {
   public:
    explicit Hold(RunningIo& all) : all_(&all), side_(all.enter()) {}
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold() { all_->leave(side_); }

   private:
    RunningIo* all_;
    std::size_t side_;
  };
  // co_await running.earlier_ended(): what has a Hold now has it no more. What comes later is not waited for,
  // however long it goes on.
  auto earlier_ended() {
    struct Awaiter {
      RunningIo& all;
      [[nodiscard]] bool await_ready() const { return false; }
      bool await_suspend(std::coroutine_handle<> handle) { return all.park(handle); }
      void await_resume() const {}
    };
    return Awaiter{*this};
  }
  [[nodiscard]] bool idle() const;

 private:
  std::size_t enter();
  void leave(std::size_t side);
  // False: there is nothing to wait for.
  bool park(std::coroutine_handle<> handle);

  mutable std::mutex mutex_;
  // Calls enter on one side; the other one only empties. Then the sides are changed for who came meanwhile.
  std::array<std::size_t, 2> counts_{};
  std::size_t side_ = 0;
  std::vector<Parked> emptying_;  // wait until the other side is empty
  std::vector<Parked> next_;      // wait for a change of sides, and then for that
};

}  // namespace braid::pnfs_ds
