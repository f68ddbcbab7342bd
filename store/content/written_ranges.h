// Where a file was written to since somebody began to look: what is left alone when the rest of it is sealed.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "base/bytes.h"
#include "store/medium/medium.h"

namespace braid::store {

// Thread-safe. Who writes notes it first.
class WrittenRanges {
 public:
  // Ranges are of whole grains, which double when there are more ranges than this.
  static constexpr std::uint64_t grain_bytes_min = 64 * base::KiB;
  static constexpr std::size_t ranges_max = 1024;

  // From now on it is noted. Nobody is writing.
  void begin();
  void end();
  [[nodiscard]] bool is_on() const { return on_.load(std::memory_order_acquire); }
  // [begin, end) is about to be written to. It costs nothing before begin().
  void note(std::uint64_t begin, std::uint64_t end) {
    if (is_on()) [[unlikely]]
      add(begin, end);
  }
  // Since begin(), or since they were taken: in order and apart. An end may be the largest number.
  [[nodiscard]] std::vector<Extent> all() const;
  // And from now on there are none.
  std::vector<Extent> take();

 private:
  void add(std::uint64_t begin, std::uint64_t end);
  void put(std::uint64_t begin, std::uint64_t end);
  [[nodiscard]] std::vector<Extent> listed() const;

  std::atomic<bool> on_{false};
  mutable std::mutex mutex_;
  std::uint64_t grain_ = grain_bytes_min;
  std::map<std::uint64_t, std::uint64_t> ranges_;  // begin: end
};

}  // namespace braid::store
