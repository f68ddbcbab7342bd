// The CUDA cards of this machine. Nothing of CUDA is needed to include this.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "hashing/card.h"
#include "io/slab.h"

namespace braid::hashing {

struct CudaOptions {
  // Whoever else uses the card goes first.
  bool low_priority = false;
  // The driver: a path, or a name that the dynamic linker looks for.
  std::string library = "libcuda.so.1";
  // For the driver to start, which takes seconds where there are many cards.
  base::Duration patience = std::chrono::seconds(30);
};

// One Card per device of compute capability 8.0 or later; none when there is no driver, or no such device.
// `pool` is told who pins its memory (it must outlive the cards), so that slabs are uploaded from where they
// are; what lies elsewhere is copied into slabs of it first.
std::vector<std::unique_ptr<Card>> cuda_cards(const CudaOptions& options, io::SlabPool& pool);

struct CudaDevice {
  std::string name;     // with its number; only the number where the driver does not tell
  std::string refused;  // why it is not used; empty: it is
  std::uint64_t memory_bytes = 0;
};

// What there is, for people.
struct CudaState {
  std::string driver;  // its version, or why there is none
  std::vector<CudaDevice> devices;
  [[nodiscard]] std::string summary() const;
};
CudaState cuda_state(const CudaOptions& options = {});

}  // namespace braid::hashing
