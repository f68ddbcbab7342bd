// Whether memory can be registered with RDMA devices: found out before the first client comes, since what a
// device refuses later is refused to the clients of TCP too (io/slab.h).
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>

#include "rdma/registration.h"
#include "rdma/verbs.h"

namespace braid::server {

// Bytes that this process may pin (RLIMIT_MEMLOCK); nothing if there is no limit, or none for it
// (CAP_IPC_LOCK).
std::optional<std::uint64_t> pinned_bytes_max();

// How much the pool of `buffer_bytes` has pinned on so many devices when it has grown as far as it may: each
// counts for itself, and `dynamic` registers what it transfers a second time.
std::uint64_t pinned_bytes(std::uint64_t buffer_bytes, std::size_t devices, rdma::Registration strategy);

// Fails, with a sentence for the user, if `needed` is more than `most`.
std::expected<void, std::string> check_pinned(std::uint64_t needed, std::optional<std::uint64_t> most);

// Registers the pool with each device; those that refuse are logged, and their clients are refused later on.
// Fails, with a sentence for the user, if all do.
std::expected<void, std::string> register_with(std::span<rdma::Device* const> devices,
                                               rdma::MemoryMaps& maps);

}  // namespace braid::server
