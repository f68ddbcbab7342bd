// The system's RDMA: libibverbs for the data, librdmacm for connections.
#pragma once

#include <rdma/rdma_cma.h>

#include <memory>
#include <vector>

#include "rdma/ibverbs/device.h"
#include "rdma/verbs.h"

namespace braid::rdma::ibverbs {

// Used by any thread once it is made; outlives everything that it opens.
class IbProvider final : public Provider {
 public:
  // Of all devices that can be used; the others are skipped, with a line in the log. ENODEV if there is none,
  // or the errno of the last one that was skipped, or with which the system refused (no module, no right).
  static base::Result<std::unique_ptr<IbProvider>> create();
  ~IbProvider() override;
  IbProvider(const IbProvider&) = delete;
  IbProvider& operator=(const IbProvider&) = delete;

  [[nodiscard]] std::vector<Device*> devices() const override;
  base::Result<std::unique_ptr<Verbs>> open(io::Reactor& reactor) override;
  base::Result<std::unique_ptr<DeviceWatch>> watch(io::Reactor& reactor, DeviceUser& user) override;
  // Null for a device that came later.
  [[nodiscard]] IbDevice* find(const ibv_context* context) const;

 private:
  IbProvider() = default;
  ibv_context** contexts_ = nullptr;
  std::vector<std::unique_ptr<IbDevice>> devices_;
};

}  // namespace braid::rdma::ibverbs
