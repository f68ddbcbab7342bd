// Cuts and ids that cost nothing, for benchmarks: the generator of the bytes wrote them into the bytes. What
// a store takes with them shows how fast it would be if hashing were free (the "infinite" card of HashGPU,
// see docs/benchmarks.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/result.h"
#include "hashing/digest.h"
#include "hashing/job.h"

namespace braid::store {

// What each chunk begins with: "BraidOrc", the chunk's length and zero, each a big-endian u32, its id.
struct OracleMark {
  static constexpr std::size_t bytes = 48;
  std::uint32_t length = 0;  // 1 to hashing::chunk_bytes_max
  hashing::Digest id{};
};
// Nothing: the bytes do not begin with one.
std::optional<OracleMark> decode_oracle_mark(base::BytesView bytes);

// As hashing::CpuHasher::run() does it. EBADMSG: a chunk begins without a mark; EINVAL: as there.
base::Result<hashing::JobResult> run_as_oracle(const hashing::Job& job);

}  // namespace braid::store
