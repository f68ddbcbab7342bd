#include "rdma/options.h"

#include <fmt/format.h>

namespace braid::rdma {
namespace {

base::Counter& closed(base::MetricRegistry& registry, std::string_view labels) {
  return registry.counter("braid_rdma_closed_total", "RDMA connections that the server closed", labels);
}
base::Counter* refused_for(base::MetricRegistry& registry, Refusal why) {
  return &registry.counter("braid_rdma_refused_total", "RDMA connections that were not taken",
                           fmt::format(R"(reason="{}")", name_of(why)));
}
base::Counter* told(base::MetricRegistry& registry, DeviceEvent::Kind kind) {
  return &registry.counter("braid_rdma_device_events_total", "What RDMA devices told of themselves",
                           fmt::format(R"(event="{}")", name_of(kind)));
}
base::Counter& error_sent(base::MetricRegistry& registry, std::string_view labels) {
  return registry.counter("braid_rdma_errors_sent_total", "RDMA_ERROR messages sent", labels);
}
base::Counter& chunks(base::MetricRegistry& registry, std::string_view labels) {
  return registry.counter("braid_rdma_chunks_total", "Chunks of clients that data was moved through", labels);
}
base::Counter& bytes(base::MetricRegistry& registry, std::string_view labels) {
  return registry.counter("braid_rdma_bytes_total", "Bytes moved between memory of clients and ours", labels);
}

}  // namespace

RdmaMetrics::RdmaMetrics(base::MetricRegistry& registry)
    : accepted(registry.counter("braid_rdma_accepted_total", "RDMA connections established")),
      refused_by_reason{
          refused_for(registry, Refusal::connections_max), refused_for(registry, Refusal::address_share),
          refused_for(registry, Refusal::no_resources), refused_for(registry, Refusal::draining)},
      device_events{told(registry, DeviceEvent::Kind::port_up), told(registry, DeviceEvent::Kind::port_down),
                    told(registry, DeviceEvent::Kind::device_failed),
                    told(registry, DeviceEvent::Kind::queue_failed),
                    told(registry, DeviceEvent::Kind::other)},
      closed_idle(closed(registry, R"(reason="idle")")),
      closed_stalled(closed(registry, R"(reason="stalled")")),
      closed_credits(closed(registry, R"(reason="credits")")),
      closed_header(closed(registry, R"(reason="bad_header")")),
      closed_transfer(closed(registry, R"(reason="transfer")")),
      err_vers(error_sent(registry, R"(code="ERR_VERS")")),
      err_chunk(error_sent(registry, R"(code="ERR_CHUNK")")),
      errors_received(registry.counter("braid_rdma_errors_received_total", "RDMA_ERROR messages received")),
      read_chunks(chunks(registry, R"(kind="read")")),
      write_chunks(chunks(registry, R"(kind="write")")),
      reply_chunks(chunks(registry, R"(kind="reply")")),
      bytes_read(bytes(registry, R"(operation="read")")),
      bytes_written(bytes(registry, R"(operation="write")")),
      invalidated(
          registry.counter("braid_rdma_invalidations_total", "Replies that invalidated a key of the client")),
      memory_waits(registry.counter("braid_rdma_memory_waits_total",
                                    "Receives and reads put off because the slab pool was exhausted")),
      registration(registry) {
  registry.gauge("braid_rdma_credits", "Calls that the clients of RDMA may have under way", {},
                 [this] { return static_cast<double>(credits.load(std::memory_order_relaxed)); });
}

}  // namespace braid::rdma
