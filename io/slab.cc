#include "io/slab.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/arith.h"
#include "base/assert.h"
#include "io/pipe.h"

namespace braid::io {
namespace {

constexpr std::size_t index_of(SlabSize size) { return static_cast<std::size_t>(size); }

// Regions are aligned to their own size, so slabs are aligned to theirs and huge pages fit.
std::byte* map_region(bool huge_pages) {
  constexpr std::size_t span = 2 * region_bytes;
  void* memory =
      ::mmap(nullptr, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto start = reinterpret_cast<std::uintptr_t>(memory);
  auto aligned = (start + region_bytes - 1) & ~(region_bytes - 1);
  if (aligned > start) ::munmap(memory, aligned - start);
  auto* region = reinterpret_cast<std::byte*>(aligned);
  if (std::size_t tail = start + span - (aligned + region_bytes); tail > 0)
    ::munmap(region + region_bytes, tail);
  if (huge_pages) ::madvise(region, region_bytes, MADV_HUGEPAGE);
  return region;
}

}  // namespace

void SlabRef::release(Slab* slab) {
  if (slab->pipe != nullptr)
    slab->pipe->give_back();
  else
    slab->pool->give_back(slab);
}

SlabPool::SlabPool(const SlabPoolOptions& options) : options_(options) {}

SlabPool::~SlabPool() {
  base::check(bytes_used_ == 0, "slabs are back before their pool ends");
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    for (SlabRegistrar* registrar : registrars_) registrar->unregister_region(static_cast<std::uint32_t>(i));
    ::munmap(regions_[i].data, region_bytes);
  }
}

base::Result<void> SlabPool::grow(SlabSize size) {
  const std::size_t regions_max = std::max<std::size_t>(1, options_.bytes_max / region_bytes);
  if (regions_.size() >= regions_max) {
    if (recut_a_free_region(size)) return {};
    ++exhausted_;
    return base::fail(ENOBUFS);
  }
  // Small slabs are touched one by one; only bulk regions are worth a huge page from the start.
  std::byte* memory = map_region(options_.huge_pages && size == SlabSize::large);
  if (memory == nullptr) return base::fail(base::last_errno());
  const auto index = static_cast<std::uint32_t>(regions_.size());
  for (std::size_t told = 0; told < registrars_.size(); ++told) {
    if (auto done = registrars_[told]->register_region(index, {memory, region_bytes}); !done) {
      while (told-- > 0) registrars_[told]->unregister_region(index);
      ::munmap(memory, region_bytes);
      return done;
    }
  }
  regions_.emplace_back().data = memory;
  cut(index, size);
  return {};
}

void SlabPool::cut(std::uint32_t index, SlabSize size) {
  Region& region = regions_[index];
  region.size = size;
  const std::size_t slab_count = region_bytes / bytes_of(size);
  region.slabs = std::make_unique<Slab[]>(slab_count);
  for (std::size_t i = slab_count; i-- > 0;) {
    Slab& slab = region.slabs[i];
    slab.region = index;
    slab.size = size;
    slab.data = region.data + i * bytes_of(size);
    slab.pool = this;
    free_[index_of(size)].push_back(&slab);
  }
}

bool SlabPool::recut_a_free_region(SlabSize size) {
  const auto found = std::ranges::find_if(
      regions_, [&](const Region& region) { return region.used == 0 && region.size != size; });
  if (found == regions_.end()) return false;
  const auto index = static_cast<std::uint32_t>(found - regions_.begin());
  std::erase_if(free_[index_of(found->size)], [&](const Slab* slab) { return slab->region == index; });
  cut(index, size);
  return true;
}

base::Result<SlabRef> SlabPool::acquire(SlabSize size) {
  std::scoped_lock lock(mutex_);
  auto& free = free_[index_of(size)];
  if (free.empty())
    if (auto grown = grow(size); !grown) return base::fail(grown.error());
  Slab* slab = free.back();
  free.pop_back();
  bytes_used_ += bytes_of(size);
  ++regions_[slab->region].used;
  slab->references.store(1, std::memory_order_relaxed);
  return SlabRef(slab);
}

void SlabPool::give_back(Slab* slab) {
  std::scoped_lock lock(mutex_);
  bytes_used_ -= bytes_of(slab->size);
  --regions_[slab->region].used;
  free_[index_of(slab->size)].push_back(slab);
}

base::Result<void> SlabPool::add_registrar(SlabRegistrar* registrar) {
  std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    auto done = registrar->register_region(static_cast<std::uint32_t>(i), {regions_[i].data, region_bytes});
    if (done) continue;
    while (i-- > 0) registrar->unregister_region(static_cast<std::uint32_t>(i));
    return done;
  }
  registrars_.push_back(registrar);
  return {};
}

void SlabPool::remove_registrar(SlabRegistrar* registrar) {
  std::scoped_lock lock(mutex_);
  std::erase(registrars_, registrar);
  for (std::size_t i = 0; i < regions_.size(); ++i)
    registrar->unregister_region(static_cast<std::uint32_t>(i));
}

SlabPoolStats SlabPool::stats() const {
  std::scoped_lock lock(mutex_);
  return {options_.bytes_max, regions_.size() * region_bytes, bytes_used_, exhausted_};
}

base::Result<SlabRange> SlabCursor::carve(std::size_t bytes) {
  base::check(bytes <= small_slab_bytes, "carved ranges fit a small slab");
  if (slab_ && slab_.unique()) used_ = 0;  // everything carved from it is gone: fill it again from the start
  if (!slab_ || small_slab_bytes - used_ < bytes) {
    auto slab = pool_.acquire(SlabSize::small);
    if (!slab) return base::fail(slab.error());
    slab_ = std::move(*slab);
    used_ = 0;
  }
  SlabRange range{slab_, static_cast<std::uint32_t>(used_), static_cast<std::uint32_t>(bytes)};
  used_ += (bytes + 3) & ~std::size_t{3};
  return range;
}

void SlabCursor::trim(SlabRange& last, std::size_t bytes) {
  base::check(bytes <= last.length, "trim shortens");
  if (last.slab.get() == slab_.get() && used_ == ((last.offset + last.length + 3U) & ~3U))
    used_ = (last.offset + bytes + 3) & ~std::size_t{3};
  last.length = static_cast<std::uint32_t>(bytes);
}

}  // namespace braid::io
