// One CUDA device as a Card.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "hashing/cuda/context.h"
#include "hashing/cuda/cuda_cards.h"
#include "hashing/cuda/pinner.h"

namespace braid::hashing::cuda {

class CudaCard final : public Card {
 public:
  CudaCard(std::unique_ptr<Context> context, const CudaOptions& options, io::SlabPool& pool,
           std::shared_ptr<Pinner> pinner);
  ~CudaCard() override { close(); }

  [[nodiscard]] std::string name() const override { return context_->name(); }
  base::Result<void> open(const CardLimits& limits) override;
  void close() override { end(true); }
  void abandon() override { end(false); }
  void gather(unsigned slot, const CardWork& work) override;
  base::Result<void> load(unsigned slot) override;
  base::Result<void> run(unsigned slot) override;
  base::Result<bool> finished(unsigned slot) override;
  [[nodiscard]] std::span<const card::Record> records(unsigned slot) override;
  base::Result<void> wait(unsigned slot) override;
  base::Result<void> slide(unsigned slot, const SlidingWindow& window) override;
  base::Result<std::vector<std::uint64_t>> slide_cuts(unsigned slot) override;

 private:
  // Memory on the card, taken in one piece per slot and cut up.
  struct Upload {
    CUdeviceptr to;
    const void* from;
    std::size_t bytes;
  };
  struct Slot {
    CUstream stream = nullptr;
    CUevent done = nullptr;  // recorded behind the download of the records
    CUdeviceptr memory = 0;
    card::Batch places;                   // the pointers of card::Batch
    CUdeviceptr input, tables;            // in `memory`; the streams lie behind the tables
    card::Tables* host_tables = nullptr;  // pinned, with the two below in one piece; the streams behind it
    card::Stream* host_streams = nullptr;
    card::Record* host_records = nullptr;
    std::vector<io::SlabRef> bounce;  // bytes that are not pinned go through these
    std::size_t bounce_used = 0;      // bytes of all of them
    card::Batch batch{};              // what was gathered
    std::vector<Upload> uploads;      // of it, in bounce and in pinned memory
    std::uint32_t slide_window = 0;
  };
  enum Kernel : std::size_t {
    candidates,
    select,
    hash_tile,
    hash_md5_tile,
    finish,
    slide_window,
    kernel_count
  };

  void end(bool wait);
  base::Result<void> open_slot(Slot& slot);
  base::Result<void> take_memory(Slot& slot);
  base::Result<void> load_kernels();
  static void add_upload(Slot& slot, const Upload& upload);
  static void copy(Slot& slot, base::BytesView from, CUdeviceptr to);
  // One warp per index; a step gets its work and the number of indices.
  template <class Work>
  base::Result<void> launch(Slot& slot, Kernel kernel, const Work& work, std::uint32_t count);
  base::Result<void> launch_all(Slot& slot);

  const std::unique_ptr<Context> context_;
  const CudaOptions options_;
  io::SlabPool& pool_;
  const std::shared_ptr<Pinner> pinner_;
  CardLimits limits_;
  CUmodule module_ = nullptr;
  std::array<CUfunction, kernel_count> kernels_{};
  std::vector<Slot> slots_;
};

}  // namespace braid::hashing::cuda
