// The steps of hashing/card_core.h as kernels: one warp per index.
#include "hashing/card_cut.h"
#include "hashing/card_tree.h"

namespace card = braid::hashing::card;

namespace {

__device__ std::uint32_t index_of_warp() { return (blockIdx.x * blockDim.x + threadIdx.x) / card::lanes; }

}  // namespace

extern "C" {

__global__ void braid_candidates(const card::Batch b, std::uint32_t count) {
  // Every thread looks 80 bytes up: the tables are worth a copy next to the block.
  __shared__ card::Tables tables;
  for (std::uint32_t i = threadIdx.x; i < 256; i += blockDim.x) {
    tables.g16[i] = b.tables->g16[i];
    tables.g32[i] = b.tables->g32[i];
  }
  __syncthreads();
  card::Batch local = b;
  local.tables = &tables;
  if (const std::uint32_t i = index_of_warp(); i < count) card::candidates(local, i);
}

// These three are launched as blocks of one warp, which spreads a small batch over the whole card. The second
// bound is what registers are shared for.
__global__ void __launch_bounds__(card::lanes) braid_select(const card::Batch b, std::uint32_t count) {
  __shared__ std::uint32_t heads[card::HeadWindow::size];
  if (const std::uint32_t i = index_of_warp(); i < count) card::select(b, i, heads);
}

__global__ void __launch_bounds__(card::lanes, 24) braid_hash_tile(const card::Batch b, std::uint32_t count) {
  __shared__ card::Node nodes[card::tile_leaves];
  if (const std::uint32_t i = index_of_warp(); i < count) card::hash_tile<card::blake3_function>(b, i, nodes);
}

__global__ void __launch_bounds__(card::lanes, 24)
    braid_hash_md5_tile(const card::Batch b, std::uint32_t count) {
  __shared__ card::Node nodes[card::tile_leaves];
  if (const std::uint32_t i = index_of_warp(); i < count)
    card::hash_tile<card::md5_tree_function>(b, i, nodes);
}

__global__ void __launch_bounds__(128) braid_finish(const card::Batch b, std::uint32_t count) {
  if (const std::uint32_t i = index_of_warp(); i < count) card::finish(b, i);
}

__global__ void __launch_bounds__(128) braid_slide(const card::Slide s, std::uint32_t count) {
  if (const std::uint32_t i = index_of_warp(); i < count) card::slide(s, i);
}

}  // extern "C"
