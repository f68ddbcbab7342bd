// The driver's functions. What each does is in the CUDA Driver API reference; here is what braid uses of it.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/cuda_driver/control.h"
#include "tests/cuda_driver/device.h"
#include "tests/cuda_driver/kernels.h"

namespace braid::cuda_driver {
namespace {

using cuda::CUresult;

class State {
 public:
  State() { set_up({}); }
  void set_up(const Settings& wanted) {
    std::scoped_lock lock(mutex_);
    settings = wanted;
    devices.clear();
    for (int i = 0; i < wanted.devices; ++i) devices.push_back(std::make_unique<Device>(wanted));
    counts_ = {};
    released_ = false;
  }
  // Counts a call, and says what is wrong with it.
  Fault::Kind enter(const char* function) {
    std::unique_lock lock(mutex_);
    const unsigned call = ++counts_.calls[function];
    if (settings.fault.function != function || settings.fault.call != call) return Fault::Kind::none;
    ++counts_.fault_fired;
    return settings.fault.kind;
  }
  void wait_for_release() {
    std::unique_lock lock(mutex_);
    // It may be set up anew before this thread has seen that it was released.
    changed_.wait(lock, [this, before = releases_] { return released_ || releases_ != before; });
  }
  void release() {
    {
      std::scoped_lock lock(mutex_);
      released_ = true;
      ++releases_;
    }
    changed_.notify_all();
    for (const auto& device : devices) device->release_hangs();
  }
  bool has_devices() {
    std::scoped_lock lock(mutex_);
    return !devices.empty();
  }
  void uploaded(bool is_pinned, std::size_t bytes) {
    std::scoped_lock lock(mutex_);
    (is_pinned ? counts_.pinned_bytes_uploaded : counts_.pageable_bytes_uploaded) += bytes;
  }
  Counts counts() {
    std::scoped_lock lock(mutex_);
    Counts out = counts_;
    out.held = static_cast<unsigned>(pinned.count());
    for (const auto& device : devices) {
      out.held += device->held();
      out.streams_busy += device->streams_busy();
    }
    return out;
  }

