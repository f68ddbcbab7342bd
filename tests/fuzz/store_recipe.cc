// Ranges taken out of a recipe: what is left says of each byte what it said before, but for those that were
// taken out. Input: a number of entries, for each how far it lies behind the one before and how long it is,
// then ranges.
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/assert.h"
#include "store/recipes/recipe.h"
#include "store/recipes/recipe_edit.h"
#include "store/store.h"
#include "tests/unit/store/crash_disk.h"

namespace {

using namespace braid;

// What a byte of the file is: the chunk's number, and where in it; the number is 0 for what is plain.
using Bytes = std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>>;

class Input {
 public:
  explicit Input(std::span<const std::uint8_t> bytes) : left_(bytes) {}
  [[nodiscard]] bool ended() const { return left_.empty(); }
  std::uint64_t next() {
    if (left_.empty()) return 0;
    const std::uint64_t out = left_.front();
    left_ = left_.subspan(1);
    return out;
  }

 private:
  std::span<const std::uint8_t> left_;
};

store::NodeEntry entry_of(std::uint64_t number, std::uint64_t offset, std::uint64_t length) {
  const bool plain = number % 7 == 0;
  store::NodeEntry out{.offset = offset,
                       .length = length,
                       .kind = plain ? store::EntryKind::plain : store::EntryKind::chunk,
                       .slice = plain ? 0 : static_cast<std::uint32_t>(number % 3),
                       .chunk = {}};
  if (plain) return out;
  out.chunk.bytes = static_cast<std::uint32_t>(length + out.slice);
  for (std::size_t i = 0; i < 8; ++i)
    out.chunk.id.bytes[i] = static_cast<std::byte>((number * 0x9e3779b97f4a7c15U) >> (8 * i));
  out.chunk.id.bytes[8] = static_cast<std::byte>(number);
  out.chunk.id.bytes[9] = static_cast<std::byte>(number >> 8U);
  return out;
}

Bytes bytes_of(store::ChunkStore& chunks, const store::Node& top) {
  Bytes out;
  const auto take = [&](const store::RecipePiece& piece) -> base::Result<void> {
    const bool plain = piece.kind == store::EntryKind::plain;
    const std::uint64_t number = plain ? 0
                                       : std::to_integer<std::uint64_t>(piece.chunk.id.bytes[8]) |
                                             std::to_integer<std::uint64_t>(piece.chunk.id.bytes[9]) << 8U;
    for (std::uint64_t i = 0; i < piece.length; ++i)
      out[piece.offset + i] = {number, plain ? 0 : piece.slice + i};
    return {};
  };
  const auto walked = store::walk_recipe(chunks, top, 0, std::numeric_limits<std::uint64_t>::max(), take);
  base::check(walked.has_value(), "a recipe that was written is read");
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::span(data, size));
  store::test::CrashDisk disk;
  const auto opened = store::Store::open(disk.medium(), nullptr, {.what = store::OpenFor::creating});
  base::check(opened.has_value(), "a store is made");
  store::ChunkStore& chunks = (*opened)->chunks();
  store::RecipeBuilder builder(chunks);
  Bytes wanted;
  std::uint64_t end = 0;
  // More than two levels of nodes have.
  const std::uint64_t count = input.next() * 8;
  for (std::uint64_t number = 1; number <= count; ++number) {
    const std::uint64_t gap = input.next() % 16, length = 1 + input.next() % 16;
    const store::NodeEntry entry = entry_of(number, end + gap, length);
    base::check(builder.add(entry).has_value(), "an entry is added");
    for (std::uint64_t i = 0; i < length; ++i)
      wanted[entry.offset + i] = entry.kind == store::EntryKind::plain
                                     ? std::pair<std::uint64_t, std::uint64_t>{0, 0}
                                     : std::pair<std::uint64_t, std::uint64_t>{number, entry.slice + i};
    end = entry.offset + length;
  }
  store::Node top = *builder.finish();
  base::check(bytes_of(chunks, top) == wanted, "a recipe says what it was made of");
  for (int ranges = 0; ranges < 32 && !input.ended(); ++ranges) {
    const std::uint64_t begin = (input.next() << 8U | input.next()) % (end + 1);
    const std::uint64_t length = input.next() << 8U | input.next();
    const std::uint64_t until = length == 0xffff ? std::numeric_limits<std::uint64_t>::max() : begin + length;
    auto left = store::without_range(chunks, top, begin, until);
    base::check(left.has_value(), "a range is taken out");
    base::check(store::is_sound(*left), "what is left is sound");
    top = std::move(*left);
    wanted.erase(wanted.lower_bound(begin), wanted.lower_bound(until));
    base::check(bytes_of(chunks, top) == wanted, "the rest stays as it was");
  }
  return 0;
}
