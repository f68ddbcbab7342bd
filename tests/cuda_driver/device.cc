#include "tests/cuda_driver/device.h"

#include <cstdio>
#include <cstdlib>

namespace braid::cuda_driver {
namespace {

// No program has anything there: whoever takes an address on the card for one of the host ends.
constexpr std::uint64_t card_addresses = std::uint64_t{1} << 62;

std::uintptr_t address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

}  // namespace

bool PinnedMemory::add(const void* memory, std::size_t bytes, const void* owner) {
  std::scoped_lock lock(mutex_);
  const auto next = ranges_.lower_bound(address_of(memory));
  if (next != ranges_.end() && next->first < address_of(memory) + bytes) return false;
  if (next != ranges_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second.bytes > address_of(memory)) return false;
  }
  ranges_.emplace(address_of(memory), Range{bytes, owner});
  return true;
}

bool PinnedMemory::remove(const void* memory) {
  std::scoped_lock lock(mutex_);
  return ranges_.erase(address_of(memory)) > 0;
}

void PinnedMemory::remove_of(const void* owner) {
  std::scoped_lock lock(mutex_);
  std::erase_if(ranges_, [owner](const auto& range) { return range.second.owner == owner; });
}

bool PinnedMemory::contains(const void* memory, std::size_t bytes) const {
  std::scoped_lock lock(mutex_);
  const auto next = ranges_.upper_bound(address_of(memory));
  if (next == ranges_.begin()) return false;
  const auto range = std::prev(next);
  return address_of(memory) + bytes <= range->first + range->second.bytes;
}

std::size_t PinnedMemory::count() const {
  std::scoped_lock lock(mutex_);
  return ranges_.size();
}

std::size_t PinnedMemory::bytes() const {
  std::scoped_lock lock(mutex_);
  std::size_t out = 0;
  for (const auto& [address, range] : ranges_) out += range.bytes;
  return out;
}

void Device::reset() {
  std::map<const void*, std::shared_ptr<Stream>> streams;
  {
    std::scoped_lock lock(mutex_);
    streams.swap(streams_);
  }
  // Their threads end before what they work on goes. Another thread may still hold one of them.
  for (const auto& [handle, stream] : streams) stream->end();
  std::scoped_lock lock(mutex_);
  for (const auto& [address, bytes] : memory_) memory_left_ += bytes.size();
  memory_.clear();
  host_.clear();
  events_.clear();
  modules = 0;
  lost = cuda::CUDA_SUCCESS;
}

std::uint64_t Device::take(std::size_t bytes) {
  std::scoped_lock lock(mutex_);
  if (bytes > memory_left_ || bytes == 0) return 0;
  memory_left_ -= bytes;
  CardMemory memory(bytes);
  const std::uint64_t address = card_addresses + reinterpret_cast<std::uint64_t>(memory.data());
  memory_.emplace(address, std::move(memory));
  return address;
}

bool Device::give_back(std::uint64_t address) {
  wait_for_all();
  std::scoped_lock lock(mutex_);
  const auto found = memory_.find(address);
  if (found == memory_.end()) return false;
  memory_left_ += found->second.size();
  memory_.erase(found);
  return true;
}

std::uint64_t Device::host_address(std::uint64_t address, std::size_t bytes) const {
  std::scoped_lock lock(mutex_);
  const auto next = memory_.upper_bound(address);
  if (next != memory_.begin()) {
    const auto& [first, memory] = *std::prev(next);
    if (address + bytes <= first + memory.size()) return address - card_addresses;
  }
  std::fprintf(stderr, "%#llx is no memory of the card\n", static_cast<unsigned long long>(address));
  std::abort();
}

void* Device::take_host(std::size_t bytes, PinnedMemory& pinned) {
  std::scoped_lock lock(mutex_);
  std::vector<std::byte> memory(bytes, std::byte{0x5a});
  void* out = memory.data();
  if (!pinned.add(out, bytes, this)) return nullptr;
  host_.emplace(out, std::move(memory));
  return out;
}

bool Device::give_back_host(void* memory, PinnedMemory& pinned) {
  wait_for_all();
  std::scoped_lock lock(mutex_);
  return pinned.remove(memory) && host_.erase(memory) > 0;
}

Stream* Device::make_stream() {
  std::scoped_lock lock(mutex_);
  auto stream = std::make_shared<Stream>(seed_++, busy_);
  Stream* out = stream.get();
  streams_.emplace(out, std::move(stream));
  return out;
}

std::shared_ptr<Stream> Device::stream(const void* handle) const {
  std::scoped_lock lock(mutex_);
  const auto found = streams_.find(handle);
  return found == streams_.end() ? nullptr : found->second;
}

bool Device::destroy_stream(const void* handle) {
  const auto held = stream(handle);
  if (held == nullptr) return false;
  held->wait();
  std::scoped_lock lock(mutex_);
  streams_.erase(handle);
  return true;
}

Event* Device::make_event() {
  std::scoped_lock lock(mutex_);
  auto event = std::make_shared<Event>();
  Event* out = event.get();
  events_.emplace(out, std::move(event));
  return out;
}

std::shared_ptr<Event> Device::event(const void* handle) const {
  std::scoped_lock lock(mutex_);
  const auto found = events_.find(handle);
  return found == events_.end() ? nullptr : found->second;
}

bool Device::destroy_event(const void* handle) {
  std::scoped_lock lock(mutex_);
  return events_.erase(handle) > 0;
}

std::vector<std::shared_ptr<Stream>> Device::streams() const {
  std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<Stream>> out;
  for (const auto& [handle, stream] : streams_) out.push_back(stream);
  return out;
}

void Device::wait_for_all() {
  for (const auto& stream : streams()) stream->wait();
}

void Device::release_hangs() {
  for (const auto& stream : streams()) stream->release();
}

unsigned Device::held() const {
  std::scoped_lock lock(mutex_);
  return static_cast<unsigned>(memory_.size() + host_.size() + streams_.size() + events_.size()) +
         static_cast<unsigned>(retained + modules);
}

}  // namespace braid::cuda_driver