  Settings settings;
  std::vector<std::unique_ptr<Device>> devices;
  PinnedMemory pinned;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Counts counts_;
  bool released_ = false;
  unsigned releases_ = 0;
};

State& state() {
  static State one;
  return one;
}

thread_local Device* current = nullptr;
thread_local std::chrono::nanoseconds inside{};

// As long as it lives a call is under way.
class Call {
 public:
  Call() = default;
  ~Call() { inside += std::chrono::steady_clock::now() - begun_; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

Device* device_of(cuda::CUdevice device) {
  return state().devices.at(static_cast<std::size_t>(device)).get();
}

// A call that does its work at once.
template <class Work>
CUresult at_once(const char* function, Device* device, Work work) {
  const Call call;
  if (device != nullptr && device->lost != cuda::CUDA_SUCCESS) return device->lost;
  switch (state().enter(function)) {
    case Fault::Kind::error:
      return state().settings.fault.result;
    case Fault::Kind::sticky:
      if (device != nullptr && device->retained > 0) device->lost = state().settings.fault.result;
      return state().settings.fault.result;
    case Fault::Kind::skip:
      return cuda::CUDA_SUCCESS;
    case Fault::Kind::hang:
      state().wait_for_release();
      break;
    case Fault::Kind::none:
      break;
  }
  return work();
}

// The same, in the thread's context.
template <class Work>
CUresult in_context(const char* function, Work work) {
  if (current == nullptr || current->retained == 0) return cuda::CUDA_ERROR_INVALID_CONTEXT;
  return at_once(function, current, [&] { return work(*current); });
}

// A call that puts something into a stream: `work` gets it, and what it returns is put into it.
template <class Work>
CUresult in_stream(const char* function, const void* handle, Work work) {
  const Call call;
  if (current == nullptr || current->retained == 0) return cuda::CUDA_ERROR_INVALID_CONTEXT;
  if (current->lost != cuda::CUDA_SUCCESS) return current->lost;
  const auto stream = current->stream(handle);
  if (stream == nullptr) return cuda::CUDA_ERROR_INVALID_VALUE;
  switch (state().enter(function)) {
    case Fault::Kind::error:
      return state().settings.fault.result;
    case Fault::Kind::sticky:
      return current->lost = state().settings.fault.result;
    case Fault::Kind::skip:
      return cuda::CUDA_SUCCESS;
    case Fault::Kind::hang:
      stream->put_hang();
      break;
    case Fault::Kind::none:
      break;
  }
  return work(*current, *stream);
}

template <class T>
CUresult success_if(T worked) {
  return worked ? cuda::CUDA_SUCCESS : cuda::CUDA_ERROR_INVALID_VALUE;
}

std::byte* on_card(const Device& device, cuda::CUdeviceptr address, std::size_t bytes) {
  return reinterpret_cast<std::byte*>(device.host_address(address, bytes));
}

CUresult upload(Device& device, Stream& stream, cuda::CUdeviceptr to, const void* from, std::size_t bytes) {
  std::byte* target = on_card(device, to, bytes);
  const bool is_pinned = state().pinned.contains(from, bytes);
  state().uploaded(is_pinned, bytes);
  if (is_pinned) {
    stream.put([=] { std::memcpy(target, from, bytes); });
    return cuda::CUDA_SUCCESS;
  }
  const auto* first = static_cast<const std::byte*>(from);
  stream.put([target, copy = std::vector<std::byte>(first, first + bytes)] {
    std::memcpy(target, copy.data(), copy.size());
  });
  return cuda::CUDA_SUCCESS;
}

CUresult download(Device& device, Stream& stream, void* to, cuda::CUdeviceptr from, std::size_t bytes) {
  const std::byte* source = on_card(device, from, bytes);
  stream.put([=] { std::memcpy(to, source, bytes); });
  if (!state().pinned.contains(to, bytes)) stream.wait();
  return cuda::CUDA_SUCCESS;
}

CUresult load(Device& device, cuda::CUmodule* module) {
  if (!state().settings.takes_images) return cuda::CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  ++device.modules;
  *module = reinterpret_cast<cuda::CUmodule>(&device);
  return cuda::CUDA_SUCCESS;
}

CUresult pin(Device& device, void* memory, std::size_t bytes) {
  if (state().pinned.bytes() + bytes > state().settings.pinned_bytes_max)
    return cuda::CUDA_ERROR_OUT_OF_MEMORY;
  return state().pinned.add(memory, bytes, &device) ? cuda::CUDA_SUCCESS
                                                    : cuda::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

CUresult query(const Device& device, const void* handle) {
  const auto event = device.event(handle);
  if (event == nullptr) return cuda::CUDA_ERROR_INVALID_VALUE;
  return event->reached == event->recorded ? cuda::CUDA_SUCCESS : cuda::CUDA_ERROR_NOT_READY;
}

CUresult attribute_of(int* value, cuda::CUdevice_attribute attribute) {
  *value =
      attribute == cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? state().settings.compute_major : 0;
  return cuda::CUDA_SUCCESS;
}

}  // namespace
}  // namespace braid::cuda_driver

using namespace braid::cuda_driver;
using namespace braid::hashing::cuda;

extern "C" {

void braid_cuda_driver_set_up(const Settings* settings) { state().set_up(*settings); }
void braid_cuda_driver_count(Counts* counts) { *counts = state().counts(); }
void braid_cuda_driver_release() { state().release(); }
std::int64_t braid_cuda_driver_inside() { return inside.count(); }

CUresult cuInit(unsigned) {
  return at_once("cuInit", nullptr,
                 [] { return state().has_devices() ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE; });
}
CUresult cuDriverGetVersion(int* version) {
  *version = state().settings.version;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  return at_once("cuDeviceGetCount", nullptr, [=] {
    *count = static_cast<int>(state().devices.size());
    return CUDA_SUCCESS;
  });
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return at_once("cuDeviceGet", nullptr, [=] {
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  std::snprintf(name, static_cast<std::size_t>(length), "test card %d", device);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  return at_once("cuDeviceGetAttribute", nullptr, [=] { return attribute_of(value, attribute); });
}
CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) {
  *bytes = state().settings.memory_bytes;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  Device* d = device_of(device);
  return at_once("cuDevicePrimaryCtxRetain", d, [=] {
    ++d->retained;
    *context = reinterpret_cast<CUcontext>(d);
    return CUDA_SUCCESS;
  });
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  Device* d = device_of(device);
  if (d->retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--d->retained == 0) d->reset();
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  Device* d = device_of(device);
  d->reset();
  state().pinned.remove_of(d);
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  auto* device = reinterpret_cast<Device*>(context);
  return at_once("cuCtxSetCurrent", device, [=] {
    current = device;
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return in_context("cuCtxGetStreamPriorityRange", [=](Device&) {
    *least = 0;
    *greatest = -5;
    return CUDA_SUCCESS;
  });
}
CUresult cuModuleLoadData(CUmodule* module, const void*) {
  return in_context("cuModuleLoadData", [=](Device& device) { return load(device, module); });
}
CUresult cuModuleUnload(CUmodule) {
  return in_context("cuModuleUnload", [](Device& device) { return success_if(device.modules-- > 0); });
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  return in_context("cuModuleGetFunction", [=](Device&) {
    const Kernel* kernel = find_kernel(name);
    *function = reinterpret_cast<CUfunction>(const_cast<Kernel*>(kernel));
    return kernel != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
  });
}
CUresult cuMemAlloc_v2(CUdeviceptr* memory, std::size_t bytes) {
  return in_context("cuMemAlloc_v2", [=](Device& device) {
    *memory = device.take(bytes);
    return *memory != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  });
}
CUresult cuMemFree_v2(CUdeviceptr memory) {
  return in_context("cuMemFree_v2", [=](Device& device) { return success_if(device.give_back(memory)); });
}
CUresult cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return in_context("cuMemHostAlloc", [=](Device& device) {
    *memory = device.take_host(bytes, state().pinned);
    return *memory != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  });
}
CUresult cuMemFreeHost(void* memory) {
  return in_context("cuMemFreeHost", [=](Device& device) {
    return success_if(device.give_back_host(memory, state().pinned));
  });
}
CUresult cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned) {
  return in_context("cuMemHostRegister_v2", [=](Device& device) { return pin(device, memory, bytes); });
}
CUresult cuMemHostUnregister(void* memory) {
  return in_context("cuMemHostUnregister", [=](Device& device) {
    device.wait_for_all();
    return state().pinned.remove(memory) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  });
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  return in_stream("cuMemcpyHtoDAsync_v2", stream,
                   [=](Device& device, Stream& s) { return upload(device, s, to, from, bytes); });
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return in_stream("cuMemcpyDtoHAsync_v2", stream,
                   [=](Device& device, Stream& s) { return download(device, s, to, from, bytes); });
}
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned, int) {
  return in_context("cuStreamCreateWithPriority", [=](Device& device) {
    *stream = reinterpret_cast<CUstream>(device.make_stream());
    return CUDA_SUCCESS;
  });
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  return in_context("cuStreamDestroy_v2",
                    [=](Device& device) { return success_if(device.destroy_stream(stream)); });
}
CUresult cuStreamSynchronize(CUstream stream) {
  return in_context("cuStreamSynchronize", [=](Device& device) {
    const auto found = device.stream(stream);
    if (found != nullptr) found->wait();
    return success_if(found != nullptr);
  });
}
CUresult cuEventCreate(CUevent* event, unsigned) {
  return in_context("cuEventCreate", [=](Device& device) {
    *event = reinterpret_cast<CUevent>(device.make_event());
    return CUDA_SUCCESS;
  });
}
CUresult cuEventDestroy_v2(CUevent event) {
  return in_context("cuEventDestroy_v2",
                    [=](Device& device) { return success_if(device.destroy_event(event)); });
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  return in_stream("cuEventRecord", stream, [=](Device& device, Stream& s) {
    const auto found = device.event(event);
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::uint64_t number = ++found->recorded;
    s.put([found, number] { found->reached = number; });
    return CUDA_SUCCESS;
  });
}
CUresult cuEventQuery(CUevent event) {
  return in_context("cuEventQuery", [=](Device& device) { return query(device, event); });
}
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned, unsigned, unsigned block_x, unsigned,
                        unsigned, unsigned, CUstream stream, void** parameters, void**) {
  return in_stream("cuLaunchKernel", stream, [=](Device& device, Stream& s) {
    const auto* kernel = reinterpret_cast<const Kernel*>(function);
    const Launch launch = launch_of(*kernel, std::uint64_t{grid_x} * block_x, parameters);
    s.put([kernel, launch, d = &device] {
      run(*kernel, launch, [d](std::uint64_t address) { return d->host_address(address, 1); });
    });
    return CUDA_SUCCESS;
  });
}
CUresult cuGetErrorName(CUresult error, const char** name) {
  switch (error) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      *name = "CUDA_ERROR_OUT_OF_MEMORY";
      break;
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
      *name = "CUDA_ERROR_UNSUPPORTED_PTX_VERSION";
      break;
    case CUDA_ERROR_LAUNCH_FAILED:
      *name = "CUDA_ERROR_LAUNCH_FAILED";
      break;
    default:
      *name = "an error";
      break;
  }
  return CUDA_SUCCESS;
}

}  // extern "C"
