// Record marking: any stream in any pieces gives the records that a naive reader finds in it. Input: the size
// limit, a number of pieces with a length and a flag (park in between) each, then the stream.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/assert.h"
#include "base/bytes.h"
#include "io/slab.h"
#include "rpc/record_reader.h"

namespace {

using braid::base::Bytes;
using braid::base::BytesView;
using braid::base::check;
using braid::rpc::RecordLimits;
using braid::rpc::RecordReader;

struct Outcome {
  std::vector<Bytes> records;
  RecordReader::Next end = RecordReader::Next::incomplete;
};

std::uint32_t word_at(BytesView stream, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) word = word << 8 | std::to_integer<std::uint32_t>(stream[at + i]);
  return word;
}

Outcome read_naively(BytesView stream, const RecordLimits& limits) {
  Outcome outcome;
  Bytes record;
  std::uint32_t empty = 0;
  std::size_t at = 0;
  while (stream.size() - at >= 4) {
    const std::uint32_t mark = word_at(stream, at);
    const std::size_t length = mark & 0x7fff'ffff;
    at += 4;
    if (record.size() + length > limits.record_bytes_max) {
      outcome.end = RecordReader::Next::too_long;
      return outcome;
    }
    if (length == 0 && ++empty > limits.empty_fragments_max) {
      outcome.end = RecordReader::Next::endless;
      return outcome;
    }
    if (stream.size() - at < length) return outcome;
    const BytesView body = stream.subspan(at, length);
    record.insert(record.end(), body.begin(), body.end());
    at += length;
    if ((mark & 0x8000'0000) == 0) continue;
    outcome.records.push_back(std::exchange(record, {}));
    empty = 0;
  }
  return outcome;
}

// The reader, fed as a connection feeds it.
class Feeder {
 public:
  explicit Feeder(const RecordLimits& limits)
      : pool_({.bytes_max = 64 * braid::base::MiB, .huge_pages = false}), reader_(limits) {}

  // False when the stream is over.
  bool feed(BytesView piece, bool park) {
    const std::size_t parked = reader_.parked_bytes();
    if (!slab_ || slab_.bytes() - used_ < piece.size() + parked) {
      slab_ = pool_.acquire(braid::io::SlabSize::small).value();
      used_ = 0;
    }
    reader_.unpark(carve(parked));
    braid::io::SlabRange input = carve(piece.size());
    std::ranges::copy(piece, input.writable().begin());
    while (true) {
      braid::io::Payload record;
      outcome.end = reader_.next(input, record);
      if (outcome.end != RecordReader::Next::record) break;
      Bytes copy(record.size());
      record.in_memory().value().copy_to(0, copy);
      outcome.records.push_back(std::move(copy));
    }
    if (outcome.end != RecordReader::Next::incomplete) return false;
    check(input.length == 0, "an incomplete record used all input");
    if (park && reader_.held_bytes() <= RecordReader::park_bytes_max) reader_.park();
    return true;
  }

  Outcome outcome;

 private:
  braid::io::SlabRange carve(std::size_t bytes) {
    const braid::io::SlabRange range{slab_, static_cast<std::uint32_t>(used_),
                                     static_cast<std::uint32_t>(bytes)};
    used_ += bytes;
    return range;
  }

  braid::io::SlabPool pool_;
  RecordReader reader_;
  braid::io::SlabRef slab_;
  std::size_t used_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const BytesView input = std::as_bytes(std::span(data, size));
  const RecordLimits limits{.record_bytes_max = std::size_t{data[0]} * 16,
                            .empty_fragments_max = data[1] % 8U};
  const std::size_t pieces = std::min<std::size_t>(data[2], size - 3);
  const BytesView plan = input.subspan(3, pieces);
  const BytesView stream = input.subspan(3 + pieces);

  Feeder feeder(limits);
  BytesView rest = stream;
  bool open = true;
  for (std::size_t i = 0; i < plan.size() && open; ++i) {
    const auto step = std::to_integer<std::size_t>(plan[i]);
    const BytesView piece = rest.first(std::min(step / 2, rest.size()));
    rest = rest.subspan(piece.size());
    open = feeder.feed(piece, step % 2 == 1);
  }
  if (open) feeder.feed(rest.first(std::min<std::size_t>(rest.size(), 60'000)), false);

  const Outcome naive = read_naively(stream, limits);
  check(feeder.outcome.end == naive.end, "the stream ends alike");
  check(feeder.outcome.records == naive.records, "the records are alike");
  return 0;
}
