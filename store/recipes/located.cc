#include "store/recipes/located.h"

#include <memory>
#include <optional>
#include <vector>

namespace braid::store {
namespace {

class Locator {
 public:
  Locator(ChunkStore& chunks, std::uint64_t begin, vfs::Located& where)
      : chunks_(chunks), where_(where), at_(begin) {}

  base::Result<void> take(const RecipePiece& piece) {
    if (piece.kind != EntryKind::chunk) return base::fail(EAGAIN);
    add_hole(piece.offset);
    ChunkRef lies = piece.chunk;
    if (!in_same_container(lies.at)) {
      const auto found = chunks_.containers().place_now(lies.at);
      if (!found || found->file->descriptor() < 0) return base::fail(EAGAIN);
      asked_ = lies.at.container;
      lies.at = found->at;
      there_ = found->at.container;
      fd_ = found->file->descriptor();
      where_.kept.push_back(found->file);
    }
    chunks_found_.push_back({.lies = lies});
    where_.slices.push_back({.fd = fd_,
                             .length = static_cast<std::uint32_t>(piece.length),
                             .offset = std::uint64_t{lies.at.offset} + ChunkHeader::bytes + piece.slice});
    at_ = piece.offset + piece.length;
    return {};
  }
  // False: some chunk has not been verified.
  bool finish(std::uint64_t end) {
    add_hole(end);
    if (!chunks_.containers().verified().find(chunks_found_)) return false;
    auto chunk = chunks_found_.begin();
    for (vfs::FileSlice& slice : where_.slices)
      if (slice.fd >= 0) slice.offset += (chunk++)->distance;
    join();
    return true;
  }

 private:
  void add_hole(std::uint64_t end) {
    if (end > at_)
      where_.slices.push_back({.fd = -1, .length = static_cast<std::uint32_t>(end - at_), .offset = 0});
    at_ = end;
  }
  // What lies one behind the other is one slice: chunks of a group do.
  void join() {
    std::vector<vfs::FileSlice>& slices = where_.slices;
    std::size_t last = 0;
    for (std::size_t i = 1; i < slices.size(); ++i) {
      const bool goes_on =
          slices[i].fd == slices[last].fd && slices[i].offset == slices[last].offset + slices[last].length;
      if (goes_on && slices[i].fd >= 0)
        slices[last].length += slices[i].length;
      else
        slices[++last] = slices[i];
    }
    if (!slices.empty()) slices.resize(last + 1);
  }
  // Of the chunk before, and neither of them was moved.
  [[nodiscard]] bool in_same_container(Location at) const {
    return at.volume == 0 && at.container == asked_ && asked_ == there_;
  }

  ChunkStore& chunks_;
  vfs::Located& where_;
  std::uint64_t at_;
  std::uint32_t asked_ = 0, there_ = 0;
  int fd_ = -1;
  std::vector<VerifiedChunk> chunks_found_;
};

}  // namespace

bool locate_recipe(ChunkStore& chunks, const Node& top, std::uint64_t begin, std::uint64_t end,
                   vfs::Located& where) {
  Locator locator(chunks, begin, where);
  const auto walked =
      walk_in_memory(chunks, top, begin, end, [&](const RecipePiece& piece) { return locator.take(piece); });
  if (!walked) return false;
  return locator.finish(end);
}

}  // namespace braid::store
