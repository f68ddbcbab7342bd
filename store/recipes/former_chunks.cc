#include "store/recipes/former_chunks.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace braid::store {

void FormerChunks::look_in(std::shared_ptr<const SealedFile> now, std::shared_ptr<const SealedFile> lost) {
  versions_[0].file = std::move(now);
  versions_[1].file = std::move(lost);
}

void FormerChunks::look_around(ChunkStore& chunks, std::uint64_t begin, std::uint64_t end) {
  places_.clear();
  for (std::size_t i = 0; i < versions_.size(); ++i) {
    if (versions_[i].file == nullptr) continue;
    const std::uint64_t shift = versions_[i].shift;
    add(chunks, i, begin + shift, end + shift);
    // Another stream may have begun, of which nothing has been found yet.
    if (shift != 0) add(chunks, i, begin, end);
  }
}

void FormerChunks::add(ChunkStore& chunks, std::size_t version, std::uint64_t begin, std::uint64_t end) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  if (begin > end) begin = 0;  // before the first byte there is nothing
  begin -= std::min(begin, reach_bytes);
  end += std::min(most - end, reach_bytes);
  const auto take = [&](const RecipePiece& piece) {
    if (piece.kind == EntryKind::plain) return;
    const std::uint64_t offset = piece.offset - piece.slice;  // where all of the chunk would begin
    const auto [known, is_new] =
        places_.emplace(piece.chunk.id, Place{.at = piece.chunk.at, .version = version, .offset = offset});
    if (!is_new && known->second.version == version && known->second.offset != offset)
      known->second.repeated = true;
  };
  walk_if_there(chunks, versions_[version].file->root().top, begin, end, take);
}

ChunkStore::Hint FormerChunks::hint() const {
  if (places_.empty()) return {};
  return [this](const hashing::Digest& id) -> std::optional<Location> {
    const auto known = places_.find(id);
    return known == places_.end() ? std::nullopt : std::optional(known->second.at);
  };
}

void FormerChunks::follow(const hashing::Digest& id, std::uint64_t offset) {
  const auto known = places_.find(id);
  if (known == places_.end() || known->second.repeated) return;
  versions_[known->second.version].shift = known->second.offset - offset;
}

FormerVersions::Key FormerVersions::key_of(const KernelHandle& file) {
  const base::BytesView bytes = file.view();
  return {file.type, {bytes.begin(), bytes.end()}};
}

std::size_t FormerVersions::bytes_of(const SealedFile& version) {
  constexpr std::size_t about_itself = 512;
  return about_itself + version.root().top.entries.capacity() * sizeof(NodeEntry);
}

void FormerVersions::note(const KernelHandle& file, std::shared_ptr<const SealedFile> version) {
  if (version == nullptr || version->root().top.entries.empty()) return;
  std::vector<std::shared_ptr<const SealedFile>> ended;  // not under the lock
  kept_.with([&](Kept& kept) {
    kept.bytes += bytes_of(*version);
    auto& known = kept.versions[key_of(file)];
    if (known == nullptr)
      kept.order.push_back(key_of(file));
    else
      kept.bytes -= bytes_of(*known);
    ended.push_back(std::exchange(known, std::move(version)));
    while (kept.bytes > bytes_max && kept.order.size() > 1) {
      const auto oldest = kept.versions.find(kept.order.front());
      kept.bytes -= bytes_of(*oldest->second);
      ended.push_back(std::move(oldest->second));
      kept.versions.erase(oldest);
      kept.order.pop_front();
    }
  });
}

std::shared_ptr<const SealedFile> FormerVersions::find(const KernelHandle& file) {
  return kept_.with([&](const Kept& kept) {
    const auto known = kept.versions.find(key_of(file));
    return known == kept.versions.end() ? nullptr : known->second;
  });
}

}  // namespace braid::store
