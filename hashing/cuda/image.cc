#include "hashing/cuda/image.h"

#include <array>

// BRAID_CUDA_PTX is the path of kernels.ptx, BRAID_CUDA_CODE that of what nvcc made of kernels.cu, where
// there is nvcc.
#define BRAID_IMAGE(name, path)     \
  asm(".section .rodata\n"          \
      ".balign 64\n"                \
      ".local " name                \
      "\n"                          \
      ".local " name "_end\n" name  \
      ":\n"                         \
      ".incbin \"" path "\"\n" name \
      "_end:\n"                     \
      ".byte 0\n"                   \
      ".previous\n")

BRAID_IMAGE("braid_cuda_ptx", BRAID_CUDA_PTX);
#ifdef BRAID_CUDA_CODE
BRAID_IMAGE("braid_cuda_code", BRAID_CUDA_CODE);
#endif

extern "C" {
extern const std::byte braid_cuda_ptx[];
extern const std::byte braid_cuda_ptx_end[];
#ifdef BRAID_CUDA_CODE
extern const std::byte braid_cuda_code[];
extern const std::byte braid_cuda_code_end[];
#endif
}

namespace braid::hashing::cuda {

std::span<const base::BytesView> kernel_images() {
  static const std::array images{
#ifdef BRAID_CUDA_CODE
      base::BytesView{braid_cuda_code, braid_cuda_code_end},
#endif
      base::BytesView{braid_cuda_ptx, braid_cuda_ptx_end},
  };
  return images;
}

}  // namespace braid::hashing::cuda
