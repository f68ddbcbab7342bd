// The CUDA driver, loaded when it is there. The program is not linked to it and runs without it.
#pragma once

#include <cuda.h>

#include <memory>
#include <string>

#include "base/result.h"

namespace braid::hashing::cuda {

// The driver's functions that braid calls, under their names without version.
struct Driver {
  decltype(&::cuInit) init;
  decltype(&::cuDeviceGetCount) device_count;
  decltype(&::cuDeviceGet) device_get;
  decltype(&::cuDeviceGetName) device_name;
  decltype(&::cuDeviceGetAttribute) device_attribute;
  decltype(&::cuDevicePrimaryCtxRetain) context_retain;
  decltype(&::cuDevicePrimaryCtxRelease_v2) context_release;
  decltype(&::cuCtxSetCurrent) context_use;
  decltype(&::cuCtxGetStreamPriorityRange) priority_range;
  decltype(&::cuModuleLoadData) module_load;
  decltype(&::cuModuleUnload) module_unload;
  decltype(&::cuModuleGetFunction) module_function;
  decltype(&::cuMemAlloc_v2) memory_take;
  decltype(&::cuMemFree_v2) memory_give_back;
  decltype(&::cuMemHostAlloc) host_take;
  decltype(&::cuMemFreeHost) host_give_back;
  decltype(&::cuMemHostRegister_v2) host_pin;
  decltype(&::cuMemHostUnregister) host_unpin;
  decltype(&::cuMemcpyHtoDAsync_v2) upload;
  decltype(&::cuMemcpyDtoHAsync_v2) download;
  decltype(&::cuMemsetD8Async) fill;
  decltype(&::cuStreamCreateWithPriority) stream_create;
  decltype(&::cuStreamDestroy_v2) stream_destroy;
  decltype(&::cuStreamQuery) stream_query;
  decltype(&::cuStreamSynchronize) stream_wait;
  decltype(&::cuLaunchKernel) launch;
  decltype(&::cuGetErrorName) error_name;

  // ENOENT: no driver on this machine. ENOSYS: it lacks a function. ENODEV: no card, or one it cannot use.
  static base::Result<std::shared_ptr<const Driver>> load();
  [[nodiscard]] std::string name_of(CUresult error) const;
};

}  // namespace braid::hashing::cuda
