#include "pnfs/call_counters.h"

#include <fmt/format.h>

namespace braid::pnfs {

CallCounters::CallCounters(base::MetricRegistry& metrics, std::span<const std::string_view> calls) {
  counters_.reserve(calls.size() * results);
  for (const std::string_view call : calls)
    for (std::size_t i = 0; i < results; ++i) {
      const std::string_view result = i == 0 ? "answered" : name_of(static_cast<PeerFault>(i - 1));
      counters_.push_back(&metrics.counter("braid_pnfs_control_calls_total",
                                           "Calls to other servers of the cluster, by how they ended",
                                           fmt::format(R"(call="{}",result="{}")", call, result)));
    }
}

}  // namespace braid::pnfs
