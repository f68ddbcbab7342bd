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
    if (width_ > few) std::construct_at(&servers_.all, std::make_unique<pnfs::ServerNumber[]>(width_));
    std::ranges::copy_n(record.servers.begin(), width_, servers());
  }
  ~PackedRecord() {
    if (width_ > few) std::destroy_at(&servers_.all);
  }
  PackedRecord(const PackedRecord&) = delete;
  PackedRecord& operator=(const PackedRecord&) = delete;
  [[nodiscard]] pnfs::LayoutRecord record(pnfs::ObjectId object, pnfs::Epoch epoch) const {
    return {.object = object,
            .epoch = epoch,
            .striping = {.unit = unit_, .width = width_, .first = first_, .packing = packing_},
            .servers = {servers(), servers() + width_}};
  }

 private:
  static constexpr std::size_t few = 4;
  // `all` of more than `few`.
  union Servers {
    Servers() : here{} {}
    ~Servers() {}
    Servers(const Servers&) = delete;
    Servers& operator=(const Servers&) = delete;
    std::array<pnfs::ServerNumber, few> here;
    std::unique_ptr<pnfs::ServerNumber[]> all;
  };
  [[nodiscard]] pnfs::ServerNumber* servers() {
    return width_ > few ? servers_.all.get() : servers_.here.data();
  }
  [[nodiscard]] const pnfs::ServerNumber* servers() const {
    return width_ > few ? servers_.all.get() : servers_.here.data();
  }

  const std::uint32_t unit_;
  const std::uint8_t width_;
  const std::uint8_t first_;
  const pnfs::Packing packing_;
  Servers servers_;
};

}  // namespace braid::pnfs_mds
