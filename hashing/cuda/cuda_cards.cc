#include "hashing/cuda/cuda_cards.h"

#include <fmt/format.h>

#include <algorithm>

#include "hashing/cuda/cuda_card.h"

namespace braid::hashing {

std::vector<std::unique_ptr<Card>> cuda_cards(const CudaOptions& options, io::SlabPool& pool) {
  std::vector<std::unique_ptr<Card>> cards;
  const auto driver = cuda::Driver::load(options.library);
  int count = 0;
  if (!driver || (*driver)->device_count(&count) != cuda::CUDA_SUCCESS) return cards;
  std::shared_ptr<cuda::Pinner> pinner;
  for (int i = 0; i < count; ++i) {
    std::string why;
    auto context = cuda::Context::create(*driver, i, why);
    if (!context) continue;
    if (!pinner) pinner = std::make_shared<cuda::Pinner>(pool);
    cards.push_back(std::make_unique<cuda::CudaCard>(std::move(*context), options, pool, pinner));
  }
  return cards;
}

CudaState cuda_state(const CudaOptions& options) {
  CudaState out;
  const auto driver = cuda::Driver::load(options.library);
  if (!driver) {
    out.driver = driver.error() == base::errno_of(ENOENT)   ? "no CUDA driver"
                 : driver.error() == base::errno_of(ENOSYS) ? "the CUDA driver is older than 11.0"
                                                            : "the CUDA driver finds no card";
    return out;
  }
  int version = 0, count = 0;
  (void)(*driver)->version(&version);
  out.driver = fmt::format("CUDA driver {}.{}", version / 1000, version % 1000 / 10);
  if ((*driver)->device_count(&count) != cuda::CUDA_SUCCESS) return out;
  for (int i = 0; i < count; ++i) {
    CudaDevice device;
    device.name = fmt::format("{}", i);
    if (const auto context = cuda::Context::create(*driver, i, device.refused); context)
      device.name = (*context)->name();
    cuda::CUdevice handle = 0;
    std::size_t bytes = 0;
    if ((*driver)->device_get(&handle, i) == cuda::CUDA_SUCCESS &&
        (*driver)->device_memory(&bytes, handle) == cuda::CUDA_SUCCESS)
      device.memory_bytes = bytes;
    out.devices.push_back(std::move(device));
  }
  return out;
}

std::string CudaState::summary() const {
  const auto usable = std::ranges::count_if(devices, [](const CudaDevice& d) { return d.refused.empty(); });
  if (usable == 0) return devices.empty() ? driver : fmt::format("{}, no card that can be used", driver);
  return fmt::format("{}, {} CUDA card{}", driver, usable, usable == 1 ? "" : "s");
}

}  // namespace braid::hashing
