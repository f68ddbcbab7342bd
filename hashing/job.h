// What the engine is asked to do, and what it answers.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "hashing/chunk_params.h"
#include "hashing/digest.h"

namespace braid::hashing {

enum class Work : std::uint8_t {
  hash,            // an id for each span: every span is a chunk already
  chunk,           // cut the stream that the spans make up; no ids
  chunk_and_hash,  // cut it, and an id for each chunk
};

enum class Algorithm : std::uint8_t {
  blake3,       // keyed BLAKE3-256
  sha256_tree,  // hashing/tree_hash.h
  md5_tree,     // for comparisons only
};
std::string_view name_of(Algorithm algorithm);

enum class Priority : std::uint8_t {
  background,  // nobody waits: scrubbing, sealing of idle files
  normal,
  urgent,  // somebody waits for the answer, e.g. a COMMIT
};

// The spans are read, never written, and must stay valid until the result is there; they may overlap. For
// chunking they are consecutive pieces of a stream.
struct Job {
  Work work = Work::chunk_and_hash;
  Algorithm algorithm = Algorithm::blake3;
  const ChunkParams* params = nullptr;  // how to cut; not for Work::hash
  Key key{};                            // of the ids; md5_tree has none
  std::vector<base::BytesView> spans{};
  std::uint64_t stream_offset = 0;  // where the first span lies in its stream; a cut or the start
  bool is_end = true;               // the stream ends with the last span
  Priority priority = Priority::normal;
  // Waiting for more work to share a batch with ends here at the latest. For those who know; the engine's own
  // patience is short.
  base::TimePoint deadline = base::TimePoint::max();
};

// Bits of Chunk::flags.
enum ChunkFlag : std::uint32_t {
  zero_chunk = 1,    // all bytes are zero; not told for Work::chunk
  forced_chunk = 2,  // cut by its length, not by its content
  tail_chunk = 4,    // the end of its stream
};

struct Chunk {
  std::uint64_t offset = 0;  // in the stream
  std::uint32_t length = 0;
  std::uint32_t flags = 0;
  Digest id{};  // zero for Work::chunk
  friend bool operator==(const Chunk&, const Chunk&) = default;
};

// Where a job ran.
enum class Where : std::uint8_t {
  caller,  // on the thread that submitted it
  worker,  // on a thread of the CPU pool
  card,
};

// Why it ran there.
enum class Reason : std::uint8_t {
  small,       // it takes no longer than a thread switch
  no_card,     // the engine has none
  out_of_use,  // no card works at present
  unsuited,    // a card does not have this function, or its slots are too small
  full,        // too much waits already for the card that would have been first
  rejoined,    // bytes between two parts of a large job, which are cut up to a chunk that is known
  redone,      // a card had it, and failed or was late
  sooner,      // by the estimates it is done first there
  measured,    // the card has been slower, and that was some time ago
  told,        // the engine is to use cards whatever the estimates are
};
std::string_view text_of(Reason reason);

struct Choice {
  Where where = Where::caller;
  Reason reason = Reason::small;
  std::size_t card = 0;       // which of the engine's, if one was asked
  base::Duration on_cores{};  // the estimates from submission to result; zero: nobody asked for one
  base::Duration on_card{};
};

// How long each stage took; those that overlap or do not exist are zero.
struct Timings {
  base::Duration queued{};   // from submission until its batch was started
  base::Duration cutting{};  // CPU only
  base::Duration hashing{};  // CPU only
  base::Duration on_card{};  // upload, kernels and download of the batch
  Timings& operator+=(const Timings& other) {
    queued += other.queued;
    cutting += other.cutting;
    hashing += other.hashing;
    on_card += other.on_card;
    return *this;
  }
  friend bool operator==(const Timings&, const Timings&) = default;
};

struct JobResult {
  std::vector<Chunk> chunks;  // in order, without gaps
  // Bytes from the start of the first span that the chunks cover. The rest is the open tail: where its first
  // chunk ends depends on what follows. Submit it again in front of that.
  std::uint64_t consumed = 0;
  Choice choice;    // of a large job: of the part that was done last
  Timings timings;  // summed over the parts of a large job
};

// The bytes of all spans, or why the job cannot be done: EINVAL (a span without memory or one that wraps,
// params missing, not a key's worth), EOVERFLOW (the stream's end does not fit 64 bits), EFBIG (a span of
// Work::hash of 4 GiB or more).
base::Result<std::uint64_t> checked_bytes(const Job& job);

}  // namespace braid::hashing
