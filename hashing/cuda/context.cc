#include "hashing/cuda/context.h"

#include <fmt/format.h>

#include <array>

#include "base/log.h"

namespace braid::hashing::cuda {

base::Result<std::unique_ptr<Context>> Context::create(std::shared_ptr<const Driver> driver, int ordinal,
                                                       std::string& why) {
  constexpr int major_min = 8;  // what kernels.ptx is made for
  CUdevice device = 0;
  int major = 0, minor = 0;
  std::array<char, 256> name{};
  const Driver& d = *driver;
  const auto asked = [&](CUresult result) {
    if (result != CUDA_SUCCESS) why = fmt::format("the driver says {}", d.name_of(result));
    return result == CUDA_SUCCESS;
  };
  if (!asked(d.device_get(&device, ordinal)) ||
      !asked(d.device_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)) ||
      !asked(d.device_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device)) ||
      !asked(d.device_name(name.data(), static_cast<int>(name.size()) - 1, device)))
    return base::fail(EIO);
  if (major < major_min) {
    why = fmt::format("{} has compute capability {}.{}; {}.0 or later is needed", name.data(), major, minor,
                      major_min);
    return base::fail(ENODEV);
  }
  std::unique_ptr<Context> context(new Context(std::move(driver), device));
  context->name_ = fmt::format("{} {}", ordinal, name.data());
  return context;
}

base::Result<void> Context::open() {
  if (context_ == nullptr)
    if (auto done = checked(driver_->context_retain(&context_, device_), "context"); !done) {
      context_ = nullptr;
      return done;
    }
  return use();
}

void Context::close() {
  if (context_ == nullptr) return;
  (void)driver_->context_reset(device_);
  (void)driver_->context_release(device_);
  context_ = nullptr;
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

}  // namespace braid::hashing::cuda
