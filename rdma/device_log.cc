#include "rdma/device_log.h"

#include "base/log.h"

namespace braid::rdma {

void DeviceLog::on_device_event(const Device& device, const DeviceEvent& event) {
  metrics_.device_event(event.kind).add();
  switch (event.kind) {
    case DeviceEvent::Kind::port_up:
      base::log_event(base::Level::info, "rdma_port_up", "device={} port={}", device.name(), event.port);
      break;
    case DeviceEvent::Kind::port_down:
      base::log_event(base::Level::warning, "rdma_port_down", "device={} port={}", device.name(), event.port);
      break;
    case DeviceEvent::Kind::device_failed:
      base::log_event(base::Level::error, "rdma_device_failed", "device={}", device.name());
      break;
    // A peer can cause as many of these as it likes.
    case DeviceEvent::Kind::queue_failed:
    case DeviceEvent::Kind::other:
      break;
  }
}

}  // namespace braid::rdma
