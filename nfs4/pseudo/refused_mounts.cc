#include "nfs4/pseudo/refused_mounts.h"

#include <chrono>

#include "base/log.h"

namespace braid::nfs4 {

bool RefusedMounts::tell(const std::string& client, const std::string& path, std::uint32_t minor_version,
                         nfsstat4 status, base::TimePoint now) {
  constexpr base::Duration pause = std::chrono::minutes(1);
  const bool due = told_.with([&](Told& told) {
    std::erase_if(told, [&](const auto& one) { return now - one.second >= pause; });
    return told.size() < lines_max && told.emplace(std::pair(client, path), now).second;
  });
  if (due)
    base::log_event(base::Level::warning, "mount_refused", "client={} path={} status={} version=4.{}", client,
                    path, name_of(status), minor_version);
  return due;
}

}  // namespace braid::nfs4
