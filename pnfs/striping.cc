#include "pnfs/striping.h"

#include <algorithm>
#include <limits>

namespace braid::pnfs {

bool Striping::valid() const {
  if (unit < unit_min || unit > unit_max || unit % unit_step != 0) return false;
  if (width == 0 || width > width_max || first >= width) return false;
  return packing == Packing::sparse || stripe_bytes() <= std::numeric_limits<std::uint32_t>::max();
}

std::uint32_t Striping::index_of(std::uint64_t offset) const {
  return static_cast<std::uint32_t>((offset / unit + first) % width);
}

std::uint64_t Striping::to_object(std::uint64_t offset) const {
  if (packing == Packing::sparse) return offset;
  return offset / stripe_bytes() * unit + offset % unit;
}

std::optional<std::uint64_t> Striping::to_file(std::uint32_t index, std::uint64_t object_offset) const {
  if (index >= width || object_offset > offset_max) return std::nullopt;
  if (packing == Packing::sparse) {
    if (index_of(object_offset) != index) return std::nullopt;
    return object_offset;
  }
  const std::uint64_t stripe = object_offset / unit;
  const std::uint64_t before = std::uint64_t{position(index)} * unit + object_offset % unit;
  if (stripe > (offset_max - before) / stripe_bytes()) return std::nullopt;
  return stripe * stripe_bytes() + before;
}

std::optional<std::uint64_t> Striping::own_from(std::uint32_t index, std::uint64_t object_offset) const {
  if (index >= width || object_offset > offset_max) return std::nullopt;
  if (packing == Packing::dense) return object_offset;
  const std::uint32_t ahead = (index + width - index_of(object_offset)) % width;
  if (ahead == 0) return object_offset;
  const std::uint64_t at = (object_offset / unit + ahead) * unit;
  if (at > offset_max) return std::nullopt;
  return at;
}

std::uint64_t Striping::own_end(std::uint64_t object_offset) const {
  if (packing == Packing::dense || width == 1) return offset_max;
  return std::min((object_offset / unit + 1) * unit, offset_max);
}

ObjectRange Striping::piece(std::uint64_t offset, std::uint64_t length) const {
  const std::uint64_t left = width == 1 ? length : unit - offset % unit;
  return {index_of(offset), to_object(offset), std::min(length, left)};
}

std::optional<std::uint64_t> Striping::file_end(std::uint32_t index, std::uint64_t object_end) const {
  if (index >= width || object_end > offset_max) return std::nullopt;
  if (object_end == 0 || packing == Packing::sparse) return object_end;
  const auto last = to_file(index, object_end - 1);
  if (!last || *last == offset_max) return std::nullopt;
  return *last + 1;
}

std::uint64_t Striping::object_end(std::uint32_t index, std::uint64_t size) const {
  if (packing == Packing::sparse) return size;
  const std::uint64_t whole = size / stripe_bytes() * unit;
  const std::uint64_t rest = size % stripe_bytes();
  const std::uint64_t before = std::uint64_t{position(index)} * unit;
  return whole + (rest <= before ? 0 : std::min<std::uint64_t>(rest - before, unit));
}

}  // namespace braid::pnfs
