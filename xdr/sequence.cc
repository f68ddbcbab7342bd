#include "xdr/sequence.h"

#include <cstring>

namespace braid::xdr {

bool same_bytes(const io::Payload& left, const io::Payload& right) {
  if (left.size() != right.size() || left.piped() || right.piped()) return false;
  const auto others = right.ranges();
  std::size_t other = 0;  // range of `right`
  std::size_t at = 0;     // in it
  for (const io::SlabRange& range : left.ranges()) {
    base::BytesView view = *range.memory();
    while (!view.empty()) {
      const base::BytesView there = others[other].memory()->subspan(at);
      const std::size_t here = std::min(view.size(), there.size());
      if (here > 0 && std::memcmp(view.data(), there.data(), here) != 0) return false;
      view = view.subspan(here);
      at += here;
      if (at == others[other].length) {
        ++other;
        at = 0;
      }
    }
  }
  return true;
}

}  // namespace braid::xdr
