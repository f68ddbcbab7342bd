#include "rdma/chain.h"

namespace braid::rdma {

base::Result<void> Chain::transfer(Opcode opcode, const io::Payload& data, RemoteKey key,
                                   std::uint64_t address, MemoryMap& map, std::uint32_t pieces_max) {
  std::size_t left = 0;  // pieces that the open request still takes
  for (const io::SlabRange& range : data.ranges()) {
    auto pin = map.pin(range);
    if (!pin) return base::fail(pin.error());
    if (left == 0) {
      parts_.push_back({opcode, pieces_.size(), 0, key, address});
      left = pieces_max;
    }
    --left;
    ++parts_.back().count;
    pieces_.push_back({range.slab.data() + range.offset, range.length, pin->key()});
    slabs_.push_back(range.slab);
    pins_.push_back(std::move(*pin));
    address += range.length;
  }
  return {};
}

void Chain::send(Opcode opcode, const io::Payload& message, RemoteKey key, const MemoryMap& map) {
  parts_.push_back({opcode, pieces_.size(), message.ranges().size(), key, 0});
  for (const io::SlabRange& range : message.ranges()) {
    pieces_.push_back({range.slab.data() + range.offset, range.length, map.key_of(range.slab)});
    slabs_.push_back(range.slab);
  }
}

void Chain::probe() { parts_.push_back({Opcode::write, pieces_.size(), 0, {}, 0}); }

std::optional<std::size_t> Chain::lone_send_bytes() const {
  if (parts_.size() != 1) return std::nullopt;
  if (parts_[0].opcode != Opcode::send && parts_[0].opcode != Opcode::send_invalidate) return std::nullopt;
  std::size_t bytes = 0;
  for (const LocalPiece& piece : pieces_) bytes += piece.bytes;
  return bytes;
}

std::span<const Request> Chain::requests() {
  requests_.clear();
  for (const Part& part : parts_)
    requests_.push_back(
        {part.opcode, std::span(pieces_).subspan(part.first, part.count), part.key, part.address});
  return requests_;
}

void Chain::clear() {
  parts_.clear();
  pieces_.clear();
  pins_.clear();
  slabs_.clear();
  requests_.clear();
}

}  // namespace braid::rdma
