// Counts the layouts that are granted, and how they end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/metrics.h"

namespace braid::pnfs_mds::layouts {

enum class LayoutEnd : std::uint8_t {
  returned,  // by LAYOUTRETURN, or the client said that it has none
  closed,    // with the client's last open or delegation of the file
  replaced,  // the client came back without its stateid: it had dropped it
  revoked,   // taken from the client
  gone,      // the client is
};

// Thread-safe from register_in() on, which comes before the first call; without it nothing is counted.
class LayoutCounters {
 public:
  // The registry outlives it.
  void register_in(base::MetricRegistry& metrics) {
    constexpr std::string_view granted = "braid_pnfs_layouts_granted_total";
    constexpr std::string_view granted_help = "Answers to LAYOUTGET that granted a layout";
    granted_[0] = &metrics.counter(granted, granted_help, R"(iomode="read")");
    granted_[1] = &metrics.counter(granted, granted_help, R"(iomode="read-write")");
    constexpr std::array<std::string_view, ends> labels{
        R"(how="returned")", R"(how="closed")", R"(how="replaced")", R"(how="revoked")", R"(how="gone")"};
    for (std::size_t i = 0; i < ends; ++i)
      ended_[i] = &metrics.counter("braid_pnfs_layouts_ended_total",
                                   "Layouts of a client and a file that ended", labels[i]);
    recalled_ = &metrics.counter("braid_pnfs_layouts_recalled_total", "Layouts asked for again", {});
    barred_ = &metrics.counter("braid_pnfs_client_bars_total",
                               "Times that a client was shut out of files at data servers", {});
  }

  void granted(bool writes) {
    if (granted_[0] != nullptr) granted_[writes ? 1 : 0]->add();
  }
  void ended(LayoutEnd how) {
    if (ended_[0] != nullptr) ended_[static_cast<std::size_t>(how)]->add();
  }

  void recalled() {
    if (recalled_ != nullptr) recalled_->add();
  }
  void barred() {
    if (barred_ != nullptr) barred_->add();
  }

 private:
  static constexpr std::size_t ends = 5;
  std::array<base::Counter*, 2> granted_{};
  std::array<base::Counter*, ends> ended_{};
  base::Counter* recalled_ = nullptr;
  base::Counter* barred_ = nullptr;
};

}  // namespace braid::pnfs_mds::layouts
