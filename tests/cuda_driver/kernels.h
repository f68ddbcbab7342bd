// The kernels of hashing/cuda/kernels.cu, run by threads of the host.
#pragma once

#include <cstdint>
#include <functional>

#include "hashing/card_core.h"

namespace braid::cuda_driver {

namespace card = hashing::card;

// From an address on the card to where the bytes are. The driver ends the program at one that is not of live
// memory.
using Translate = std::function<std::uint64_t(std::uint64_t)>;

struct Launch {
  // What the kernel's parameters were when it was launched.
  union Work {
    card::Batch batch;
    card::Slide slide;
  } work;
  std::uint32_t count;
  std::uint64_t threads;  // that were asked for
};

struct Kernel {
  const char* name;
  bool is_slide;
  void (*step)(const Launch& launch, std::uint32_t index);
};

// Null if there is none of the name.
const Kernel* find_kernel(const char* name);
// Takes the parameters as cuLaunchKernel() gets them.
Launch launch_of(const Kernel& kernel, std::uint64_t threads, void** parameters);
// All indices, on two threads, so that a step which waits for another of its own, or writes what another
// reads, shows.
void run(const Kernel& kernel, Launch launch, const Translate& translate);

}  // namespace braid::cuda_driver
