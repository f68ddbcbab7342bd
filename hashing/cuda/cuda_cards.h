// The CUDA cards of this machine. Nothing of CUDA is needed to include this.
#pragma once

#include <memory>
#include <vector>

#include "hashing/card.h"
#include "io/slab.h"

namespace braid::hashing {

struct CudaOptions {
  // Whoever else uses the card goes first.
  bool low_priority = false;
};

// One Card per device of compute capability 9.0 or later; none when the program was built without CUDA, or
// there is no driver, or no such device. `pool` is told to pin its memory on the cards (it must outlive
// them), so that slabs are uploaded from where they are; what lies elsewhere is copied into slabs of it
// first.
std::vector<std::unique_ptr<Card>> cuda_cards(const CudaOptions& options, io::SlabPool& pool);

// For people: why cuda_cards() returns what it returns.
std::string cuda_state();

}  // namespace braid::hashing
