// A card: its memory, apart from the host's, and what was made in its context.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <vector>

#include "tests/cuda_driver/control.h"
#include "tests/cuda_driver/stream.h"

namespace braid::cuda_driver {

// Memory that copies are made from and to without the driver copying the bytes first. Of all devices.
class PinnedMemory {
 public:
  // False: part of it is pinned already.
  bool add(const void* memory, std::size_t bytes, const void* owner);
  bool remove(const void* memory);
  void remove_of(const void* owner);
  [[nodiscard]] bool contains(const void* memory, std::size_t bytes) const;
  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Range {
    std::size_t bytes;
    const void* owner;
  };
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, Range> ranges_;
};

// Zeros, as a card's new memory is; pages that nobody uses are none of this machine's.
class CardMemory {
 public:
  explicit CardMemory(std::size_t bytes)
      : first_(static_cast<std::byte*>(std::calloc(bytes, 1))), size_(bytes) {
    if (!first_) throw std::bad_alloc();
  }
  [[nodiscard]] const std::byte* data() const { return first_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> first_;
  std::size_t size_;
};

struct Event {
  std::atomic<std::uint64_t> recorded{0}, reached{0};
};

class Device {
 public:
  explicit Device(const Settings& settings) : memory_left_(settings.memory_bytes), seed_(settings.seed) {}
  ~Device() { reset(); }

  // Destroys whatever was made in the context.
  void reset();
  // 0: there is not so much.
  std::uint64_t take(std::size_t bytes);
  bool give_back(std::uint64_t memory);
  // Where the byte is that the card has at this address; it must be in live memory.
  [[nodiscard]] std::uint64_t host_address(std::uint64_t address, std::size_t bytes) const;
  void* take_host(std::size_t bytes, PinnedMemory& pinned);
  bool give_back_host(void* memory, PinnedMemory& pinned);
  Stream* make_stream();
  // Null if it is none of this device.
  std::shared_ptr<Stream> stream(const void* handle) const;
  bool destroy_stream(const void* handle);
  Event* make_event();
  std::shared_ptr<Event> event(const void* handle) const;
  bool destroy_event(const void* handle);
  // Until all streams have done what they have.
  void wait_for_all();
  void release_hangs();
  [[nodiscard]] unsigned held() const;
  [[nodiscard]] unsigned streams_busy() const { return busy_; }

  std::atomic<int> retained{0};
  std::atomic<int> modules{0};
  std::atomic<cuda::CUresult> lost{cuda::CUDA_SUCCESS};  // what every call says

 private:
  std::vector<std::shared_ptr<Stream>> streams() const;

  mutable std::mutex mutex_;
  std::map<std::uint64_t, CardMemory> memory_;  // by the address on the card
  std::map<void*, std::vector<std::byte>> host_;
  std::map<const void*, std::shared_ptr<Stream>> streams_;
  std::map<const void*, std::shared_ptr<Event>> events_;
  std::size_t memory_left_;
  std::uint64_t seed_;
  std::atomic<unsigned> busy_{0};
};

}  // namespace braid::cuda_driver
