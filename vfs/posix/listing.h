// Calls that list one directory at the same time take turns, and those that go on from the same position go
// together: a thousand clients that begin a job with the same `ls -l` cost a few walks, not a thousand side
// by side.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/guarded.h"
#include "io/reactor.h"
#include "vfs/file_system.h"
#include "vfs/posix/kernel.h"

namespace braid::vfs::posix {

// One READDIR or READDIRPLUS, and what came of it. It lives until it is answered, and so does what it refers
// to.
struct ListingCall {
  const Credentials& who;
  const ReadDirectoryRequest& request;
  const EntrySink& sink;
  Outcome<bool> outcome = base::fail(Error::delay);  // as that of FileSystem::readdir()
  ListingCall* next = nullptr;                       // that goes with it, from the same cookie

  // While it goes through the directory.
  bool open = false;  // more entries are wanted
  bool look = false;  // with their attributes
  std::size_t taken = 0;

  // While it waits in ListingTurns.
  io::Reactor* reactor = nullptr;
  std::coroutine_handle<> waiter{};
  bool leads = false;
};

// Of one directory; thread-safe. There are at most `walks_max` walks through it at a time, and one from each
// position: the kernel has them wait for one another anyway, and one directory is not to take the whole
// blocking pool. Whoever waits is answered by a walk that begins after it came, so it sees nothing older than
// itself.
class ListingTurns {
 public:
  static constexpr std::size_t together_max = 32;  // calls of one walk

  explicit ListingTurns(std::size_t walks_max = quarter_of_the_processors()) : walks_max_(walks_max) {}

  // On a reactor: `co_await turns.turn(call)` is true if the caller is to walk, for `call` and those after
  // it, and then to say done(); false when somebody else's walk has answered it.
  auto turn(ListingCall& call) {
    struct Awaiter {
      ListingTurns& turns;
      ListingCall& call;
      [[nodiscard]] bool await_ready() const { return false; }
      bool await_suspend(std::coroutine_handle<> handle) {
        call.waiter = handle;
        return turns.waits(call);
      }
      [[nodiscard]] bool await_resume() const { return call.leads; }
    };
    call.reactor = io::Reactor::current();
    return Awaiter{*this, call};
  }
  // Resumes those after `leader`, which are answered, and whoever is to walk next.
  void done(ListingCall& leader);

 private:
  struct State {
    std::vector<std::uint64_t> walking;  // from these cookies
    std::vector<ListingCall*> waiting;   // who came first is first

    [[nodiscard]] bool walks_from(std::uint64_t cookie) const;
  };

  static std::size_t quarter_of_the_processors();
  // False: the caller is to walk.
  bool waits(ListingCall& call);
  ListingCall* next_leader(State& state) const;

  const std::size_t walks_max_;
  base::Guarded<State> state_;
};

}  // namespace braid::vfs::posix
