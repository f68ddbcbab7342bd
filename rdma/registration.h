// How the device learns of the memory that it works on. The slab pool is registered once per device, through
// the pool's own hook; the other strategies are there to be compared with that.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "base/result.h"
#include "io/slab.h"
#include "rdma/verbs.h"

namespace braid::rdma {

enum class Registration : std::uint8_t {
  cache,    // regions of the pool, when they come to be
  dynamic,  // as `cache`, and the data of each chunk again, for as long as it is transferred
  odp,      // all memory at once; the device faults pages in
};
std::string_view name_of(Registration strategy);

struct RegistrationMetrics {
  explicit RegistrationMetrics(base::MetricRegistry& registry);
  base::Counter& made;     // registrations
  base::Counter& bytes;    // that they covered
  base::Counter& reused;   // transfers for which none was needed
  base::Counter& refused;  // by the device
};

class MemoryMap;

// The right to have the device work on a range, until it is destroyed.
class Pin {
 public:
  Pin() = default;
  explicit Pin(LocalKey key, std::unique_ptr<MemoryRegion> own = nullptr) : key_(key), own_(std::move(own)) {}
  [[nodiscard]] LocalKey key() const { return key_; }

 private:
  LocalKey key_;
  std::unique_ptr<MemoryRegion> own_;  // of `dynamic`
};

// The memory of a pool as one device knows it. Thread-safe; pins end before it does, and it before device and
// pool.
class MemoryMap final : private io::SlabRegistrar {
 public:
  // Fails with the errno of the device: ENOMEM (or a limit of locked memory), ENOTSUP of odp.
  static base::Result<std::unique_ptr<MemoryMap>> create(Device& device, io::SlabPool& pool,
                                                         Registration strategy, RegistrationMetrics& metrics);
  ~MemoryMap() override;
  MemoryMap(const MemoryMap&) = delete;
  MemoryMap& operator=(const MemoryMap&) = delete;

  // For messages: the key under which the slab is always known.
  [[nodiscard]] LocalKey key_of(const io::SlabRef& slab) const;
  // For data of chunks, by the strategy.
  base::Result<Pin> pin(const io::SlabRange& range);
  // Bytes that are registered for good.
  [[nodiscard]] std::uint64_t bytes_registered() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  MemoryMap(Device& device, io::SlabPool& pool, Registration strategy, RegistrationMetrics& metrics);
  base::Result<void> register_region(std::uint32_t index, base::MutableBytes region) override;
  void unregister_region(std::uint32_t index) override;
  base::Result<std::unique_ptr<MemoryRegion>> counted(base::Result<std::unique_ptr<MemoryRegion>> made,
                                                      std::size_t bytes);

  Device& device_;
  io::SlabPool& pool_;
  const Registration strategy_;
  RegistrationMetrics& metrics_;
  std::unique_ptr<MemoryRegion> everything_;  // of odp
  // By region. Long enough for every region that the pool may have, so an entry never moves; who holds a slab
  // got it after its region's entry was written.
  std::vector<std::unique_ptr<MemoryRegion>> regions_;
  std::atomic<std::uint64_t> bytes_{0};
  bool attached_ = false;
};

// The maps of all devices in use, each made when its device is first asked for. Thread-safe; ends before its
// pool.
class MemoryMaps {
 public:
  MemoryMaps(io::SlabPool& pool, Registration strategy, RegistrationMetrics& metrics)
      : pool_(pool), strategy_(strategy), metrics_(metrics) {}
  // The map stays where it is.
  base::Result<MemoryMap*> of(Device& device);
  [[nodiscard]] std::uint64_t bytes_registered() const;
  [[nodiscard]] Registration strategy() const { return strategy_; }

 private:
  io::SlabPool& pool_;
  const Registration strategy_;
  RegistrationMetrics& metrics_;
  mutable std::mutex mutex_;
  std::map<Device*, std::unique_ptr<MemoryMap>> maps_;
};

}  // namespace braid::rdma
