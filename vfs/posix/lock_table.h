// The byte-range locks of one file by their owners, as values: who conflicts with whom, and what the kernel
// has to hold for all of them together.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "vfs/open_file.h"

namespace braid::vfs::posix {

// [first, last], so that the last byte of 2^64 can be named.
struct Span {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  friend bool operator==(const Span&, const Span&) = default;
};
// Nothing for a range that is empty or ends beyond 2^64.
std::optional<Span> span_of(const LockRange& range);
LockRange range_of(const Span& span);

// Not thread-safe.
class LockTable {
 public:
  [[nodiscard]] bool empty() const { return owners_.empty(); }
  // Another owner's lock that forbids this one.
  [[nodiscard]] std::optional<LockConflict> conflict(LockOwnerId owner, const Span& span,
                                                     LockType type) const;
  // The owner has this type there from now on, whatever it had.
  void set(LockOwnerId owner, const Span& span, LockType type);
  void clear(LockOwnerId owner, const Span& span);
  // Parts of `span` that no owner has locked, in order.
  [[nodiscard]] std::vector<Span> free_parts(const Span& span) const;
  void for_each(const std::function<void(const Span&, LockType)>& visit) const;

 private:
  struct Held {
    std::uint64_t last = 0;
    LockType type = LockType::read;
  };
  // By first byte; disjoint, and neighbours of one type are one.
  using Spans = std::map<std::uint64_t, Held>;
  static Spans::const_iterator first_overlap(const Spans& spans, const Span& span);
  static void cut(Spans& spans, const Span& span);

  std::map<LockOwnerId, Spans> owners_;
};

}  // namespace braid::vfs::posix
