// The newest bytes of a file, which are neither in the file nor in its recipe yet: a stream that somebody
// writes, in the memory that it came in, and what of it is in chunks already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "io/payload.h"
#include "store/chunks/node.h"
#include "store/medium/medium.h"

namespace braid::store {

// Bytes [begin, end) of the file.
struct WindowPiece {
  enum class Kind : std::uint8_t {
    memory,  // all of `bytes`
    chunk,   // of `chunk`, from its byte `slice` on
    zeros,   // a hole
  };
  std::uint64_t begin = 0, end = 0;
  std::uint64_t number = 0;  // of the put() that they came with
  Kind kind = Kind::zeros;
  io::SlabRange bytes{};
  std::uint32_t slice = 0;
  ChunkRef chunk{};
};

// Not thread-safe. What is put last is what is there. Offsets may be as large as they come, as long as
// offset + length does not overflow.
class Window {
 public:
  // More are not taken: each is some 150 bytes of memory.
  static constexpr std::size_t pieces_max = 1U << 16U;
  // A stream's bytes may arrive in any order, but not further apart.
  static constexpr std::uint64_t gap_bytes_max = 8 * base::MiB;

  // Whether [begin, end) belongs to the stream that is here. It does if there is none.
  [[nodiscard]] bool continues(std::uint64_t begin, std::uint64_t end) const;
  // `data` is in memory, and not empty; its slabs are held. False: there is no room for more pieces, and
  // nothing has changed.
  bool put(std::uint64_t offset, const io::Payload& data);
  // The number of the last put().
  [[nodiscard]] std::uint64_t last_number() const { return last_number_; }
  // That of the last put() that took the place of bytes which were here.
  [[nodiscard]] std::uint64_t last_overlay() const { return last_overlay_; }
  // Bytes [begin, end), as put() had left them when its number was `number`, are in a chunk now, or zeros
  // (null). What has been put or erased since stays as it is.
  void put_chunk(std::uint64_t begin, std::uint64_t end, const ChunkRef* chunk, std::uint64_t number);

  void erase(std::uint64_t begin, std::uint64_t end);
  // Pieces that came with this put() or one before it.
  void erase_up_to(std::uint64_t number);
  // Of [begin, end) what came with this put() or one before it, and is not in memory.
  void erase_chunks(std::uint64_t begin, std::uint64_t end, std::uint64_t number);
  void clear() { erase_up_to(last_number_); }

  // What it has within [begin, end), in order.
  [[nodiscard]] std::vector<WindowPiece> pieces(std::uint64_t begin, std::uint64_t end) const;
  [[nodiscard]] bool touches(std::uint64_t begin, std::uint64_t end) const;
  // The first bytes at `from` or behind it that lie in memory without a gap.
  [[nodiscard]] std::optional<Extent> next_in_memory(std::uint64_t from) const;
  // All that is here; nothing if it is empty.
  [[nodiscard]] std::optional<Extent> span() const;

  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  [[nodiscard]] std::size_t count() const { return pieces_.size(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t bytes_in_memory() const { return bytes_in_memory_; }
  // Of the slabs that are held.
  [[nodiscard]] std::uint64_t slab_bytes() const { return slab_bytes_; }

 private:
  using Pieces = std::map<std::uint64_t, WindowPiece>;  // by where they begin, none over another
  [[nodiscard]] Pieces::const_iterator first_touching(std::uint64_t begin) const;
  void insert(WindowPiece piece);
  Pieces::iterator remove(Pieces::iterator at);
  void count_in(const WindowPiece& piece);
  void count_out(const WindowPiece& piece);

  Pieces pieces_;
  std::unordered_map<const io::Slab*, std::size_t> slabs_;  // how many pieces hold each
  std::uint64_t last_number_ = 0, last_overlay_ = 0;
  std::uint64_t bytes_ = 0, bytes_in_memory_ = 0, slab_bytes_ = 0;
};

}  // namespace braid::store
