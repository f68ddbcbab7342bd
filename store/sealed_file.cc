#include "store/sealed_file.h"

#include <algorithm>
#include <cstring>
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
  std::ranges::fill(to, std::byte{});
  const auto place = [&](const Extent& extent) {
    return to.subspan(static_cast<std::size_t>(extent.begin - offset),
                      static_cast<std::size_t>(extent.end - extent.begin));
  };
  for (const Extent& extent : *from_stub)
    if (const auto got = stub.read(extent.begin, place(extent)); !got) return base::fail(got.error());
  return walk_recipe(chunks_, root_.top, offset, end, [&](const RecipePiece& piece) -> base::Result<void> {
    if (piece.kind == EntryKind::plain) return {};
    const std::vector<Extent> wanted = without({piece.offset, piece.offset + piece.length}, *from_stub);
    if (wanted.empty()) return {};
    const auto chunk = chunks_.get(ChunkKind::data, piece.chunk);
    if (!chunk) return base::fail(chunk.error());
    for (const Extent& extent : wanted) {
      const base::MutableBytes room = place(extent);
      std::memcpy(room.data(), (*chunk)->data() + piece.slice + (extent.begin - piece.offset), room.size());
    }
    return {};
  });
}

// Piece by piece from the front: a file with many pieces is seldom asked for its last hole.
base::Result<std::uint64_t> SealedFile::seek(File& stub, std::uint64_t offset, bool data,
                                             std::uint64_t size) const {
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
