#include "hashing/job.h"

#include <limits>

#include "base/arith.h"

namespace braid::hashing {

std::string_view name_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::blake3:
      return "blake3";
    case Algorithm::sha256_tree:
      return "sha256-tree";
    case Algorithm::md5_tree:
      return "md5-tree";
  }
  return "blake3";
}

base::Result<std::uint64_t> checked_bytes(const Job& job) {
  if (job.work != Work::hash && job.params == nullptr) return base::fail(EINVAL);
  std::uint64_t total = 0;
  for (const base::BytesView span : job.spans) {
    if (span.data() == nullptr && !span.empty()) return base::fail(EINVAL);
    if (!base::end_of<std::uintptr_t>(reinterpret_cast<std::uintptr_t>(span.data()), span.size()))
      return base::fail(EINVAL);
    if (job.work == Work::hash && span.size() > std::numeric_limits<std::uint32_t>::max())
      return base::fail(EFBIG);
    const auto sum = base::add<std::uint64_t>(total, span.size());
    if (!sum) return base::fail(EOVERFLOW);
    total = *sum;
  }
  if (!base::end_of<std::uint64_t>(job.stream_offset, total)) return base::fail(EOVERFLOW);
  return total;
}

}  // namespace braid::hashing
