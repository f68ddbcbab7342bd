// The kernels as the driver takes them.
#pragma once

#include <span>

#include "base/bytes.h"

namespace braid::hashing::cuda {

// The best first: machine code where the build had nvcc, and kernels.ptx, which the driver compiles for the
// card it finds. Each ends with a byte of zero.
std::span<const base::BytesView> kernel_images();

}  // namespace braid::hashing::cuda
