#include "server/rdma_memory.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <limits>

#include "base/bytes.h"
#include "base/log.h"
#include "server/process.h"

namespace braid::server {
namespace {

std::string refusal(const rdma::Device& device, rdma::Registration strategy, base::Errno error) {
  if (strategy == rdma::Registration::odp && error == base::errno_of(ENOTSUP))
    return fmt::format("{} cannot fault pages in; give another `registration` than \"odp\"", device.name());
  return fmt::format("memory cannot be registered with {}: {}", device.name(), base::message_of(error));
}

}  // namespace

std::optional<std::uint64_t> pinned_bytes_max() {
  rlimit limit{};
  if (may_lock_memory() || ::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::nullopt;
  return limit.rlim_cur;
}

std::uint64_t pinned_bytes(std::uint64_t buffer_bytes, std::size_t devices, rdma::Registration strategy) {
  if (strategy == rdma::Registration::odp) return 0;
  return buffer_bytes * devices * (strategy == rdma::Registration::dynamic ? 2 : 1);
}

std::expected<void, std::string> check_pinned(std::uint64_t needed, std::optional<std::uint64_t> most) {
  if (!most || needed <= *most) return {};
  return std::unexpected(
      fmt::format("{} MiB have to be locked in memory and this process may lock {} MiB: raise the limit "
                  "(LimitMEMLOCK=infinity under systemd, `ulimit -l` as root), or lower buffer_bytes_max",
                  needed / base::MiB, *most / base::MiB));
}

std::expected<void, std::string> register_with(std::span<rdma::Device* const> devices,
                                               rdma::MemoryMaps& maps) {
  std::string refused;
  bool any = false;
  for (rdma::Device* device : devices) {
    const auto map = maps.of(*device);
    any = any || map.has_value();
    if (map) continue;
    refused = refusal(*device, maps.strategy(), map.error());
    base::log_event(base::Level::warning, "rdma_device_refuses", "reason=\"{}\"", refused);
  }
  if (!any) return std::unexpected(refused);
  return {};
}

}  // namespace braid::server
