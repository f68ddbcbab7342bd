#include "hashing/cuda/cuda_cards.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "hashing/cuda/cuda_card.h"

namespace braid::hashing {
namespace {

std::string text_of(base::Errno error) {
  if (error == base::errno_of(ENOENT)) return "no CUDA driver";
  if (error == base::errno_of(ENOSYS)) return "the CUDA driver is older than 11.0";
  if (error == base::errno_of(ETIMEDOUT)) return "the CUDA driver does not start";
  return "the CUDA driver finds no card";
}

}  // namespace

std::vector<std::unique_ptr<Card>> cuda_cards(const CudaOptions& options, io::SlabPool& pool) {
  std::vector<std::unique_ptr<Card>> cards;
  const auto driver = cuda::Driver::load(options.library, options.patience);
  int count = 0;
  if (!driver) {
    base::log_event(base::Level::info, "no_card", "reason=\"{}\"", text_of(driver.error()));
    return cards;
  }
  if ((*driver)->device_count(&count) != cuda::CUDA_SUCCESS) return cards;
  std::shared_ptr<cuda::Pinner> pinner;
  for (int i = 0; i < count; ++i) {
    std::string why;
    auto context = cuda::Context::create(*driver, i, why);
    if (!context) {
      base::log_event(base::Level::warning, "card_refused", "card={} reason=\"{}\"", i, why);
      continue;
    }
    if (!pinner) pinner = std::make_shared<cuda::Pinner>(pool);
    cards.push_back(std::make_unique<cuda::CudaCard>(std::move(*context), options, pool, pinner));
  }
  return cards;
}

CudaState cuda_state(const CudaOptions& options) {
  CudaState out;
  const auto driver = cuda::Driver::load(options.library, options.patience);
  if (!driver) {
    out.driver = text_of(driver.error());
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
