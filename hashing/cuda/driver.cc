#include "hashing/cuda/driver.h"

#include <dlfcn.h>
#include <signal.h>

#include <future>
#include <optional>
#include <thread>
#include <utility>

namespace braid::hashing::cuda {
namespace {

struct CloseLibrary {
  void operator()(void* library) const { ::dlclose(library); }
};

// The functions and the library they are in; it stays loaded as long as somebody has them.
struct LoadedDriver {
  std::unique_ptr<void, CloseLibrary> library;
  Driver functions;
};

class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    complete_ = complete_ && function != nullptr;
  }
  [[nodiscard]] bool complete() const { return complete_; }

 private:
  void* library_;
  bool complete_ = true;
};

bool find_all(void* library, Driver& d) {
  Symbols symbols(library);
  symbols.find(d.init, "cuInit");
  symbols.find(d.version, "cuDriverGetVersion");
  symbols.find(d.device_count, "cuDeviceGetCount");
  symbols.find(d.device_get, "cuDeviceGet");
  symbols.find(d.device_name, "cuDeviceGetName");
  symbols.find(d.device_attribute, "cuDeviceGetAttribute");
  symbols.find(d.device_memory, "cuDeviceTotalMem_v2");
  symbols.find(d.context_retain, "cuDevicePrimaryCtxRetain");
  symbols.find(d.context_release, "cuDevicePrimaryCtxRelease_v2");
  symbols.find(d.context_reset, "cuDevicePrimaryCtxReset_v2");
  symbols.find(d.context_use, "cuCtxSetCurrent");
  symbols.find(d.priority_range, "cuCtxGetStreamPriorityRange");
  symbols.find(d.module_load, "cuModuleLoadData");
  symbols.find(d.module_unload, "cuModuleUnload");
  symbols.find(d.module_function, "cuModuleGetFunction");
  symbols.find(d.memory_take, "cuMemAlloc_v2");
  symbols.find(d.memory_give_back, "cuMemFree_v2");
  symbols.find(d.host_take, "cuMemHostAlloc");
  symbols.find(d.host_give_back, "cuMemFreeHost");
  symbols.find(d.host_pin, "cuMemHostRegister_v2");
  symbols.find(d.host_unpin, "cuMemHostUnregister");
  symbols.find(d.upload, "cuMemcpyHtoDAsync_v2");
  symbols.find(d.download, "cuMemcpyDtoHAsync_v2");
  symbols.find(d.stream_create, "cuStreamCreateWithPriority");
  symbols.find(d.stream_destroy, "cuStreamDestroy_v2");
  symbols.find(d.stream_wait, "cuStreamSynchronize");
  symbols.find(d.event_create, "cuEventCreate");
  symbols.find(d.event_destroy, "cuEventDestroy_v2");
  symbols.find(d.event_record, "cuEventRecord");
  symbols.find(d.event_query, "cuEventQuery");
  symbols.find(d.launch, "cuLaunchKernel");
  symbols.find(d.error_name, "cuGetErrorName");
  return symbols.complete();
}

// What cuInit answers, if it does.
std::optional<CUresult> start(const std::shared_ptr<LoadedDriver>& driver, base::Duration patience) {
  std::promise<CUresult> promise;
  std::future<CUresult> answer = promise.get_future();
  // Signals are for the main thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([driver, promise = std::move(promise)]() mutable {
    promise.set_value(driver->functions.init(0));
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (answer.wait_for(patience) != std::future_status::ready) return std::nullopt;
  return answer.get();
}

}  // namespace

base::Result<std::shared_ptr<const Driver>> Driver::load(const std::string& library,
                                                         base::Duration patience) {
  auto loaded = std::make_shared<LoadedDriver>();
  loaded->library.reset(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (loaded->library == nullptr) return base::fail(ENOENT);
  if (!find_all(loaded->library.get(), loaded->functions)) return base::fail(ENOSYS);
  const auto started = start(loaded, patience);
  if (!started) return base::fail(ETIMEDOUT);
  if (*started != CUDA_SUCCESS) return base::fail(ENODEV);
  const Driver* functions = &loaded->functions;
  return std::shared_ptr<const Driver>(std::move(loaded), functions);
}

std::string Driver::name_of(CUresult error) const {
  const char* name = nullptr;
  return error_name(error, &name) == CUDA_SUCCESS && name != nullptr ? name : "unknown error";
}

}  // namespace braid::hashing::cuda
