// RDMA in one thread of this process, exact and in a fixed order: for tests, fuzzing and CPU benchmarks.
//
// A Fabric connects hosts; a host is a device with its own memory registrations and its thread's Verbs in
// one. One request is executed per turn of the ready queue, with everything checked that a device would
// check: keys, bounds, rights, queue depths, the room of receives. Faults are put in before they are to
// happen.
//
// Without a Link everything happens at once. With one, what is sent takes its time on the wire, in virtual
// time: RDMA Reads take a round trip, no more of them are on their way than was agreed, and the requests of a
// connection follow each other without waiting for acknowledgements, as on InfiniBand. To connect takes no
// time.
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

#include "base/clock.h"
#include "base/manual/manual_clock.h"
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

// A wire between any two hosts. Each host sends on one of its own, and hears on the others'.
struct Link {
  base::Duration delay{};              // one way, of every bit
  std::uint64_t bytes_per_second = 0;  // of data; headers and acknowledgements have no length
};

struct HostStats {
  std::array<std::uint64_t, 4> requests{};  // executed, by Opcode
  std::array<std::uint64_t, 4> bytes{};
  std::uint64_t registrations = 0;  // made
  std::uint64_t bytes_registered = 0;
  std::size_t regions = 0;           // that exist
  std::uint32_t reads_out_most = 0;  // RDMA Reads that were on their way at once
  std::uint64_t chains = 0;          // posted
  std::uint64_t doorbells = 0;       // calls of Endpoint::post()
  std::uint64_t heard = 0;           // completions of what was posted there
  [[nodiscard]] std::uint64_t count(Opcode opcode) const {
    return requests[static_cast<std::size_t>(opcode)];
  }
  [[nodiscard]] std::uint64_t byte_count(Opcode opcode) const {
    return bytes[static_cast<std::size_t>(opcode)];
  }
};

// For benchmarks of a host's work: told when the thread leaves it, to do that of a device or of another host,
// and when it comes back. Calls do not nest.
class Meter {
 public:
  virtual ~Meter() = default;
  virtual void leave() = 0;
  virtual void enter() = 0;
};

// Belongs to one thread, whose ready queue runs it. Outlives its hosts and everything that they made; nothing
// may be left to deliver when it ends.
class Fabric {
 public:
  Fabric() = default;
  // Time is the clock's, which nobody else moves.
  Fabric(const Link& link, base::ManualClock& clock) : link_(link), clock_(&clock) {}
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  // With a link: moves the clock to when something arrives next, and lets it. False if nothing is on its way.
  // To be called when the ready queue has nothing to do any more.
  bool advance();
  // Null: nobody.
  void measure(const Host* host, Meter* meter) {
    measured_ = host;
    meter_ = meter;
  }

 private:
  friend class Host;
  friend class SimEndpoint;
  friend class SimListener;
  friend class SimRequest;

  // Calls `event` from the ready queue, in order.
  void later(std::function<void()> event);
  void deliver();
  // Runs what is the work of this host, or of a device when it is null.
  template <class F>
  void account(const Host* host, F work) {
    if (meter_ == nullptr || host == measured_) return work();
    meter_->leave();
    work();
    meter_->enter();
  }
  // Calls `event` at that time, with a link.
  void at(base::TimePoint when, std::function<void()> event);
  // When so many bytes, sent by the host behind all that it has sent before, have arrived.
  base::TimePoint transmit(Host& from, std::size_t bytes);

  const Host* measured_ = nullptr;
  Meter* meter_ = nullptr;
  const Link link_{};
  base::ManualClock* const clock_ = nullptr;  // null: no link
  std::multimap<base::TimePoint, std::function<void()>> timeline_;
  std::deque<std::function<void()>> events_;
  std::map<std::uint16_t, SimListener*> listeners_;  // by port
  std::uint32_t next_key_ = 0x1000;
  std::uint16_t next_port_ = 40000;
};

class Host final : public Device, public Verbs {
 public:
  static constexpr DeviceLimits default_limits{.requests_max = 4096,
                                               .pieces_max = 16,
                                               .reads_max = 16,
                                               .on_demand = true,
                                               .invalidation = true,
                                               .sends_invalidate = true};

  Host(Fabric& fabric, std::string name, const DeviceLimits& limits = default_limits);
  ~Host() override;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const DeviceLimits& limits() const override { return limits_; }
  [[nodiscard]] std::vector<Port> ports() const override { return {{1, Port::State::active}}; }
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
  // So many requests are refused when they are posted, behind so many that are taken.
  void refuse_posts(std::size_t count, std::size_t after = 0) {
    posts_refused_ = count;
    posts_taken_ = after;
  }
  // Called with the bytes of each registration that is made.
  void on_registration(std::function<void(std::size_t)> f) { on_registration_ = std::move(f); }
  // RDMA Reads and Writes leave the bytes where they are: for benchmarks, where the CPU would have to copy
  // what a device copies.
  void leave_data(bool leave) { leaves_data_ = leave; }
  // Completions wait until they are released; those of receives do not.
  void hold_completions(bool hold);
  // What is posted when a connection ends stays with this device, until it is taken back.
  void never_flush() { flushes_ = false; }
  // Bytes that endpoints made from now on copy of a silent send.
  void set_copied_max(std::uint32_t bytes) { copied_max_ = bytes; }
  // A send without a posted receive fails at once; otherwise it waits for one.
  void set_impatient(bool impatient) { impatient_ = impatient; }
  // Where its connections come from, ports apart; from the start on ::1.
  void come_from(const rpc::PeerAddress& address) { address_ = address; }
  [[nodiscard]] const HostStats& stats() const { return stats_; }
  [[nodiscard]] std::size_t endpoints() const { return endpoints_.size(); }

 private:
  friend class Fabric;
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
  // Of the next request that is posted.
  bool refuses_post();

  Fabric& fabric_;
  const std::string name_;
  const DeviceLimits limits_;
  std::unordered_map<std::uint32_t, Region> regions_;  // by local key; the remote key is the next number
  std::vector<Fault> faults_;
  std::size_t registrations_refused_ = 0;
  std::size_t posts_refused_ = 0;
  std::size_t posts_taken_ = 0;  // before those are refused
  bool holding_ = false;
  bool flushes_ = true;
  bool impatient_ = false;
  bool leaves_data_ = false;
  std::uint32_t copied_max_ = 512;
  rpc::PeerAddress address_{.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, .port = 0};
  std::function<void(std::size_t)> on_registration_;
  std::vector<std::pair<const SimEndpoint*, std::function<void()>>> held_;
  std::set<SimEndpoint*> endpoints_;
  base::TimePoint wire_free_{};  // when all that was sent has left
  HostStats stats_;
};

}  // namespace braid::rdma::sim
