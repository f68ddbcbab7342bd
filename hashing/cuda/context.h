// A CUDA device and its primary context.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "hashing/cuda/driver.h"

namespace braid::hashing::cuda {

// Belongs to one thread at a time.
class Context {
 public:
  // EIO: the driver does not tell what the device is. ENODEV: braid cannot use it; `why` says so for people.
  static base::Result<std::unique_ptr<Context>> create(std::shared_ptr<const Driver> driver, int ordinal,
                                                       std::string& why);
  ~Context() { close(); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] const Driver& driver() const { return *driver_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  // Makes the context, and makes it the calling thread's. EIO.
  base::Result<void> open();
  // Destroys the context with all that was made in it. After an error that stays with a context, such as a
  // kernel that failed, only a new one works. It must not be open elsewhere in the process.
  void close();
  // Makes it the calling thread's context.
  base::Result<void> use() const;
  // EIO, after a line in the log, unless `result` is success.
  base::Result<void> checked(CUresult result, const char* what) const;

 private:
  Context(std::shared_ptr<const Driver> driver, CUdevice device)
      : driver_(std::move(driver)), device_(device) {}
  std::shared_ptr<const Driver> driver_;
  CUdevice device_;
  CUcontext context_ = nullptr;
  std::string name_;
};

}  // namespace braid::hashing::cuda
