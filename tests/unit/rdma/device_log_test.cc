#include "rdma/device_log.h"

#include <gtest/gtest.h>

#include "rdma/sim/fabric.h"

namespace braid::rdma {
namespace {

TEST(DeviceLog, what_devices_tell_is_counted_by_kind) {
  using Kind = DeviceEvent::Kind;
  base::MetricRegistry registry;
  const RdmaMetrics metrics(registry);
  sim::Fabric fabric;
  const sim::Host host(fabric, "sim0");
  DeviceLog log(metrics);
  for (const Kind kind : {Kind::port_down, Kind::port_up, Kind::port_down, Kind::device_failed,
                          Kind::queue_failed, Kind::other})
    log.on_device_event(host, {kind, 1});
  EXPECT_EQ(metrics.device_event(Kind::port_up).value(), 1U);
  EXPECT_EQ(metrics.device_event(Kind::port_down).value(), 2U);
  EXPECT_EQ(metrics.device_event(Kind::device_failed).value(), 1U);
  EXPECT_EQ(metrics.device_event(Kind::queue_failed).value(), 1U);
  EXPECT_EQ(metrics.device_event(Kind::other).value(), 1U);
  EXPECT_NE(registry.prometheus().find(R"(braid_rdma_device_events_total{event="port_down"} 2)"),
            std::string::npos);
}

}  // namespace
}  // namespace braid::rdma
