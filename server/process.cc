#include "server/process.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "base/log.h"
#include "store/store.h"

namespace braid::server {
namespace {

constexpr std::size_t descriptors_of_our_own = 48;  // listeners, admin and metrics connections, logs

struct Capabilities {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};

  bool load() { return ::syscall(SYS_capget, &header, sets.data()) == 0; }
  bool store() { return ::syscall(SYS_capset, &header, sets.data()) == 0; }
  [[nodiscard]] bool has(unsigned capability) const {
    return (sets[capability / 32].effective >> (capability % 32) & 1u) != 0;
  }
  void drop(unsigned capability) {
    const std::uint32_t others = ~(1u << (capability % 32));
    sets[capability / 32].effective &= others;
    sets[capability / 32].permitted &= others;
    sets[capability / 32].inheritable &= others;
  }
};

void drop_resource_override() {
  Capabilities capabilities;
  if (!capabilities.load() || !capabilities.has(CAP_SYS_RESOURCE)) return;
  capabilities.drop(CAP_SYS_RESOURCE);
  if (!capabilities.store())
    base::log_event(base::Level::warning, "capability_kept",
                    "CAP_SYS_RESOURCE could not be dropped: clients may exceed quotas");
}

}  // namespace

bool may_lock_memory() {
  Capabilities capabilities;
  return capabilities.load() && capabilities.has(CAP_IPC_LOCK);
}

bool may_keep_trusted_attributes() {
  Capabilities capabilities;
  return capabilities.load() && capabilities.has(CAP_SYS_ADMIN);
}

std::vector<std::string> restrictions() {
  Capabilities capabilities;
  // fcntl(2), F_SETLEASE: a lease of a file of somebody else needs the capability.
  if (!capabilities.load() || capabilities.has(CAP_LEASE)) return {};
  return {
      fmt::format("Delegations are given for files of user {} alone: CAP_LEASE is missing.", ::geteuid())};
}

std::uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  const rlimit raised{limit.rlim_max, limit.rlim_max};
  return ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

std::size_t objects_open_max(const config::Config& config, std::size_t open_files_max) {
  constexpr std::size_t least = 16;
  if (config.data_servers.empty()) return 0;
  const std::size_t part = config.exports.empty() ? 2 : 4;
  return std::max(least, open_files_max / (part * config.data_servers.size()));
}

std::expected<DescriptorPlan, std::string> plan_descriptors(const config::Config& config, unsigned threads,
                                                            std::uint64_t descriptors) {
  constexpr std::uint64_t derived_max = 65536, pipes_max = 64;
  constexpr std::uint64_t callbacks_min = 4, callbacks_max = 1024, callbacks_part = 4;  // of what is left
  constexpr std::uint64_t server_descriptors = 8;  // of a data server: its directory, logs and sockets
  const config::Limits& limits = config.limits;
  const std::uint64_t servers = config.data_servers.size();
  const bool shared = servers != 0 && !config.exports.empty();
  const std::uint64_t files_part = shared ? 3 : 2;
  const std::uint64_t of_stores = config.stores.size() * store::Store::descriptors_max;
  const std::uint64_t for_others = descriptors - std::min(of_stores, descriptors);
  DescriptorPlan plan;
  plan.connections_max =
      limits.connections_max != 0 ? limits.connections_max : std::min(for_others / 4, derived_max);
  plan.open_files_max =
      limits.open_files_max != 0 ? limits.open_files_max : std::min(for_others / files_part, derived_max);
  // Ring and wake-up of each thread, root and mount of each export.
  std::uint64_t own = of_stores + descriptors_of_our_own + 4 * (threads + config.exports.size());
  // Each thread has a connection to its metadata server, and from that one if it is here.
  own += servers * (server_descriptors + 2 * std::uint64_t{threads});
  // Files of exports may take all of open_files_max; objects come on top, each with a descriptor of the
  // cache.
  if (shared) own += 2 * servers * objects_open_max(config, plan.open_files_max);
  if (!config.exports.empty()) own += callbacks_min;
  const std::uint64_t needed = plan.connections_max + plan.open_files_max + own;
  if (needed > descriptors)
    return std::unexpected(fmt::format(
        "{} connections and {} open files need {} descriptors, but this process may have {}; lower "
        "connections_max or open_files_max, or raise the limit (ulimit -Hn, LimitNOFILE=)",
        plan.connections_max, plan.open_files_max, needed, descriptors));
  std::uint64_t left = descriptors - needed;
  if (!config.exports.empty()) {
    const std::uint64_t more = std::min(left / callbacks_part, callbacks_max - callbacks_min);
    plan.callbacks_max = callbacks_min + more;
    left -= more;
  }
  plan.pipes_max = std::min(left / 2, pipes_max);
  return plan;
}

void prepare_process() {
  ::umask(0);
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, nullptr);
  drop_resource_override();
}

}  // namespace braid::server
