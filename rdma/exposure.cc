#include "rdma/exposure.h"

#include <algorithm>
#include <utility>

namespace braid::rdma {

base::Result<void> Exposure::offer(Device& device, const io::Payload& memory, Access access,
                                   std::uint32_t segment_bytes_max, std::vector<Segment>& segments) {
  for (const io::SlabRange& range : memory.ranges()) {
    auto region = device.register_memory(range.writable(), access);
    if (!region) return base::fail(region.error());
    const RemoteKey key = (*region)->remote_key();
    const auto start = reinterpret_cast<std::uintptr_t>(range.writable().data());
    for (std::uint32_t offset = 0; offset < range.length; offset += segments.back().bytes)
      segments.push_back({key, std::min(segment_bytes_max, range.length - offset), start + offset});
    memory_.append(range);
    regions_.push_back(std::move(*region));
  }
  return {};
}

void Exposure::withdraw() {
  regions_.clear();
  memory_.clear();
}

std::size_t Exposure::segments_of(const io::Payload& memory, std::uint32_t segment_bytes_max) {
  std::size_t count = 0;
  for (const io::SlabRange& range : memory.ranges())
    count += (range.length + std::size_t{segment_bytes_max} - 1) / segment_bytes_max;
  return count;
}

}  // namespace braid::rdma
