// A program whose procedures move data in every way that RPC over RDMA knows.
#pragma once

#include <coroutine>
#include <cstdint>
#include <vector>

#include "io/ready_queue.h"
#include "rpc/back_channel.h"
#include "rpc/program.h"

namespace braid::rdma::test {

constexpr std::uint32_t program_number = 0x2000'0301;

enum Proc : std::uint32_t {
  proc_null = 0,
  proc_read = 1,   // unsigned lengths<> -> eligible opaques of these lengths
  proc_write = 2,  // opaque, unsigned -> its length, the sum of its bytes, the unsigned
  proc_list = 3,   // unsigned n -> opaque of n bytes, not eligible
  proc_wait = 4,   // void -> void, when released
  proc_way = 5,    // void -> void; keeps the way back to the caller
  proc_late = 6,   // as proc_read, when released
};

// Byte i of every opaque.
constexpr std::byte pattern(std::size_t i) { return static_cast<std::byte>(i * 31 + i / 251); }

class TestService final : public rpc::Service {
 public:
  rpc::BackChannelRef way_back;
  std::vector<std::coroutine_handle<>> waiting;
  std::uint32_t calls = 0;
  void release() {
    for (const auto handle : std::exchange(waiting, {}))
      io::ReadyQueue::current().push(io::ReadyItem::of(handle));
  }
};

rpc::Program program_of(TestService& service);

}  // namespace braid::rdma::test
