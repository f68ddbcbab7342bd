// Where the chunks lie that a mark has seen.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "store/chunks/location.h"

namespace braid::store {

// In about eight bytes for each chunk.
class LiveSet {
 public:
  // `bytes`: of its container, that it takes. False: it was there already. Where no chunk can lie nothing is
  // added.
  bool add(Location at, std::uint64_t bytes);
  [[nodiscard]] bool has(std::uint32_t container) const { return containers_.contains(container); }
  // Of one container, in order; and what they take.
  [[nodiscard]] std::vector<std::uint32_t> offsets_of(std::uint32_t container) const;
  [[nodiscard]] std::uint64_t bytes_of(std::uint32_t container) const;
  [[nodiscard]] std::uint64_t chunks() const { return chunks_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  // Open addressing; 0, where no chunk lies, is a free place.
  struct Offsets {
    std::vector<std::uint32_t> places{};
    std::size_t used = 0;
    std::uint64_t bytes = 0;
  };
  static bool insert(Offsets& offsets, std::uint32_t offset);

  std::unordered_map<std::uint32_t, Offsets> containers_;
  std::uint64_t chunks_ = 0, bytes_ = 0;
};

}  // namespace braid::store
