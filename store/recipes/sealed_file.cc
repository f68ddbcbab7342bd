#include "store/recipes/sealed_file.h"

#include <algorithm>
#include <utility>

namespace braid::store {

std::vector<Extent> without(const Extent& from, const std::vector<Extent>& others) {
  std::vector<Extent> out;
  std::uint64_t at = from.begin;
  for (const Extent& other : others) {
    if (other.end <= at) continue;
    if (other.begin >= from.end) break;
    if (other.begin > at) out.push_back({at, other.begin});
    at = other.end;
  }
  if (at < from.end) out.push_back({at, from.end});
  return out;
}

std::uint64_t rounded_up(std::uint64_t offset, std::uint64_t block) {
  return (offset + block - 1) / block * block;
}

std::uint64_t length_of(const std::vector<Extent>& extents) {
  std::uint64_t out = 0;
  for (const Extent& extent : extents) out += extent.end - extent.begin;
  return out;
}

// A block is not larger than that.
std::uint64_t behind_last_block(std::uint64_t size) {
  constexpr std::uint64_t block_bytes_max = 64 * base::KiB;
  return (size / block_bytes_max + 1) * block_bytes_max;
}

namespace {

// The blocks that the extents touch, none of them twice, as far as `end`.
std::vector<Extent> rounded_out(const std::vector<Extent>& extents, std::uint64_t block, std::uint64_t end) {
  std::vector<Extent> out;
  for (const Extent& extent : extents) {
    const Extent blocks{extent.begin / block * block, std::min(rounded_up(extent.end, block), end)};
    if (!out.empty() && blocks.begin <= out.back().end)
      out.back().end = std::max(out.back().end, blocks.end);
    else
      out.push_back(blocks);
  }
  return out;
}

}  // namespace

base::Result<std::shared_ptr<const SealedFile>> SealedFile::open(ChunkStore& chunks, const StoreKeys& keys,
                                                                 const KernelHandle& file,
                                                                 base::BytesView record) {
  const auto decoded = decode_record(record, keys, file);
  if (!decoded) return base::fail(decoded.error() == RecordFault::too_new ? ENOTSUP : EBADMSG);
  auto root = read_root(chunks, *decoded);
  if (!root) return base::fail(root.error());
  return std::make_shared<const SealedFile>(chunks, *decoded, std::move(*root));
}

base::Result<std::vector<Extent>> SealedFile::newer(File& stub, std::uint64_t begin,
                                                    std::uint64_t end) const {
  const auto now = stub.status();
  if (!now) return base::fail(now.error());
  std::vector<Extent> out;
  if (now->allocated == 0) return out;
  std::vector<Extent> announced;
  if (record_.pending)
    for (const PendingStep& step : root_.steps)
      if (step.kind == StepKind::punch) announced.push_back({step.offset, step.offset + step.length});
  for (std::uint64_t at = begin; at < end;) {
    const auto found = stub.next_data(at);
    if (!found) return base::fail(found.error());
    if (!*found || (*found)->begin >= end) break;
    const Extent clipped{std::max((*found)->begin, begin), std::min((*found)->end, end)};
    const std::vector<Extent> left = without(clipped, announced);
    out.insert(out.end(), left.begin(), left.end());
    at = (*found)->end;
  }
  return out;
}

base::Result<void> SealedFile::read(File& stub, std::uint64_t offset, base::MutableBytes to) const {
  const std::uint64_t end = offset + to.size();
  const auto from_stub = newer(stub, offset, end);
  if (!from_stub) return base::fail(from_stub.error());
  const auto place = [&](const Extent& extent) {
    return to.subspan(static_cast<std::size_t>(extent.begin - offset),
                      static_cast<std::size_t>(extent.end - extent.begin));
  };
  for (const Extent& extent : *from_stub) {
    const base::MutableBytes room = place(extent);
    const auto got = stub.read(extent.begin, room);
    if (!got) return base::fail(got.error());
    // It was cut short meanwhile.
    std::ranges::fill(room.subspan(*got), std::byte{});
  }
  // What the stub has no newer bytes of is the recipe's, and zeros between its pieces.
  for (const Extent& gap : without({offset, end}, *from_stub)) {
    std::uint64_t at = gap.begin;
    const auto walked = walk_recipe(
        chunks_, root_.top, gap.begin, gap.end, [&](const RecipePiece& piece) -> base::Result<void> {
          if (piece.kind == EntryKind::plain) return {};
          std::ranges::fill(place({at, piece.offset}), std::byte{});
          at = piece.offset + piece.length;
          return chunks_.read_data(piece.chunk, piece.slice, place({piece.offset, at}));
        });
    if (!walked) return walked;
    std::ranges::fill(place({at, gap.end}), std::byte{});
  }
  return {};
}

// In order, and apart.
base::Result<std::vector<Extent>> SealedFile::seen_through(File& stub, std::uint64_t begin,
                                                           std::uint64_t end) const {
  const auto from_stub = newer(stub, begin, end);
  if (!from_stub) return base::fail(from_stub.error());
  std::vector<Extent> out;
  for (const Extent& gap : without({begin, end}, *from_stub)) {
    const auto walked = walk_recipe(chunks_, root_.top, gap.begin, gap.end, [&](const RecipePiece& piece) {
      if (piece.kind == EntryKind::chunk) out.push_back({piece.offset, piece.offset + piece.length});
      return base::Result<void>();
    });
    if (!walked) return base::fail(walked.error());
  }
  return out;
}

base::Result<bool> SealedFile::shows_through(File& stub, std::uint64_t begin, std::uint64_t end) const {
  if (root_.top.entries.empty() || root_.top.entries.back().end() <= begin) return false;
  const auto seen = seen_through(stub, begin, end);
  if (!seen) return base::fail(seen.error());
  return !seen->empty();
}

base::Result<void> SealedFile::fill(File& stub, std::uint64_t begin, std::uint64_t end, std::uint64_t size,
                                    const Write& write) const {
  constexpr std::uint64_t slice = 1 * base::MiB;
  const auto now = stub.status();
  if (!now) return base::fail(now.error());
  base::Bytes bytes;
  for (std::uint64_t from = begin; from < std::min(end, size); from += slice) {
    const std::uint64_t to = std::min({rounded_up(end, now->block_bytes), from + slice, size});
    const auto seen = seen_through(stub, from, to);
    if (!seen) return base::fail(seen.error());
    for (const Extent& blocks : rounded_out(*seen, now->block_bytes, to)) {
      bytes.resize(static_cast<std::size_t>(blocks.end - blocks.begin));
      base::Result<void> done = read(stub, blocks.begin, bytes);
      if (done) done = write(blocks.begin, bytes);
      if (!done) return done;
    }
  }
  return {};
}

// Piece by piece from the front: a file with many pieces is seldom asked for its last hole.
base::Result<std::uint64_t> SealedFile::seek(File& stub, std::uint64_t offset, bool data, std::uint64_t size,
                                             std::span<const Extent> more) const {
  constexpr std::uint64_t step = 64 * base::MiB;
  for (std::uint64_t begin = offset; begin < size;) {
    const std::uint64_t end = size - begin > step ? begin + step : size;
    auto mapped = newer(stub, begin, end);
    if (!mapped) return base::fail(mapped.error());
    const auto walked = walk_recipe(chunks_, root_.top, begin, end, [&](const RecipePiece& piece) {
      mapped->push_back({piece.offset, piece.offset + piece.length});
      return base::Result<void>();
    });
    if (!walked) return base::fail(walked.error());
    for (const Extent& extent : more)
      if (extent.begin < end && extent.end > begin)
        mapped->push_back({std::max(extent.begin, begin), std::min(extent.end, end)});
    std::ranges::sort(*mapped, {}, &Extent::begin);
    std::uint64_t at = begin;
    for (const Extent& extent : *mapped) {
      if (data) return extent.begin;
      if (extent.begin > at) return at;
      at = std::max(at, extent.end);
    }
    if (!data && at < end) return at;
    begin = end;
  }
  return size;
}

}  // namespace braid::store
