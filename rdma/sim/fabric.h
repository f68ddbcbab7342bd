// RDMA in one thread of this process, exact and in a fixed order: for tests, fuzzing and CPU benchmarks.
//
// A Fabric connects hosts; a host is a device with its own memory registrations and its thread's Verbs in
// one. One request is executed per turn of the ready queue, with everything checked that a device would
// check: keys, bounds, rights, queue depths, the room of receives. Faults are put in before they are to
// happen.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rdma/verbs.h"

namespace braid::rdma::sim {

class Host;
class SimEndpoint;
class SimListener;

// What happens to a request in place of its execution.
struct Fault {
  enum class Kind : std::uint8_t {
    fail,        // it ends with `status`, and the connection with it
    disconnect,  // the connection is lost just before
  };
  Opcode opcode = Opcode::send;
  std::size_t after = 0;  // so many requests of this kind are executed first
  Kind kind = Kind::fail;
  WorkStatus status = WorkStatus::fatal;
};

struct HostStats {
  std::array<std::uint64_t, 4> requests{};  // executed, by Opcode
  std::array<std::uint64_t, 4> bytes{};
  std::uint64_t registrations = 0;  // made
  std::uint64_t bytes_registered = 0;
  std::size_t regions = 0;           // that exist
  std::uint32_t reads_out_most = 0;  // RDMA Reads that were on their way at once
  std::uint64_t chains = 0;          // posted
  [[nodiscard]] std::uint64_t count(Opcode opcode) const {
    return requests[static_cast<std::size_t>(opcode)];
  }
  [[nodiscard]] std::uint64_t byte_count(Opcode opcode) const {
    return bytes[static_cast<std::size_t>(opcode)];
  }
};

// Belongs to one thread, whose ready queue runs it. Outlives its hosts and everything that they made; nothing
// may be left to deliver when it ends.
class Fabric {
 public:
  Fabric() = default;
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

 private:
  friend class Host;
  friend class SimEndpoint;
  friend class SimListener;
  friend class SimRequest;

  // Calls `event` from the ready queue, in order.
  void later(std::function<void()> event);
  void deliver();

  std::deque<std::function<void()>> events_;
  std::map<std::uint16_t, SimListener*> listeners_;  // by port
  std::uint32_t next_key_ = 0x1000;
  std::uint16_t next_port_ = 40000;
};

class Host final : public Device, public Verbs {
 public:
  static constexpr DeviceLimits default_limits{
      .requests_max = 4096, .pieces_max = 16, .reads_max = 16, .on_demand = true};

  Host(Fabric& fabric, std::string name, const DeviceLimits& limits = default_limits);
  ~Host() override;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const DeviceLimits& limits() const override { return limits_; }
  base::Result<std::unique_ptr<MemoryRegion>> register_memory(base::MutableBytes memory,
                                                              Access access) override;
  base::Result<std::unique_ptr<MemoryRegion>> register_everything() override;

  base::Result<std::unique_ptr<Listener>> listen(const rpc::PeerAddress& address,
                                                 ListenerUser& user) override;
  base::Result<std::unique_ptr<Endpoint>> open(std::unique_ptr<ConnectRequest> request,
                                               const QueueDepths& depths, EndpointUser& user) override;
  base::Result<std::unique_ptr<Endpoint>> connect(const rpc::PeerAddress& to, const QueueDepths& depths,
                                                  EndpointUser& user) override;
  io::Op<> close() override { return io::ready_op(); }

  // Faults of requests that this host posts; each happens once.
  void inject(const Fault& fault) { faults_.push_back(fault); }
  // The next so many registrations fail with ENOMEM.
  void refuse_registrations(std::size_t count) { registrations_refused_ = count; }
  // The next so many posted chains fail with EINVAL.
  void refuse_posts(std::size_t count) { posts_refused_ = count; }
  // Completions wait until they are released; those of receives do not.
  void hold_completions(bool hold);
  // A send without a posted receive fails at once; otherwise it waits for one.
  void set_impatient(bool impatient) { impatient_ = impatient; }
  [[nodiscard]] const HostStats& stats() const { return stats_; }
  [[nodiscard]] std::size_t endpoints() const { return endpoints_.size(); }

 private:
  friend class SimEndpoint;
  friend class SimListener;
  friend class SimRegion;
  friend class SimRequest;
  struct Region {
    std::byte* data = nullptr;
    std::size_t bytes = 0;  // SIZE_MAX with data null: everything
    Access access = Access::local;
    bool valid = true;  // not yet invalidated by the peer
  };

  std::unique_ptr<MemoryRegion> add_region(const Region& region);
  [[nodiscard]] bool may_use(const LocalPiece& piece) const;
  // Memory of this host that a peer names; null unless all of it may be used so.
  [[nodiscard]] std::byte* find_remote(RemoteKey key, std::uint64_t address, std::size_t bytes,
                                       Access access) const;
  bool invalidate(RemoteKey key);
  std::optional<Fault> take_fault(Opcode opcode);

  Fabric& fabric_;
  const std::string name_;
  const DeviceLimits limits_;
  std::unordered_map<std::uint32_t, Region> regions_;  // by local key; the remote key is the next number
  std::vector<Fault> faults_;
  std::size_t registrations_refused_ = 0;
  std::size_t posts_refused_ = 0;
  bool holding_ = false;
  bool impatient_ = false;
  std::vector<std::function<void()>> held_;
  std::set<SimEndpoint*> endpoints_;
  HostStats stats_;
};

}  // namespace braid::rdma::sim
