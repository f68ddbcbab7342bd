// What a server changes about its own process before it starts threads.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "server/config/config.h"

namespace braid::server {

// Raises the soft limit of descriptors to the hard one; returns what is in force.
std::uint64_t raise_descriptor_limit();

// How many descriptors may be used for what.
struct DescriptorPlan {
  std::size_t connections_max = 0;
  std::size_t open_files_max = 0;
  std::size_t callbacks_max = 0;  // connections to clients of NFSv4.0
  std::size_t pipes_max = 0;      // two descriptors each
};
// Fills what the configuration leaves open, from the descriptors there are. The error is a sentence.
std::expected<DescriptorPlan, std::string> plan_descriptors(const config::Config& config, unsigned threads,
                                                            std::uint64_t descriptors);

// How many objects one of the configuration's data servers may keep open, and how many descriptors of files
// its cache; beside exports that comes on top of what is theirs. 0: there is none.
std::size_t objects_open_max(const config::Config& config, std::size_t open_files_max);

// Whether RLIMIT_MEMLOCK does not count for this process (CAP_IPC_LOCK).
bool may_lock_memory();
// Whether this process has CAP_SYS_ADMIN, without which there are no extended attributes "trusted.*".
bool may_keep_trusted_attributes();

// What this process cannot do for want of privileges, besides what its exports say; sentences.
std::vector<std::string> restrictions();

// Modes of new files are the clients' affair; a peer that hangs up is an error value, not a signal;
// CAP_SYS_RESOURCE goes, because with it the kernel would let every client write past quotas and into
// reserved blocks.
void prepare_process();

}  // namespace braid::server
