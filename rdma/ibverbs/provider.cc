#include "rdma/ibverbs/provider.h"

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "rdma/ibverbs/device_watch.h"
#include "rdma/ibverbs/endpoint.h"

namespace braid::rdma::ibverbs {

base::Result<std::unique_ptr<IbProvider>> IbProvider::create() {
  std::unique_ptr<IbProvider> provider(new IbProvider());
  int count = 0;
  provider->contexts_ = ::rdma_get_devices(&count);
  if (provider->contexts_ == nullptr) return base::fail(errno != 0 ? errno : ENODEV);
  base::Errno skipped = base::errno_of(ENODEV);
  for (int i = 0; i < count; ++i) {
    ibv_context* context = provider->contexts_[i];
    auto device = IbDevice::open(context);
    if (device) {
      provider->devices_.push_back(std::move(*device));
      continue;
    }
    skipped = device.error();
    base::log_event(base::Level::warning, "rdma_device_skipped", "device={} error=\"{}\"",
                    ::ibv_get_device_name(context->device), base::message_of(skipped));
  }
  if (provider->devices_.empty()) return base::fail(skipped);
  return provider;
}

IbProvider::~IbProvider() {
  devices_.clear();
  if (contexts_ != nullptr) ::rdma_free_devices(contexts_);
}

std::vector<Device*> IbProvider::devices() const {
  std::vector<Device*> all;
  all.reserve(devices_.size());
  for (const auto& device : devices_) all.push_back(device.get());
  return all;
}

IbDevice* IbProvider::find(const ibv_context* context) const {
  const auto found = std::ranges::find(devices_, context, &IbDevice::context);
  return found == devices_.end() ? nullptr : found->get();
}

base::Result<std::unique_ptr<Verbs>> IbProvider::open(io::Reactor& reactor) {
  auto verbs = IbVerbs::create(*this, reactor);
  if (!verbs) return base::fail(verbs.error());
  return std::move(*verbs);
}

base::Result<std::unique_ptr<DeviceWatch>> IbProvider::watch(io::Reactor& reactor, DeviceUser& user) {
  auto watch = IbDeviceWatch::create(devices_, reactor, user);
  if (!watch) return base::fail(watch.error());
  return std::move(*watch);
}

}  // namespace braid::rdma::ibverbs
