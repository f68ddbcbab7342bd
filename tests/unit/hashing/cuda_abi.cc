// Compiled where cuda.h is: what hashing/cuda declares of the driver is what NVIDIA declares.
#include <cuda.h>

#include <cstddef>
#include <type_traits>

// A macro there, a constant here.
constexpr unsigned host_register_portable = CU_MEMHOSTREGISTER_PORTABLE;
#undef CU_MEMHOSTREGISTER_PORTABLE

#include "hashing/cuda/driver.h"

namespace braid::hashing::cuda {
namespace {

// How a value is passed: enumerations and pointers by their size.
template <class A, class B>
constexpr bool alike =
    sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
    (std::is_integral_v<A> || std::is_enum_v<A>) == (std::is_integral_v<B> || std::is_enum_v<B>);

template <class Ours, class Theirs>
struct SameFunction : std::false_type {};
template <class R, class... Parameters, class S, class... Others>
  requires(sizeof...(Parameters) == sizeof...(Others))
struct SameFunction<R (*)(Parameters...), S (*)(Others...)>
    : std::bool_constant<alike<R, S> && (alike<Parameters, Others> && ...)> {};

template <auto Member, class Theirs>
constexpr bool same = false;
template <class Ours, Ours Driver::* Member, class Theirs>
constexpr bool same<Member, Theirs> = SameFunction<Ours, Theirs>::value;

#define BRAID_SAME(member, function) static_assert(same<&Driver::member, decltype(&::function)>)
BRAID_SAME(init, cuInit);
BRAID_SAME(version, cuDriverGetVersion);
BRAID_SAME(device_count, cuDeviceGetCount);
BRAID_SAME(device_get, cuDeviceGet);
BRAID_SAME(device_name, cuDeviceGetName);
BRAID_SAME(device_attribute, cuDeviceGetAttribute);
BRAID_SAME(device_memory, cuDeviceTotalMem_v2);
BRAID_SAME(context_retain, cuDevicePrimaryCtxRetain);
BRAID_SAME(context_release, cuDevicePrimaryCtxRelease_v2);
BRAID_SAME(context_reset, cuDevicePrimaryCtxReset_v2);
BRAID_SAME(context_use, cuCtxSetCurrent);
BRAID_SAME(priority_range, cuCtxGetStreamPriorityRange);
BRAID_SAME(module_load, cuModuleLoadData);
BRAID_SAME(module_unload, cuModuleUnload);
BRAID_SAME(module_function, cuModuleGetFunction);
BRAID_SAME(memory_take, cuMemAlloc_v2);
BRAID_SAME(memory_give_back, cuMemFree_v2);
BRAID_SAME(host_take, cuMemHostAlloc);
BRAID_SAME(host_give_back, cuMemFreeHost);
BRAID_SAME(host_pin, cuMemHostRegister_v2);
BRAID_SAME(host_unpin, cuMemHostUnregister);
BRAID_SAME(upload, cuMemcpyHtoDAsync_v2);
BRAID_SAME(download, cuMemcpyDtoHAsync_v2);
BRAID_SAME(stream_create, cuStreamCreateWithPriority);
BRAID_SAME(stream_destroy, cuStreamDestroy_v2);
BRAID_SAME(stream_wait, cuStreamSynchronize);
BRAID_SAME(event_create, cuEventCreate);
BRAID_SAME(event_destroy, cuEventDestroy_v2);
BRAID_SAME(event_record, cuEventRecord);
BRAID_SAME(event_query, cuEventQuery);
BRAID_SAME(launch, cuLaunchKernel);
BRAID_SAME(error_name, cuGetErrorName);
#undef BRAID_SAME

#define BRAID_SAME(name) \
  static_assert(static_cast<unsigned long>(cuda::name) == static_cast<unsigned long>(::name))
BRAID_SAME(CUDA_SUCCESS);
BRAID_SAME(CUDA_ERROR_INVALID_VALUE);
BRAID_SAME(CUDA_ERROR_OUT_OF_MEMORY);
BRAID_SAME(CUDA_ERROR_NO_DEVICE);
BRAID_SAME(CUDA_ERROR_INVALID_CONTEXT);
BRAID_SAME(CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
BRAID_SAME(CUDA_ERROR_NOT_FOUND);
BRAID_SAME(CUDA_ERROR_NOT_READY);
BRAID_SAME(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
BRAID_SAME(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
BRAID_SAME(CUDA_ERROR_LAUNCH_FAILED);
BRAID_SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
BRAID_SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
BRAID_SAME(CU_STREAM_NON_BLOCKING);
BRAID_SAME(CU_EVENT_DISABLE_TIMING);
#undef BRAID_SAME
static_assert(CU_MEMHOSTREGISTER_PORTABLE == host_register_portable);
static_assert(sizeof(CUdeviceptr) == sizeof(::CUdeviceptr) && sizeof(CUdevice) == sizeof(::CUdevice));

}  // namespace
}  // namespace braid::hashing::cuda
