// The kernels as the driver takes them: machine code for sm_90 and PTX for what comes after it.
#pragma once

#include "base/bytes.h"

namespace braid::hashing::cuda {

base::BytesView kernel_image();

}  // namespace braid::hashing::cuda
