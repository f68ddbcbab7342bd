// One CUDA device as a Card.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>

#include "hashing/cuda/cuda_cards.h"
#include "hashing/cuda/driver.h"

namespace braid::hashing::cuda {

// The device's context, and which memory is pinned for it. Shared by the card and the pool's registrations.
class Context {
 public:
  static base::Result<std::unique_ptr<Context>> create(std::shared_ptr<const Driver> driver, int ordinal);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] const Driver& driver() const { return *driver_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  // Makes it the calling thread's context.
  base::Result<void> use() const;
  // EIO, after a line in the log, unless `result` is success.
  base::Result<void> checked(CUresult result, const char* what) const;

 private:
  Context(std::shared_ptr<const Driver> driver, CUdevice device)
      : driver_(std::move(driver)), device_(device) {}
  std::shared_ptr<const Driver> driver_;
  CUdevice device_;
  CUcontext context_ = nullptr;
  std::string name_;
};

// Pins the pool's regions. A region that cannot be pinned is served all the same: its bytes are copied first.
class Pinner final : public io::SlabRegistrar {
 public:
  explicit Pinner(const Context& context) : context_(context) {}
  base::Result<void> register_region(std::uint32_t index, base::MutableBytes region) override;
  void unregister_region(std::uint32_t index) override;
  // True if all of `bytes` can be uploaded from where it is.
  [[nodiscard]] bool pinned(base::BytesView bytes) const;

 private:
  const Context& context_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, base::MutableBytes> regions_;
};

class CudaCard final : public Card {
 public:
  CudaCard(std::unique_ptr<Context> context, const CudaOptions& options, io::SlabPool& pool);
  ~CudaCard() override;

  [[nodiscard]] std::string name() const override { return context_->name(); }
  base::Result<void> open(const CardLimits& limits) override;
  void close() override;
  base::Result<void> load(unsigned slot, const CardWork& work) override;
  base::Result<void> run(unsigned slot) override;
  base::Result<bool> finished(unsigned slot) override;
  [[nodiscard]] std::span<const card::Record> records(unsigned slot) override;
  base::Result<void> slide(unsigned slot, const SlidingWindow& window) override;
  base::Result<std::vector<std::uint64_t>> slide_cuts(unsigned slot) override;

 private:
  // Memory on the card, taken in one piece per slot and cut up.
  struct Slot {
    CUstream stream = nullptr;
    CUdeviceptr memory = 0;
    card::Batch places;                   // the pointers of card::Batch
    CUdeviceptr input, tables, streams;   // in `memory`
    card::Tables* host_tables = nullptr;  // pinned, with the two below in one piece
    card::Stream* host_streams = nullptr;
    card::Record* host_records = nullptr;
    std::vector<io::SlabRef> bounce;  // bytes that are not pinned go through these
    std::size_t bounce_used = 0;      // bytes of all of them
    card::Batch batch{};              // what was loaded
    std::uint32_t slide_window = 0;
  };
  enum Kernel : std::size_t {
    candidates,
    summarise,
    select,
    describe,
    hash_leaf,
    hash_md5_leaf,
    join,
    finish,
    slide_window,
    kernel_count
  };

  base::Result<void> open_slot(Slot& slot);
  base::Result<void> load_kernels();
  base::Result<void> upload(Slot& slot, const CardWork& work);
  base::Result<void> upload_copied(Slot& slot, base::BytesView from, CUdeviceptr to);
  // One thread per index; a step gets its work, the number of indices and a level.
  template <class Work>
  base::Result<void> launch(Slot& slot, Kernel kernel, const Work& work, std::uint32_t count,
                            std::uint32_t level = 0);
  base::Result<void> launch_all(Slot& slot);

  const std::unique_ptr<Context> context_;
  const CudaOptions options_;
  io::SlabPool& pool_;
  Pinner pinner_;
  CardLimits limits_;
  CUmodule module_ = nullptr;
  std::array<CUfunction, kernel_count> kernels_{};
  std::vector<Slot> slots_;
};

}  // namespace braid::hashing::cuda
