// The asynchronous events of devices: ports that come and go, devices that fail.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "io/gate.h"
#include "io/op.h"
#include "io/reactor.h"
#include "rdma/ibverbs/device.h"
#include "rdma/verbs.h"

namespace braid::rdma::ibverbs {

// Belongs to the reactor's thread.
class IbDeviceWatch final : public DeviceWatch {
 public:
  // The devices outlive it.
  static base::Result<std::unique_ptr<IbDeviceWatch>> create(
      std::span<const std::unique_ptr<IbDevice>> devices, io::Reactor& reactor, DeviceUser& user);
  io::Op<> close() override;

 private:
  IbDeviceWatch(io::Reactor& reactor, DeviceUser& user) : reactor_(reactor), user_(user) {}
  io::Op<> listen(const IbDevice& device);
  // False: there will be no more.
  bool take_events(const IbDevice& device);

  io::Reactor& reactor_;
  DeviceUser& user_;
  std::vector<const IbDevice*> devices_;
  io::Gate gate_;
};

}  // namespace braid::rdma::ibverbs
