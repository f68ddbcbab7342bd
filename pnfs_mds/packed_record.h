// Where the bytes of a file are, in little memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "pnfs/layout_record.h"

namespace braid::pnfs_mds {

// What never changes of the record of one file. Immutable.
class PackedRecord {
 public:
  // Its striping is valid(), with as many servers as it has objects.
  explicit PackedRecord(const pnfs::LayoutRecord& record)
      : unit_(record.striping.unit),
        width_(static_cast<std::uint8_t>(record.striping.width)),
        first_(static_cast<std::uint8_t>(record.striping.first)),
        packing_(record.striping.packing) {
    if (width_ > few) rest_ = std::make_unique<Rest>();
    for (std::size_t i = 0; i < width_; ++i) (i < few ? servers_[i] : (*rest_)[i - few]) = record.servers[i];
  }
  [[nodiscard]] pnfs::LayoutRecord record(pnfs::ObjectId object, pnfs::Epoch epoch) const {
    pnfs::LayoutRecord out{
        .object = object,
        .epoch = epoch,
        .striping = {.unit = unit_, .width = width_, .first = first_, .packing = packing_},
        .servers = {servers_.begin(), servers_.begin() + std::min<std::size_t>(width_, few)}};
    if (rest_ != nullptr)
      out.servers.insert(out.servers.end(), rest_->begin(), rest_->begin() + (width_ - few));
    return out;
  }

 private:
  static constexpr std::size_t few = 4;
  using Rest = std::array<pnfs::ServerNumber, pnfs::Striping::width_max - few>;

  const std::uint32_t unit_;
  const std::uint8_t width_;
  const std::uint8_t first_;
  const pnfs::Packing packing_;
  std::array<pnfs::ServerNumber, few> servers_{};
  std::unique_ptr<Rest> rest_;  // null: there are no more
};

}  // namespace braid::pnfs_mds
