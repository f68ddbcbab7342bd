// What can be chosen for RPC over RDMA, and what is counted of it.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "rdma/registration.h"
#include "rdma/verbs.h"

namespace braid::rdma {

struct RdmaOptions {
  std::uint32_t credits = 128;        // calls of a connection at once: receives posted for them
  std::uint32_t back_credits = 16;    // further receives, for replies to calls of ours (RFC 8167)
  std::uint32_t inline_bytes = 4096;  // of messages without chunks, both ways; whole KiB, at most 64 KiB
  std::uint64_t message_bytes_max = base::MiB + 64 * base::KiB;  // that a call may bring by RDMA Read
  std::uint32_t reads_max = 16;  // RDMA Reads of a connection at once, as far as device and peer allow
  // Of slabs of a connection for calls that are being read: each RDMA Read may be for another long call.
  std::size_t chunk_reads_bytes_max = 16 * base::MiB;
  // As with TCP: no call and no reply for so long, and the connection is closed.
  base::Duration idle_limit = std::chrono::minutes(6);
  // A peer that is silent for so long is asked whether it is still there: by an RDMA Write of no bytes.
  base::Duration keepalive_idle = std::chrono::seconds(60);
  // What was sent must be acknowledged, and a connection established, within this time.
  base::Duration stall_limit = std::chrono::seconds(60);
  // A device that has not flushed a connection within this time after its end loses the queue pair.
  base::Duration flush_limit = std::chrono::seconds(5);
  base::Duration sweep_interval = std::chrono::seconds(5);
};

// Shared by all workers of a server.
struct RdmaMetrics {
  explicit RdmaMetrics(base::MetricRegistry& registry);
  base::Counter& accepted;
  // Connections that were not taken, by reason.
  [[nodiscard]] base::Counter& refused(Refusal why) const {
    return *refused_by_reason[static_cast<std::size_t>(why)];
  }
  const std::array<base::Counter*, 4> refused_by_reason;
  // What devices told of themselves.
  [[nodiscard]] base::Counter& device_event(DeviceEvent::Kind kind) const {
    return *device_events[static_cast<std::size_t>(kind)];
  }
  const std::array<base::Counter*, device_event_kinds> device_events;
  base::Counter& closed_idle;
  base::Counter& closed_stalled;
  base::Counter& closed_credits;   // more calls than granted
  base::Counter& closed_header;    // a reply where there can only be a call
  base::Counter& closed_transfer;  // a work request failed
  base::Counter& err_vers;         // RDMA_ERROR messages sent
  base::Counter& err_chunk;
  base::Counter& errors_received;
  base::Counter& read_chunks;  // used
  base::Counter& write_chunks;
  base::Counter& reply_chunks;
  base::Counter& bytes_read;  // moved by RDMA Read and Write
  base::Counter& bytes_written;
  base::Counter& invalidated;             // replies by Send With Invalidate
  base::Counter& memory_waits;            // receives or reads put off because the slab pool was exhausted
  std::atomic<std::int64_t> credits = 0;  // that open connections were granted by the last reply on each
  RegistrationMetrics registration;
};

}  // namespace braid::rdma
