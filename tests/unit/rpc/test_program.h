// A program for the tests of the RPC layer: one procedure per way in which a procedure can behave.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "io/ready_queue.h"
#include "rpc/program.h"

namespace braid::rpc::test {

constexpr std::uint32_t program_number = 0x2000'0101;
constexpr std::uint32_t version_low = 2;
constexpr std::uint32_t version_high = 4;

enum Proc : std::uint32_t {
  proc_null = 0,
  proc_echo = 1,     // opaque<> -> opaque<>, by reference
  proc_count = 2,    // void -> how often it was executed; cached
  proc_hole = 3,     // not there
  proc_wait = 4,     // void -> how often it was executed; cached; ends when released
  proc_garbage = 5,  // answers garbage_args
  proc_fail = 6,     // answers system_err
  proc_bulk = 7,     // unsigned n -> opaque of n bytes
  proc_who = 8,      // void -> flavour, uid, gid, groups<>
  proc_errno = 9,    // ends with an error number
  proc_sleepy = 10,  // like echo, after a turn of the ready queue
  proc_weak = 11,    // answers auth_tooweak; cached
  proc_piped = 12,   // unsigned n -> the first n bytes of the service's file, by a pipe where there is one
  proc_store = 13,   // unsigned where, opaque<> which may come by a pipe, unsigned -> the last one; the
                     // opaque's bytes go to `where` in the service's file
  proc_piped_kept = 14,  // like proc_piped; cached
};

// Its state belongs to the reactor's thread, except the counters.
class TestService final : public Service {
 public:
  std::atomic<std::uint32_t> counted{0};
  std::atomic<std::uint32_t> bulk{0};
  std::atomic<std::uint32_t> bulk_before_count{0};  // calls of proc_bulk at the last call of proc_count
  std::atomic<std::uint32_t> waited{0};
  std::atomic<std::uint32_t> piped{0};  // replies of proc_piped, calls of proc_store
  std::function<void()> at_bulk;        // called by each proc_bulk; set before the first call
  int file = -1;                        // of proc_piped and proc_store; set before the first call

  // Ends every waiting call of proc_wait; on the reactor's thread.
  void release() {
    for (const std::coroutine_handle<> handle : std::exchange(waiting_, {}))
      io::ReadyQueue::current().push(io::ReadyItem::of(handle));
  }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  auto until_released() {
    struct Awaiter {
      TestService& service;
      [[nodiscard]] bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> handle) { service.waiting_.push_back(handle); }
      void await_resume() const {}
    };
    return Awaiter{*this};
  }
  // The largest number of bytes that proc_bulk answers.
  static constexpr std::uint32_t bulk_bytes_max = 1024 * 1024;

 private:
  std::vector<std::coroutine_handle<>> waiting_;
};

std::span<const Version> test_versions();

inline Program test_program(TestService& service) {
  return {.number = program_number, .name = "TEST", .versions = test_versions(), .service = &service};
}

}  // namespace braid::rpc::test
