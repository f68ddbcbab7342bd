#include "hashing/cuda/cuda_card.h"

#include <algorithm>
#include <cstring>

#include "hashing/cuda/image.h"

namespace braid::hashing::cuda {
namespace {

// Shorter pinned ranges are cheaper to copy together than to upload one by one.
constexpr std::size_t direct_bytes_min = 64 * base::KiB;
constexpr unsigned threads_per_block = 128;
constexpr std::uint64_t place_alignment = 256;
static_assert(sizeof(card::Tables) % place_alignment == 0,
              "streams lie behind the tables, here and on the card");

// Hands out aligned parts of one allocation; first asked with base 0 for the total, which is right for
// addresses that are aligned themselves, as those of a card are.
class Places {
 public:
  explicit Places(std::uint64_t base) : at_(aligned(base)) {}
  // `before`: bytes of the part that are before the address.
  template <class T>
  T* take(std::uint64_t count, std::uint64_t before = 0) {
    const std::uint64_t here = at_ + before;
    at_ = aligned(here + count * sizeof(T));
    return reinterpret_cast<T*>(here);
  }
  [[nodiscard]] std::uint64_t end() const { return at_; }

 private:
  static std::uint64_t aligned(std::uint64_t address) {
    return (address + place_alignment - 1) / place_alignment * place_alignment;
  }
  std::uint64_t at_;
};

struct DeviceLayout {
  card::Batch places{};
  CUdeviceptr input, tables;
  std::uint64_t end;
};

DeviceLayout layout_of(const CardLimits& limits, CUdeviceptr base) {
  DeviceLayout out;
  Places places(base);
  const auto* input = places.take<unsigned char>(limits.slot_bytes + card::input_margin, card::input_margin);
  const auto* tables = places.take<card::Tables>(1);
  const auto* streams = places.take<card::Stream>(limits.streams_max);
  const std::uint32_t words = card::words_of(limits.slot_bytes, card::run_positions);
  const std::uint32_t groups = card::words_of(limits.slot_bytes, card::group_positions);
  out.places.input = input;
  out.places.tables = tables;
  out.places.streams = streams;
  out.places.loose = places.take<std::uint64_t>(words);
  out.places.strict = places.take<std::uint64_t>(words);
  out.places.heads = places.take<std::uint32_t>(groups);
  out.places.records = places.take<card::Record>(limits.records_max());
  out.places.tiles = places.take<card::Tile>(limits.tiles_max());
  out.places.values =
      places.take<std::uint32_t>(std::uint64_t{limits.tiles_max()} * card::values_per_tile_max);
  out.places.not_zero = places.take<std::uint32_t>(limits.tiles_max());
  out.input = reinterpret_cast<CUdeviceptr>(input);
  out.tables = reinterpret_cast<CUdeviceptr>(tables);
  out.end = places.end();
  return out;
}

}  // namespace

CudaCard::CudaCard(std::unique_ptr<Context> context, const CudaOptions& options, io::SlabPool& pool,
                   std::shared_ptr<Pinner> pinner)
    : context_(std::move(context)), options_(options), pool_(pool), pinner_(std::move(pinner)) {}

base::Result<void> CudaCard::open(const CardLimits& limits) {
  limits_ = limits;
  if (auto opened = context_->open(); !opened) return opened;
  if (auto loaded = load_kernels(); !loaded) return loaded;
  slots_.resize(limits.slots);
  for (Slot& slot : slots_)
    if (auto opened = open_slot(slot); !opened) return opened;
  pinner_->pin_new(*context_);
  return {};
}

base::Result<void> CudaCard::load_kernels() {
  constexpr std::array<const char*, kernel_count> names{"braid_candidates", "braid_select",
                                                        "braid_hash_tile",  "braid_hash_md5_tile",
                                                        "braid_finish",     "braid_slide"};
  const Driver& d = context_->driver();
  CUresult loaded = CUDA_ERROR_NOT_FOUND;
  for (const base::BytesView image : kernel_images())
    if (loaded = d.module_load(&module_, image.data()); loaded == CUDA_SUCCESS) break;
  if (auto done = context_->checked(loaded, "load the kernels"); !done) {
    module_ = nullptr;
    return done;
  }
  for (std::size_t i = 0; i < kernel_count; ++i)
    if (auto done = context_->checked(d.module_function(&kernels_[i], module_, names[i]), names[i]); !done)
      return done;
  return {};
}

base::Result<void> CudaCard::open_slot(Slot& slot) {
  const Driver& d = context_->driver();
  int least = 0, greatest = 0;
  if (auto done = context_->checked(d.priority_range(&least, &greatest), "priorities"); !done) return done;
  const int priority = options_.low_priority ? least : greatest;
  if (auto done =
          context_->checked(d.stream_create(&slot.stream, CU_STREAM_NON_BLOCKING, priority), "stream");
      !done)
    return done;
  if (auto done = context_->checked(d.event_create(&slot.done, CU_EVENT_DISABLE_TIMING), "event"); !done)
    return done;
  return take_memory(slot);
}

base::Result<void> CudaCard::take_memory(Slot& slot) {
  const Driver& d = context_->driver();
  const std::uint64_t bytes = layout_of(limits_, 0).end;
  if (auto done = context_->checked(d.memory_take(&slot.memory, bytes), "memory of the card"); !done)
    return done;
  const DeviceLayout layout = layout_of(limits_, slot.memory);
  slot.places = layout.places;
  slot.input = layout.input;
  slot.tables = layout.tables;
  const std::size_t host_bytes = sizeof(card::Tables) + limits_.streams_max * sizeof(card::Stream) +
                                 limits_.records_max() * sizeof(card::Record) + 3 * place_alignment;
  void* host = nullptr;
  if (auto done = context_->checked(d.host_take(&host, host_bytes, 0), "pinned memory"); !done) return done;
  Places places(reinterpret_cast<std::uint64_t>(host));
  slot.host_tables = places.take<card::Tables>(1);
  slot.host_streams = places.take<card::Stream>(limits_.streams_max);
  slot.host_records = places.take<card::Record>(limits_.records_max());
  for (std::size_t have = 0; have < limits_.slot_bytes; have += io::large_slab_bytes) {
    auto slab = pool_.acquire(io::SlabSize::large);
    if (!slab) return base::fail(slab.error());
    slot.bounce.push_back(std::move(*slab));
  }
  return {};
}

// Without waiting nothing of a slot is given back by itself: each of these calls waits for what its stream
// has. All of it ends with the context.
void CudaCard::end(bool wait) {
  const Driver& d = context_->driver();
  if (wait && !slots_.empty() && context_->use())
    for (Slot& slot : slots_) {
      // Whatever still runs reads the callers' memory.
      if (slot.stream != nullptr) (void)d.stream_wait(slot.stream);
      if (slot.done != nullptr) (void)d.event_destroy(slot.done);
      if (slot.stream != nullptr) (void)d.stream_destroy(slot.stream);
      if (slot.memory != 0) (void)d.memory_give_back(slot.memory);
      if (slot.host_tables != nullptr) (void)d.host_give_back(slot.host_tables);
    }
  if (wait && module_ != nullptr) (void)d.module_unload(module_);
  module_ = nullptr;
  if (wait) pinner_->unpin_all(*context_);
  context_->close();
  if (!wait) pinner_->forget(*context_);
  // What a stream was still copying from, in slabs, is given back only now.
  slots_.clear();
}

// What lies side by side, here and on the card, is uploaded in one piece.
void CudaCard::add_upload(Slot& slot, const Upload& upload) {
  if (!slot.uploads.empty()) {
    Upload& before = slot.uploads.back();
    if (before.to + before.bytes == upload.to &&
        static_cast<const std::byte*>(before.from) + before.bytes == upload.from) {
      before.bytes += upload.bytes;
      return;
    }
  }
  slot.uploads.push_back(upload);
}

void CudaCard::copy(Slot& slot, base::BytesView from, CUdeviceptr to) {
  while (!from.empty()) {
    const std::size_t at = slot.bounce_used % io::large_slab_bytes;
    std::byte* copied = slot.bounce[slot.bounce_used / io::large_slab_bytes].data() + at;
    const std::size_t bytes = std::min(from.size(), io::large_slab_bytes - at);
    std::memcpy(copied, from.data(), bytes);
    slot.bounce_used += bytes;
    add_upload(slot, {to, copied, bytes});
    from = from.subspan(bytes);
    to += bytes;
  }
}

template <class Work>
base::Result<void> CudaCard::launch(Slot& slot, Kernel kernel, const Work& work, std::uint32_t count) {
  if (count == 0) return {};
  Work parameter = work;
  std::array<void*, 2> parameters{&parameter, &count};
  // The warps of steps that take long, on few bytes too, go to as many of the card's processors as there are.
  const bool alone = kernel == select || kernel == hash_tile || kernel == hash_md5_tile;
  const unsigned threads = alone ? card::lanes : threads_per_block;
  const unsigned blocks = card::words_of(count, threads / card::lanes);
  return context_->checked(context_->driver().launch(kernels_[kernel], blocks, 1, 1, threads, 1, 1, 0,
                                                     slot.stream, parameters.data(), nullptr),
                           "launch");
}

base::Result<void> CudaCard::launch_all(Slot& slot) {
  const card::Batch& batch = slot.batch;
  base::Result<void> done;
  if (batch.chunk_min != batch.chunk_max)
    done = launch(slot, candidates, batch, card::words_of(batch.input_bytes, card::group_positions));
  if (done) done = launch(slot, select, batch, batch.stream_count);
  const Kernel tiles = batch.function == card::md5_tree_function ? hash_md5_tile : hash_tile;
  if (done) done = launch(slot, tiles, batch, batch.tile_count);
  if (done) done = launch(slot, finish, batch, batch.record_count);
  return done;
}

void CudaCard::gather(unsigned index, const CardWork& work) {
  Slot& slot = slots_[index];
  slot.batch = work.batch;
  slot.batch.input = slot.places.input;
  slot.batch.tables = slot.places.tables;
  slot.batch.streams = slot.places.streams;
  slot.batch.loose = slot.places.loose;
  slot.batch.strict = slot.places.strict;
  slot.batch.heads = slot.places.heads;
  slot.batch.records = slot.places.records;
  slot.batch.tiles = slot.places.tiles;
  slot.batch.values = slot.places.values;
  slot.batch.not_zero = slot.places.not_zero;
  slot.bounce_used = 0;
  slot.uploads.clear();
  *slot.host_tables = work.tables;
  std::ranges::copy(work.streams, slot.host_streams);
  // First, since behind the bytes it could wait for those of another slot.
  slot.uploads.push_back(
      {slot.tables, slot.host_tables, sizeof *slot.host_tables + work.streams.size() * sizeof(card::Stream)});
  for (const CardWork::Piece& piece : work.pieces) {
    const CUdeviceptr to = slot.input + piece.to;
    if (piece.from.size() >= direct_bytes_min && pinner_->pinned(piece.from))
      add_upload(slot, {to, piece.from.data(), piece.from.size()});
    else
      copy(slot, piece.from, to);
  }
}

base::Result<void> CudaCard::load(unsigned index) {
  if (auto used = context_->use(); !used) return used;
  pinner_->pin_new(*context_);
  Slot& slot = slots_[index];
  for (const Upload& upload : slot.uploads)
    if (auto done = context_->checked(
            context_->driver().upload(upload.to, upload.from, upload.bytes, slot.stream), "upload");
        !done)
      return done;
  return {};
}

base::Result<void> CudaCard::run(unsigned index) {
  if (auto used = context_->use(); !used) return used;
  Slot& slot = slots_[index];
  const Driver& d = context_->driver();
  const auto records = reinterpret_cast<CUdeviceptr>(slot.batch.records);
  const std::size_t record_bytes = slot.batch.record_count * sizeof(card::Record);
  auto done = launch_all(slot);
  if (done)
    done = context_->checked(d.download(slot.host_records, records, record_bytes, slot.stream), "download");
  if (done) done = context_->checked(d.event_record(slot.done, slot.stream), "record of the event");
  return done;
}

base::Result<void> CudaCard::wait(unsigned index) {
  if (auto used = context_->use(); !used) return used;
  return context_->checked(context_->driver().stream_wait(slots_[index].stream), "wait");
}

base::Result<void> CudaCard::slide(unsigned index, const SlidingWindow& window) {
  if (auto checked = check(window); !checked) return checked;
  if (auto used = context_->use(); !used) return used;
  Slot& slot = slots_[index];
  slot.slide_window = window.window;
  const card::Slide work = slide_of(window, slot.batch, slot.host_streams->bytes);
  return launch(slot, slide_window, work, card::words_of(work.bytes, card::group_positions));
}

base::Result<std::vector<std::uint64_t>> CudaCard::slide_cuts(unsigned index) {
  if (auto used = context_->use(); !used) return base::fail(used.error());
  const Slot& slot = slots_[index];
  const Driver& d = context_->driver();
  std::vector<std::uint64_t> marks(card::words_of(slot.host_streams->bytes, card::run_positions));
  const auto from = reinterpret_cast<CUdeviceptr>(slot.batch.loose);
  auto done = context_->checked(d.download(marks.data(), from, marks.size() * sizeof marks[0], slot.stream),
                                "download of marks");
  if (done) done = wait(index);
  if (!done) return base::fail(done.error());
  return cuts_of(marks, slot.slide_window);
}

base::Result<bool> CudaCard::finished(unsigned index) {
  const CUresult state = context_->driver().event_query(slots_[index].done);
  if (state == CUDA_ERROR_NOT_READY) return false;
  if (auto done = context_->checked(state, "batch"); !done) return base::fail(done.error());
  return true;
}

std::span<const card::Record> CudaCard::records(unsigned slot) {
  return {slots_[slot].host_records, slots_[slot].batch.record_count};
}

}  // namespace braid::hashing::cuda
