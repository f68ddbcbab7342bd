// Counts what the metadata server does to the bytes of striped files for clients that have no layout, or do
// not use it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/metrics.h"
#include "vfs/types.h"

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
    for (const InBand what : {InBand::read, InBand::write}) {
      bytes_[index(what)] = &metrics.counter("braid_pnfs_in_band_bytes_total",
                                             "Bytes of striped files that went through the metadata server",
                                             labels[index(what)]);
      register_callers(metrics, what, labels[index(what)]);
    }
  }

  void called(InBand what) const {
    if (calls_[index(what)] != nullptr) calls_[index(what)]->add();
  }
  // A read or write, and whose. `holds_layout`: the caller has a layout of the file.
  void called(InBand what, vfs::Protocol protocol, bool holds_layout) {
    called(what);
    base::Counter* const counter =
        callers_[index(what)][static_cast<std::size_t>(protocol)][may_hold(protocol) && holds_layout ? 1 : 0];
    if (counter != nullptr) counter->add();
    if (may_hold(protocol) && holds_layout)
      past_layouts_[index(what)].fetch_add(1, std::memory_order_relaxed);
  }
  // Of a read or write that went well.
  void moved(InBand what, std::uint64_t bytes) const {
    if (bytes_[index(what)] != nullptr) bytes_[index(what)]->add(bytes);
  }
  // Reads, or writes, by clients that had a layout of the file, since this was asked before.
  [[nodiscard]] std::uint64_t take_past_layouts(InBand what) {
    return past_layouts_[index(what)].exchange(0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t operations = 7;
  // As vfs::Protocol; "other": the server itself, which copies.
  static constexpr std::array<std::string_view, 5> versions{"other", "3", "4.0", "4.1", "4.2"};
  static constexpr std::size_t index(InBand what) { return static_cast<std::size_t>(what); }
  // A client that copies may have a layout; the server, which does it, has none.
  static constexpr bool may_hold(vfs::Protocol protocol) {
    return protocol == vfs::Protocol::nfs41 || protocol == vfs::Protocol::nfs42;
  }

  void register_callers(base::MetricRegistry& metrics, InBand what, std::string_view operation) {
    for (std::size_t version = 0; version < versions.size(); ++version) {
      const bool yes_too = may_hold(static_cast<vfs::Protocol>(version));
      for (std::size_t layout = 0; layout <= (yes_too ? 1U : 0U); ++layout)
        callers_[index(what)][version][layout] = &metrics.counter(
            "braid_pnfs_in_band_callers_total",
            "Reads and writes of striped files through the metadata server, by who sent them",
            std::string(operation) + ",version=\"" + std::string(versions[version]) + "\",layout=\"" +
                (layout == 1 ? "yes" : "no") + "\"");
    }
  }

  std::array<base::Counter*, operations> calls_{};
  std::array<base::Counter*, operations> bytes_{};
  // Of read and write.
  std::array<std::array<std::array<base::Counter*, 2>, versions.size()>, 2> callers_{};
  std::array<std::atomic<std::uint64_t>, 2> past_layouts_{};
};

}  // namespace braid::pnfs_mds
