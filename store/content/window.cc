#include "store/content/window.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/assert.h"

namespace braid::store {
namespace {

// The part of a piece that lies within [begin, end), which it touches.
WindowPiece clipped_to(const WindowPiece& piece, std::uint64_t begin, std::uint64_t end) {
  WindowPiece out = piece;
  out.begin = std::max(piece.begin, begin);
  out.end = std::min(piece.end, end);
  const auto cut =
      static_cast<std::uint32_t>(piece.kind == WindowPiece::Kind::zeros ? 0 : out.begin - piece.begin);
  if (piece.kind == WindowPiece::Kind::chunk) out.slice += cut;
  if (piece.kind == WindowPiece::Kind::memory) {
    out.bytes.offset += cut;
    out.bytes.length = static_cast<std::uint32_t>(out.end - out.begin);
  }
  return out;
}

// No piece of these is put into another one.
bool in_chunks(const WindowPiece& piece) { return piece.kind != WindowPiece::Kind::memory; }

}  // namespace

Window::Pieces::const_iterator Window::first_touching(std::uint64_t begin) const {
  auto at = pieces_.upper_bound(begin);
  if (at != pieces_.begin() && std::prev(at)->second.end > begin) --at;
  return at;
}

void Window::count_in(const WindowPiece& piece) {
  bytes_ += piece.end - piece.begin;
  if (piece.kind != WindowPiece::Kind::memory) return;
  bytes_in_memory_ += piece.end - piece.begin;
  if (slabs_[piece.bytes.slab.get()]++ == 0) slab_bytes_ += piece.bytes.slab.bytes();
}

void Window::count_out(const WindowPiece& piece) {
  bytes_ -= piece.end - piece.begin;
  if (piece.kind != WindowPiece::Kind::memory) return;
  bytes_in_memory_ -= piece.end - piece.begin;
  const auto held = slabs_.find(piece.bytes.slab.get());
  if (--held->second > 0) return;
  slab_bytes_ -= piece.bytes.slab.bytes();
  slabs_.erase(held);
}

void Window::insert(WindowPiece piece) {
  count_in(piece);
  pieces_.insert_or_assign(piece.begin, std::move(piece));
}

Window::Pieces::iterator Window::remove(Pieces::iterator at) {
  count_out(at->second);
  return pieces_.erase(at);
}

bool Window::continues(std::uint64_t begin, std::uint64_t end) const {
  const auto all = span();
  if (!all) return true;
  if (begin > all->end) return begin - all->end <= gap_bytes_max;
  if (end < all->begin) return all->begin - end <= gap_bytes_max;
  return true;
}

// A put in the midst of a piece leaves two of it.
bool Window::put(std::uint64_t offset, const io::Payload& data) {
  base::check(!data.empty() && !data.piped(), "a window is of bytes in memory");
  if (pieces_.size() + data.ranges().size() + 1 > pieces_max) return false;
  ++last_number_;
  if (touches(offset, offset + data.size())) last_overlay_ = last_number_;
  erase(offset, offset + data.size());
  for (const io::SlabRange& range : data.ranges()) {
    insert({.begin = offset,
            .end = offset + range.length,
            .number = last_number_,
            .kind = WindowPiece::Kind::memory,
            .bytes = range});
    offset += range.length;
  }
  return true;
}

void Window::put_chunk(std::uint64_t begin, std::uint64_t end, const ChunkRef* chunk, std::uint64_t number) {
  std::vector<WindowPiece> same;
  for (WindowPiece& piece : pieces(begin, end)) {
    if (piece.number > number || in_chunks(piece)) continue;
    const bool follows = !same.empty() && same.back().end == piece.begin;
    if (follows) {
      same.back().end = piece.end;
      same.back().number = std::max(same.back().number, piece.number);
    } else {
      same.push_back(std::move(piece));
    }
  }
  for (const WindowPiece& piece : same) {
    erase(piece.begin, piece.end);
    WindowPiece put{.begin = piece.begin, .end = piece.end, .number = piece.number};
    if (chunk != nullptr) {
      put.kind = WindowPiece::Kind::chunk;
      put.slice = static_cast<std::uint32_t>(piece.begin - begin);
      put.chunk = *chunk;
    }
    insert(std::move(put));
  }
}

void Window::erase(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return;
  const auto first = first_touching(begin);
  for (auto at = pieces_.erase(first, first); at != pieces_.end() && at->second.begin < end;) {
    const WindowPiece piece = at->second;
    at = remove(at);
    if (piece.begin < begin) insert(clipped_to(piece, piece.begin, begin));
    if (piece.end > end) insert(clipped_to(piece, end, piece.end));
    if (piece.end >= end) return;
  }
}

void Window::erase_up_to(std::uint64_t number) {
  for (auto at = pieces_.begin(); at != pieces_.end();)
    at = at->second.number <= number ? remove(at) : std::next(at);
}

void Window::erase_chunks(std::uint64_t begin, std::uint64_t end, std::uint64_t number) {
  for (const WindowPiece& piece : pieces(begin, end))
    if (piece.number <= number && in_chunks(piece)) erase(piece.begin, piece.end);
}

std::vector<WindowPiece> Window::pieces(std::uint64_t begin, std::uint64_t end) const {
  std::vector<WindowPiece> out;
  if (begin >= end) return out;
  for (auto at = first_touching(begin); at != pieces_.end() && at->second.begin < end; ++at)
    out.push_back(clipped_to(at->second, begin, end));
  return out;
}

bool Window::touches(std::uint64_t begin, std::uint64_t end) const {
  const auto at = first_touching(begin);
  return begin < end && at != pieces_.end() && at->second.begin < end;
}

std::optional<Extent> Window::next_in_memory(std::uint64_t from) const {
  std::optional<Extent> out;
  for (auto at = first_touching(from); at != pieces_.end(); ++at) {
    const WindowPiece& piece = at->second;
    if (out && piece.begin != out->end) break;
    if (piece.kind == WindowPiece::Kind::memory) {
      if (!out) out = {std::max(piece.begin, from), piece.end};
      out->end = piece.end;
    } else if (out) {
      break;
    }
  }
  return out;
}

std::optional<Extent> Window::span() const {
  if (pieces_.empty()) return std::nullopt;
  return Extent{pieces_.begin()->second.begin, pieces_.rbegin()->second.end};
}

}  // namespace braid::store
