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

std::string_view text_of(Reason reason) {
  switch (reason) {
    case Reason::small:
      return "small: done at once";
    case Reason::no_card:
      return "there is no card";
    case Reason::out_of_use:
      return "no card works at present";
    case Reason::unsuited:
      return "cards cannot do it";
    case Reason::full:
      return "too much waits for the card";
    case Reason::rejoined:
      return "joins two parts";
    case Reason::redone:
      return "a card failed or was late";
    case Reason::sooner:
      return "done first there, by the estimates";
    case Reason::measured:
      return "to measure the card anew";
    case Reason::told:
      return "cards only";
  }
  return "";
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
