// A program whose calls take half a millisecond of work each, on a clock that they move.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "base/manual/manual_clock.h"
#include "io/op.h"
#include "rpc/program.h"

namespace braid::rpc::test {

struct SlowService final : Service {
  base::ManualClock* clock = nullptr;  // set before the first call
  // The test reads them.
  std::atomic<std::uint32_t> worked{0}, worked_before_look{0};
};

inline io::Op<Answer> work_slowly(Service& service, Call&, Reply& reply) {
  auto& slow = static_cast<SlowService&>(service);
  slow.clock->advance(std::chrono::microseconds(500));
  reply.begin().u32(++slow.worked);
  return Answer::success;
}

inline io::Op<Answer> look_at_work(Service& service, Call&, Reply& reply) {
  auto& slow = static_cast<SlowService&>(service);
  slow.worked_before_look = slow.worked.load();
  reply.begin();
  return Answer::success;
}

// WORK answers how many of its calls there have been; LOOK notes that number.
struct SlowProgram {
  static constexpr std::uint32_t number = 0x20000077;
  static constexpr std::uint32_t work = 0, look = 1;

  SlowService service;
  const std::vector<Procedure> procedures{{.name = "WORK", .handler = work_slowly, .reply_bytes_max = 4},
                                          {.name = "LOOK", .handler = look_at_work}};
  const std::vector<Version> versions{{.number = 1, .procedures = procedures}};
  const std::vector<Program> programs{
      {.number = number, .name = "slow", .versions = versions, .service = &service}};
};

}  // namespace braid::rpc::test
