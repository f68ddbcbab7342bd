#include "hashing/cuda/pinner.h"

#include "base/assert.h"
#include "base/log.h"

namespace braid::hashing::cuda {

Pinner::Pinner(io::SlabPool& pool) : pool_(pool) {
  base::check(pool_.add_registrar(this).has_value(), "a region is always taken");
}

Pinner::~Pinner() { pool_.remove_registrar(this); }

base::Result<void> Pinner::register_region(std::uint32_t index, base::MutableBytes region) {
  std::scoped_lock lock(mutex_);
  regions_.insert_or_assign(index, Region{.bytes = region});
  return {};
}

void Pinner::unregister_region(std::uint32_t index) {
  std::scoped_lock lock(mutex_);
  const auto found = regions_.find(index);
  if (found == regions_.end()) return;
  base::check(found->second.owner == nullptr, "cards end before the pool whose memory they read");
  regions_.erase(found);
}

std::vector<Pinner::Region*> Pinner::take(const Context& owner, Region::State from) {
  std::vector<Region*> out;
  std::scoped_lock lock(mutex_);
  for (auto& [index, region] : regions_) {
    if (region.state != from || (from == Region::State::pinned && region.owner != &owner)) continue;
    region.state = Region::State::taken;
    region.owner = &owner;
    out.push_back(&region);
  }
  return out;
}

void Pinner::put(Region& region, const Context* owner, Region::State state) {
  std::scoped_lock lock(mutex_);
  region.owner = owner;
  region.state = state;
}

void Pinner::pin_new(const Context& context) {
  for (Region* region : take(context, Region::State::fresh)) {
    const base::MutableBytes bytes = region->bytes;
    const CUresult done = context.driver().host_pin(bytes.data(), bytes.size(), CU_MEMHOSTREGISTER_PORTABLE);
    if (done == CUDA_SUCCESS) {
      put(*region, &context, Region::State::pinned);
      continue;
    }
    put(*region, nullptr, Region::State::refused);
    base::log_event(base::Level::warning, "cuda_not_pinned", "card=\"{}\" bytes={} error={}", context.name(),
                    bytes.size(), context.driver().name_of(done));
  }
}

void Pinner::unpin_all(const Context& context) {
  for (Region* region : take(context, Region::State::pinned)) {
    (void)context.driver().host_unpin(region->bytes.data());
    put(*region, nullptr, Region::State::fresh);
  }
}

void Pinner::forget(const Context& context) {
  for (Region* region : take(context, Region::State::pinned)) put(*region, nullptr, Region::State::fresh);
}

bool Pinner::pinned(base::BytesView bytes) const {
  std::scoped_lock lock(mutex_);
  for (const auto& [index, region] : regions_)
    if (region.state == Region::State::pinned && bytes.data() >= region.bytes.data() &&
        bytes.data() + bytes.size() <= region.bytes.data() + region.bytes.size())
      return true;
  return false;
}

}  // namespace braid::hashing::cuda
