// Streams whose marks tell where they are cut: the chunks follow each other from the first byte on, wherever
// the stream is divided.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/assert.h"
#include "store/sealing/oracle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace braid;
  if (size < 2) return 0;
  const base::BytesView bytes = std::as_bytes(std::span(data + 2, size - 2));
  const bool is_end = (data[0] & 1U) != 0;
  const std::size_t step = std::size_t{data[1]} + 1;
  static const hashing::ChunkParams params = hashing::ChunkParams::fixed(4096).value();
  const auto run = [&](std::size_t piece) {
    std::vector<base::BytesView> spans;
    for (std::size_t at = 0; at < bytes.size(); at += piece)
      spans.push_back(bytes.subspan(at, std::min(piece, bytes.size() - at)));
    return store::run_as_oracle({.params = &params, .spans = spans, .stream_offset = 77, .is_end = is_end});
  };
  const auto divided = run(step), whole = run(std::max<std::size_t>(bytes.size(), 1));
  base::check(divided.has_value() == whole.has_value(), "pieces make no difference");
  if (!whole) return 0;
  base::check(divided->chunks == whole->chunks && divided->consumed == whole->consumed, "nor to the chunks");
  std::uint64_t at = 77;
  for (const hashing::Chunk& chunk : whole->chunks) {
    base::check(chunk.offset == at && chunk.length > 0, "chunks follow each other");
    at += chunk.length;
  }
  base::check(at - 77 == whole->consumed && whole->consumed <= bytes.size(),
              "they are of bytes that are there");
  base::check(!is_end || whole->consumed == bytes.size(), "at the end nothing is left");
  return 0;
}
