#include "rdma/registration.h"

#include <algorithm>

namespace braid::rdma {

std::string_view name_of(Registration strategy) {
  switch (strategy) {
    case Registration::cache:
      return "cache";
    case Registration::dynamic:
      return "dynamic";
    case Registration::odp:
      return "odp";
  }
  return "unknown";
}

RegistrationMetrics::RegistrationMetrics(base::MetricRegistry& registry)
    : made(registry.counter("braid_rdma_registrations_total", "Memory registrations made")),
      bytes(registry.counter("braid_rdma_registered_bytes_total", "Bytes that memory registrations covered")),
      reused(registry.counter("braid_rdma_registration_hits_total",
                              "Transfers whose memory was registered already")),
      refused(registry.counter("braid_rdma_registration_failures_total",
                               "Registrations that the device refused")) {}

MemoryMap::MemoryMap(Device& device, io::SlabPool& pool, Registration strategy, RegistrationMetrics& metrics)
    : device_(device),
      pool_(pool),
      strategy_(strategy),
      metrics_(metrics),
      regions_(std::max<std::size_t>(1, pool.stats().bytes_max / io::region_bytes)) {}

base::Result<std::unique_ptr<MemoryMap>> MemoryMap::create(Device& device, io::SlabPool& pool,
                                                           Registration strategy,
                                                           RegistrationMetrics& metrics) {
  std::unique_ptr<MemoryMap> map(new MemoryMap(device, pool, strategy, metrics));
  if (strategy == Registration::odp) {
    auto everything = map->counted(device.register_everything(), 0);
    if (!everything) return base::fail(everything.error());
    map->everything_ = std::move(*everything);
    return map;
  }
  if (auto added = pool.add_registrar(map.get()); !added) return base::fail(added.error());
  map->attached_ = true;
  return map;
}

MemoryMap::~MemoryMap() {
  if (attached_) pool_.remove_registrar(this);
}

base::Result<std::unique_ptr<MemoryRegion>> MemoryMap::counted(
    base::Result<std::unique_ptr<MemoryRegion>> made, std::size_t bytes) {
  if (made) {
    metrics_.made.add();
    metrics_.bytes.add(bytes);
  } else {
    metrics_.refused.add();
  }
  return made;
}

base::Result<void> MemoryMap::register_region(std::uint32_t index, base::MutableBytes region) {
  auto made = counted(device_.register_memory(region, Access::local), region.size());
  if (!made) return base::fail(made.error());
  regions_[index] = std::move(*made);
  bytes_.fetch_add(region.size(), std::memory_order_relaxed);
  return {};
}

void MemoryMap::unregister_region(std::uint32_t index) {
  regions_[index].reset();
  bytes_.fetch_sub(io::region_bytes, std::memory_order_relaxed);
}

LocalKey MemoryMap::key_of(const io::SlabRef& slab) const {
  return everything_ ? everything_->local_key() : regions_[slab.region()]->local_key();
}

base::Result<Pin> MemoryMap::pin(const io::SlabRange& range) {
  if (strategy_ != Registration::dynamic) {
    metrics_.reused.add();
    return Pin(key_of(range.slab));
  }
  auto own = counted(device_.register_memory(range.writable(), Access::local), range.length);
  if (!own) return base::fail(own.error());
  const LocalKey key = (*own)->local_key();
  return Pin(key, std::move(*own));
}

base::Result<MemoryMap*> MemoryMaps::of(Device& device) {
  std::scoped_lock lock(mutex_);
  std::unique_ptr<MemoryMap>& map = maps_[&device];
  if (!map) {
    auto made = MemoryMap::create(device, pool_, strategy_, metrics_);
    if (!made) return base::fail(made.error());
    map = std::move(*made);
  }
  return map.get();
}

std::uint64_t MemoryMaps::bytes_registered() const {
  std::scoped_lock lock(mutex_);
  std::uint64_t bytes = 0;
  for (const auto& [device, map] : maps_)
    if (map) bytes += map->bytes_registered();
  return bytes;
}

}  // namespace braid::rdma
