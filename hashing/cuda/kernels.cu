// The steps of hashing/card_core.h as kernels: one thread per index.
#include "hashing/card_core.h"

namespace card = braid::hashing::card;

namespace {

__device__ std::uint32_t index_of_thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

}  // namespace

extern "C" {

__global__ void braid_candidates(const card::Batch b, std::uint32_t count) {
  // Every thread looks 80 bytes up: the 16-bit table is worth a copy next to the block.
  __shared__ card::Tables tables;
  for (std::uint32_t i = threadIdx.x; i < 256; i += blockDim.x) {
    tables.g16[i] = b.tables->g16[i];
    tables.g32[i] = b.tables->g32[i];
  }
  __syncthreads();
  card::Batch local = b;
  local.tables = &tables;
  if (const std::uint32_t i = index_of_thread(); i < count) card::candidates(local, i);
}

__global__ void braid_summarise(const card::Batch b, std::uint32_t count) {
  if (const std::uint32_t i = index_of_thread(); i < count) card::summarise(b, i);
}

__global__ void braid_select(const card::Batch b, std::uint32_t count) {
  if (const std::uint32_t i = index_of_thread(); i < count) card::select(b, i);
}

__global__ void braid_describe(const card::Batch b, std::uint32_t count) {
  if (const std::uint32_t i = index_of_thread(); i < count) card::describe(b, i);
}

__global__ void __launch_bounds__(128) braid_hash_leaf(const card::Batch b, std::uint32_t count) {
  if (const std::uint32_t i = index_of_thread(); i < count) card::hash_leaf<card::blake3_function>(b, i);
}

__global__ void __launch_bounds__(128) braid_hash_md5_leaf(const card::Batch b, std::uint32_t count) {
  if (const std::uint32_t i = index_of_thread(); i < count) card::hash_leaf<card::md5_tree_function>(b, i);
}

__global__ void __launch_bounds__(128)
    braid_join(const card::Batch b, std::uint32_t count, std::uint32_t level) {
  if (const std::uint32_t i = index_of_thread(); i < count) card::join(b, level, i);
}

__global__ void braid_finish(const card::Batch b, std::uint32_t count) {
  if (const std::uint32_t i = index_of_thread(); i < count) card::finish(b, i);
}

__global__ void __launch_bounds__(128) braid_slide(const card::Slide s, std::uint32_t count) {
  if (const std::uint32_t i = index_of_thread(); i < count) card::slide(s, i);
}

}  // extern "C"
