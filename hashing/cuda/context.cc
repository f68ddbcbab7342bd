#include <array>

#include "base/log.h"
#include "hashing/cuda/cuda_card.h"

namespace braid::hashing {
namespace cuda {

base::Result<std::unique_ptr<Context>> Context::create(std::shared_ptr<const Driver> driver, int ordinal) {
  constexpr int major_min = 9;
  CUdevice device = 0;
  int major = 0;
  std::array<char, 256> name{};
  const Driver& d = *driver;
  if (d.device_get(&device, ordinal) != CUDA_SUCCESS ||
      d.device_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) != CUDA_SUCCESS ||
      d.device_name(name.data(), name.size() - 1, device) != CUDA_SUCCESS)
    return base::fail(EIO);
  if (major < major_min) return base::fail(ENODEV);
  std::unique_ptr<Context> context(new Context(std::move(driver), device));
  context->name_ = fmt::format("{} {}", ordinal, name.data());
  if (auto done = context->checked(d.context_retain(&context->context_, device), "context"); !done)
    return base::fail(done.error());
  return context;
}

Context::~Context() {
  if (context_ != nullptr) (void)driver_->context_release(device_);
}

base::Result<void> Context::use() const {
  return checked(driver_->context_use(context_), "use of the context");
}

base::Result<void> Context::checked(CUresult result, const char* what) const {
  if (result == CUDA_SUCCESS) return {};
  base::log_event(base::Level::error, "cuda_error", "card=\"{}\" during=\"{}\" error={}", name_, what,
                  driver_->name_of(result));
  return base::fail(EIO);
}

base::Result<void> Pinner::register_region(std::uint32_t index, base::MutableBytes region) {
  const Driver& d = context_.driver();
  if (!context_.use() ||
      d.host_pin(region.data(), region.size(), CU_MEMHOSTREGISTER_PORTABLE) != CUDA_SUCCESS) {
    base::log_event(base::Level::warning, "cuda_not_pinned", "card=\"{}\" bytes={}", context_.name(),
                    region.size());
    return {};
  }
  std::scoped_lock lock(mutex_);
  regions_.emplace(index, region);
  return {};
}

void Pinner::unregister_region(std::uint32_t index) {
  std::scoped_lock lock(mutex_);
  const auto found = regions_.find(index);
  if (found == regions_.end()) return;
  if (context_.use()) (void)context_.driver().host_unpin(found->second.data());
  regions_.erase(found);
}

bool Pinner::pinned(base::BytesView bytes) const {
  std::scoped_lock lock(mutex_);
  for (const auto& [index, region] : regions_)
    if (bytes.data() >= region.data() && bytes.data() + bytes.size() <= region.data() + region.size())
      return true;
  return false;
}

}  // namespace cuda

std::vector<std::unique_ptr<Card>> cuda_cards(const CudaOptions& options, io::SlabPool& pool) {
  std::vector<std::unique_ptr<Card>> cards;
  const auto driver = cuda::Driver::load();
  int count = 0;
  if (!driver || (*driver)->device_count(&count) != CUDA_SUCCESS) return cards;
  for (int i = 0; i < count; ++i)
    if (auto context = cuda::Context::create(*driver, i); context)
      cards.push_back(std::make_unique<cuda::CudaCard>(std::move(*context), options, pool));
  return cards;
}

std::string cuda_state() {
  const auto driver = cuda::Driver::load();
  if (!driver)
    return driver.error() == base::errno_of(ENOENT) ? "no CUDA driver" : "the CUDA driver finds no card";
  int count = 0;
  if ((*driver)->device_count(&count) != CUDA_SUCCESS || count == 0) return "no CUDA card";
  return fmt::format("{} CUDA card{}", count, count == 1 ? "" : "s");
}

}  // namespace braid::hashing
