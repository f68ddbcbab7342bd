// A device of the system: an opened context and the protection domain that everything of ours belongs to.
#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <string>
#include <vector>

#include "rdma/verbs.h"

namespace braid::rdma::ibverbs {

class IbDevice final : public Device {
 public:
  // `context` stays open as long as the process (rdma_get_devices()). ENOTSUP of devices other than those of
  // InfiniBand and RoCE: with iWARP (RFC 5040) the peer writes the data of an RDMA Read to our memory, so
  // that keys of ours would leave the host and their memory would have to be writable from there.
  static base::Result<std::unique_ptr<IbDevice>> open(ibv_context* context);
  ~IbDevice() override;
  IbDevice(const IbDevice&) = delete;
  IbDevice& operator=(const IbDevice&) = delete;

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const DeviceLimits& limits() const override { return limits_; }
  [[nodiscard]] std::vector<Port> ports() const override;
  base::Result<std::unique_ptr<MemoryRegion>> register_memory(base::MutableBytes memory,
                                                              Access access) override;
  base::Result<std::unique_ptr<MemoryRegion>> register_everything() override;

  [[nodiscard]] ibv_context* context() const { return context_; }
  [[nodiscard]] ibv_pd* domain() const { return domain_; }
  [[nodiscard]] int completions_max() const { return completions_max_; }

 private:
  IbDevice(ibv_context* context, ibv_pd* domain);
  base::Result<void> query();

  ibv_context* const context_;
  ibv_pd* const domain_;
  const std::string name_;
  DeviceLimits limits_;
  int completions_max_ = 0;
  unsigned ports_ = 0;
};

}  // namespace braid::rdma::ibverbs
