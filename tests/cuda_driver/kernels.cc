#include "tests/cuda_driver/kernels.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <thread>

#include "hashing/card_cut.h"
#include "hashing/card_tree.h"

namespace braid::cuda_driver {
namespace {

constexpr std::uint32_t indices_of_one_thread = 8;

template <void (*Step)(const card::Batch&, std::uint32_t)>
void of_batch(const Launch& launch, std::uint32_t index) {
  Step(launch.work.batch, index);
}
// What a block has for itself: nothing is in it at first.
void select(const Launch& launch, std::uint32_t index) {
  std::array<std::uint32_t, card::HeadWindow::size> heads;
  card::select(launch.work.batch, index, heads.data());
}
template <card::Function F>
void hash_tile(const Launch& launch, std::uint32_t index) {
  std::array<card::Node, card::tile_leaves> nodes;
  card::hash_tile<F>(launch.work.batch, index, nodes.data());
}
void slide(const Launch& launch, std::uint32_t index) { card::slide(launch.work.slide, index); }

constexpr std::array<Kernel, 6> kernels{{
    {"braid_candidates", false, of_batch<card::candidates>},
    {"braid_select", false, select},
    {"braid_hash_tile", false, hash_tile<card::blake3_function>},
    {"braid_hash_md5_tile", false, hash_tile<card::md5_tree_function>},
    {"braid_finish", false, of_batch<card::finish>},
    {"braid_slide", true, slide},
}};

template <class T>
void move_to_host(T*& pointer, const Translate& translate) {
  pointer = reinterpret_cast<T*>(translate(reinterpret_cast<std::uint64_t>(pointer)));
}

void move_to_host(const Kernel& kernel, Launch& launch, const Translate& translate) {
  if (kernel.is_slide) {
    move_to_host(launch.work.slide.input, translate);
    move_to_host(launch.work.slide.marks, translate);
    return;
  }
  card::Batch& batch = launch.work.batch;
  move_to_host(batch.input, translate);
  move_to_host(batch.tables, translate);
  move_to_host(batch.streams, translate);
  for (auto** bits : {&batch.loose, &batch.strict}) move_to_host(*bits, translate);
  move_to_host(batch.records, translate);
  move_to_host(batch.tiles, translate);
  for (auto** words : {&batch.heads, &batch.values, &batch.not_zero}) move_to_host(*words, translate);
}

}  // namespace

const Kernel* find_kernel(const char* name) {
  const auto* found =
      std::ranges::find_if(kernels, [&](const Kernel& k) { return std::string_view(k.name) == name; });
  return found == kernels.end() ? nullptr : found;
}

Launch launch_of(const Kernel& kernel, std::uint64_t threads, void** parameters) {
  Launch out{};
  if (kernel.is_slide)
    std::memcpy(&out.work.slide, parameters[0], sizeof out.work.slide);
  else
    std::memcpy(&out.work.batch, parameters[0], sizeof out.work.batch);
  std::memcpy(&out.count, parameters[1], sizeof out.count);
  out.threads = threads;
  return out;
}

void run(const Kernel& kernel, Launch launch, const Translate& translate) {
  move_to_host(kernel, launch, translate);
  const auto end =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(launch.count, launch.threads / card::lanes));
  const auto part = [&](std::uint32_t first) {
    for (std::uint32_t i = first; i < end; i += 2) kernel.step(launch, i);
  };
  if (end <= indices_of_one_thread) {
    for (std::uint32_t i = 0; i < end; ++i) kernel.step(launch, i);
    return;
  }
  const std::jthread other(part, 1);
  part(0);
}

}  // namespace braid::cuda_driver
