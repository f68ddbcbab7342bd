// An RPC program that moves data and does nothing else: what a READ and a WRITE cost before there is a file.
#pragma once

#include <cstdint>

#include "io/payload.h"
#include "io/slab.h"
#include "rpc/program.h"

namespace braid::bench {

constexpr std::uint32_t data_program_number = 0x2000'0311;
constexpr std::uint32_t data_bytes_max = 1024 * 1024;

enum DataProcedure : std::uint32_t {
  data_read = 1,   // unsigned n -> eligible opaque of n bytes
  data_write = 2,  // eligible opaque -> its length
};

// Answers with bytes that lie in a slab as those of a file would, and drops what it gets.
class DataService final : public rpc::Service {
 public:
  explicit DataService(io::SlabPool& pool);
  [[nodiscard]] io::Payload first(std::uint32_t bytes) const { return data_.slice(0, bytes); }
  [[nodiscard]] rpc::Program program();

 private:
  io::Payload data_;
};

}  // namespace braid::bench
