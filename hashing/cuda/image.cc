#include "hashing/cuda/image.h"

// BRAID_CUDA_IMAGE is the path of what nvcc made of kernels.cu.
asm(".section .rodata\n"
    ".balign 64\n"
    ".local braid_cuda_image\n"
    ".local braid_cuda_image_end\n"
    "braid_cuda_image:\n"
    ".incbin \"" BRAID_CUDA_IMAGE
    "\"\n"
    "braid_cuda_image_end:\n"
    ".byte 0\n"
    ".previous\n");

extern "C" {
extern const std::byte braid_cuda_image[];
extern const std::byte braid_cuda_image_end[];
}

namespace braid::hashing::cuda {

base::BytesView kernel_image() { return {braid_cuda_image, braid_cuda_image_end}; }

}  // namespace braid::hashing::cuda
