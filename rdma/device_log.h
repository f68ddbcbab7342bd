// What devices tell of themselves, for the log and the metrics.
#pragma once

#include "rdma/options.h"
#include "rdma/verbs.h"

namespace braid::rdma {

class DeviceLog final : public DeviceUser {
 public:
  explicit DeviceLog(const RdmaMetrics& metrics) : metrics_(metrics) {}
  void on_device_event(const Device& device, const DeviceEvent& event) override;

 private:
  const RdmaMetrics& metrics_;
};

}  // namespace braid::rdma
