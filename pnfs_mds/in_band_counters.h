// Counts what the metadata server does to the bytes of striped files for clients that have no layout, or do
// not use it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/metrics.h"

namespace braid::pnfs_mds {

enum class InBand : std::uint8_t { read, write, commit, resize, seek, allocate, deallocate };

// Thread-safe from register_in() on, which comes before the first call; without it nothing is counted.
class InBandCounters {
 public:
  // The registry outlives it.
  void register_in(base::MetricRegistry& metrics) {
    constexpr std::array<std::string_view, operations> labels{
        R"(operation="read")", R"(operation="write")",    R"(operation="commit")",    R"(operation="resize")",
        R"(operation="seek")", R"(operation="allocate")", R"(operation="deallocate")"};
    for (std::size_t i = 0; i < operations; ++i)
      calls_[i] = &metrics.counter("braid_pnfs_in_band_total",
                                   "Operations on striped files through the metadata server", labels[i]);
    for (const InBand what : {InBand::read, InBand::write})
      bytes_[index(what)] = &metrics.counter("braid_pnfs_in_band_bytes_total",
                                             "Bytes of striped files that went through the metadata server",
                                             labels[index(what)]);
  }

  void called(InBand what) const {
    if (calls_[index(what)] != nullptr) calls_[index(what)]->add();
  }
  // Of a read or write that went well.
  void moved(InBand what, std::uint64_t bytes) const {
    if (bytes_[index(what)] != nullptr) bytes_[index(what)]->add(bytes);
  }

 private:
  static constexpr std::size_t operations = 7;
  static constexpr std::size_t index(InBand what) { return static_cast<std::size_t>(what); }
  std::array<base::Counter*, operations> calls_{};
  std::array<base::Counter*, operations> bytes_{};
};

}  // namespace braid::pnfs_mds
