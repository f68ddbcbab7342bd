// The striped contents that somebody holds, by the numbers of their objects.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/guarded.h"
#include "pnfs/data_handle.h"

namespace braid::pnfs_mds {

class StripedContent;

// A hash table with its links in the contents, for there are many. In parts, each with a lock of its own, so
// that the one that grows is placed anew in a step that is short. Thread-safe.
class LivingContents {
 public:
  LivingContents();
  LivingContents(const LivingContents&) = delete;
  LivingContents& operator=(const LivingContents&) = delete;

  // Null: nobody holds it.
  [[nodiscard]] std::shared_ptr<StripedContent> find(pnfs::ObjectId object) const;
  // The one that there is, or the one that `make` makes, under the lock.
  using Make = std::function<std::shared_ptr<StripedContent>()>;
  std::shared_ptr<StripedContent> find_or_make(pnfs::ObjectId object, const Make& make);
  // By its destructor. Another one of its object may be there by now.
  void forget(const StripedContent& content);

 private:
  static constexpr std::size_t parts = 256;
  struct Part {
    std::vector<StripedContent*> chains;  // a power of two of them, or none
    std::size_t count = 0;
  };
  // Which object falls where is not for clients to know, who see the numbers of theirs.
  [[nodiscard]] std::uint64_t hash(pnfs::ObjectId object) const { return object.value() * factor_; }
  static std::size_t part_of(std::uint64_t hash) { return hash >> 56U; }
  static StripedContent*& chain_of(Part& part, std::uint64_t hash) {
    return part.chains[(hash >> 24U) & (part.chains.size() - 1)];
  }
  [[nodiscard]] static std::shared_ptr<StripedContent> found(StripedContent* chain, pnfs::ObjectId object);
  void grow(Part& part) const;

  const std::uint64_t factor_;  // odd
  std::array<base::Guarded<Part>, parts> parts_;
};

}  // namespace braid::pnfs_mds
