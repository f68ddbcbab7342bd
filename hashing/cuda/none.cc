// Built in place of the others where there is no nvcc.
#include "hashing/cuda/cuda_cards.h"

namespace braid::hashing {

std::vector<std::unique_ptr<Card>> cuda_cards(const CudaOptions&, io::SlabPool&) { return {}; }

std::string cuda_state() { return "built without CUDA"; }

}  // namespace braid::hashing
