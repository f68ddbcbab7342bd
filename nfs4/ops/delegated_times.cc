#include "nfs4/ops/delegated_times.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace braid::nfs4::ops {

vfs::SetTime delegated_time(const std::optional<vfs::Time>& said, const vfs::Time& known,
                            base::WallTime now) {
  if (!said) return {};
  const std::chrono::nanoseconds since_epoch = now.time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_epoch);
  const vfs::Time present{seconds.count(), static_cast<std::uint32_t>((since_epoch - seconds).count())};
  const vfs::Time allowed = std::min(*said, present);
  if (allowed <= known) return {};
  return {vfs::SetTime::How::client, allowed};
}

}  // namespace braid::nfs4::ops
