// What a test tells the driver of this folder, and what it counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "hashing/cuda/driver_types.h"

namespace braid::cuda_driver {

namespace cuda = hashing::cuda;

// One call that does not do what it should.
struct Fault {
  enum class Kind : std::uint8_t {
    none,
    error,   // it returns `result`, and does nothing
    sticky,  // as above, and so does every later call in this context
    hang,    // what it puts into a stream does not end; a call that does its work at once does not return
    skip,    // it says that it did it
  };
  Kind kind = Kind::none;
  std::string function{};  // such as "cuLaunchKernel"
  unsigned call = 1;       // which of its calls, counted from 1
  cuda::CUresult result = cuda::CUDA_ERROR_LAUNCH_FAILED;
};

struct Settings {
  int devices = 1;
  int compute_major = 9;
  int version = 13000;
  std::size_t memory_bytes = std::size_t{1} << 30;  // of each device
  std::size_t pinned_bytes_max = SIZE_MAX;          // of memory that the program has and pins
  bool takes_images = true;                         // false: CUDA_ERROR_UNSUPPORTED_PTX_VERSION
  std::uint64_t seed = 1;                           // of the pauses that streams make
  Fault fault{};
};

struct Counts {
  std::map<std::string, unsigned> calls;
  std::uint64_t pinned_bytes_uploaded = 0;    // taken from where they were, after the call returned
  std::uint64_t pageable_bytes_uploaded = 0;  // copied by the driver before the call returned
  unsigned streams_busy = 0;                  // with commands now
  unsigned fault_fired = 0;
  // What has not been given back: contexts, modules, memory of both kinds, pinned regions, streams, events.
  unsigned held = 0;
};

// Exported by the driver, found with dlsym. All devices must be unused when it is set up.
using SetUp = void (*)(const Settings* settings);
using Count = void (*)(Counts* counts);
// Ends what hangs.
using Release = void (*)();
// How long the calling thread has been in the driver's calls, ns.
using Inside = std::int64_t (*)();
constexpr const char* set_up_name = "braid_cuda_driver_set_up";
constexpr const char* count_name = "braid_cuda_driver_count";
constexpr const char* release_name = "braid_cuda_driver_release";
constexpr const char* inside_name = "braid_cuda_driver_inside";

}  // namespace braid::cuda_driver
