// The CUDA driver, loaded when it is there. The program is not linked to it and runs without it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "hashing/cuda/driver_types.h"

namespace braid::hashing::cuda {

// The driver's functions that braid calls. The name of each in the library is in driver.cc.
struct Driver {
  CUresult (*init)(unsigned flags);
  CUresult (*version)(int* version);  // 1000 major + 10 minor, of the newest CUDA that it supports
  CUresult (*device_count)(int* count);
  CUresult (*device_get)(CUdevice* device, int ordinal);
  CUresult (*device_name)(char* name, int length, CUdevice device);
  CUresult (*device_attribute)(int* value, CUdevice_attribute attribute, CUdevice device);
  CUresult (*device_memory)(std::size_t* bytes, CUdevice device);
  CUresult (*context_retain)(CUcontext* context, CUdevice device);
  CUresult (*context_release)(CUdevice device);
  CUresult (*context_reset)(CUdevice device);
  CUresult (*context_use)(CUcontext context);
  CUresult (*priority_range)(int* least, int* greatest);
  CUresult (*module_load)(CUmodule* module, const void* image);
  CUresult (*module_unload)(CUmodule module);
  CUresult (*module_function)(CUfunction* function, CUmodule module, const char* name);
  CUresult (*memory_take)(CUdeviceptr* memory, std::size_t bytes);
  CUresult (*memory_give_back)(CUdeviceptr memory);
  CUresult (*host_take)(void** memory, std::size_t bytes, unsigned flags);
  CUresult (*host_give_back)(void* memory);
  CUresult (*host_pin)(void* memory, std::size_t bytes, unsigned flags);
  CUresult (*host_unpin)(void* memory);
  CUresult (*upload)(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream);
  CUresult (*download)(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream);
  CUresult (*stream_create)(CUstream* stream, unsigned flags, int priority);
  CUresult (*stream_destroy)(CUstream stream);
  CUresult (*stream_wait)(CUstream stream);
  CUresult (*event_create)(CUevent* event, unsigned flags);
  CUresult (*event_destroy)(CUevent event);
  CUresult (*event_record)(CUevent event, CUstream stream);
  CUresult (*event_query)(CUevent event);
  CUresult (*launch)(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                     unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,
                     void** parameters, void** extra);
  CUresult (*error_name)(CUresult error, const char** name);

  // `library` is a path, or a name that the dynamic linker looks for. ENOENT: no driver on this machine.
  // ENOSYS: it lacks a function. ENODEV: no card, or one it cannot use. ETIMEDOUT: it does not come back from
  // its own start within `patience`; a thread is left in it.
  static base::Result<std::shared_ptr<const Driver>> load(const std::string& library,
                                                          base::Duration patience);
  [[nodiscard]] std::string name_of(CUresult error) const;
};

}  // namespace braid::hashing::cuda
