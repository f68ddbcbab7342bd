#include "rdma/sim/fabric.h"

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/arith.h"
#include "base/assert.h"
#include "io/ready_queue.h"
#include "rdma/sim/endpoint.h"

namespace braid::rdma::sim {
namespace {

constexpr std::size_t everything = std::numeric_limits<std::size_t>::max();

// Whether [address, address + bytes) lies inside.
bool holds(const std::byte* data, std::size_t size, std::uint64_t address, std::size_t bytes) {
  if (size == everything) return true;
  const auto start = reinterpret_cast<std::uintptr_t>(data);
  const auto end = base::end_of<std::uint64_t>(address, bytes);
  return end && address >= start && *end <= start + size;
}

}  // namespace

class SimRegion final : public MemoryRegion {
 public:
  SimRegion(Host& host, std::uint32_t key) : host_(host), key_(key) {}
  ~SimRegion() override {
    host_.regions_.erase(key_);
    --host_.stats_.regions;
  }
  SimRegion(const SimRegion&) = delete;
  SimRegion& operator=(const SimRegion&) = delete;
  [[nodiscard]] LocalKey local_key() const override { return LocalKey(key_); }
  [[nodiscard]] RemoteKey remote_key() const override { return RemoteKey(key_ + 1); }

 private:
  Host& host_;
  const std::uint32_t key_;
};

Fabric::~Fabric() {
  base::check(events_.empty() && listeners_.empty(), "a fabric ends when all is delivered");
}

void Fabric::later(std::function<void()> event) {
  events_.push_back(std::move(event));
  io::ReadyQueue::current().push({[](void* self) { static_cast<Fabric*>(self)->deliver(); }, this});
}

void Fabric::deliver() {
  const auto event = std::move(events_.front());
  events_.pop_front();
  event();
}

void Fabric::at(base::TimePoint when, std::function<void()> event) {
  timeline_.emplace(when, std::move(event));
}

base::TimePoint Fabric::transmit(Host& from, std::size_t bytes) {
  const base::Duration takes(link_.bytes_per_second == 0 ? 0
                                                         : bytes * 1'000'000'000 / link_.bytes_per_second);
  from.wire_free_ = std::max(from.wire_free_, clock_->now()) + takes;
  return from.wire_free_ + link_.delay;
}

bool Fabric::advance() {
  if (timeline_.empty()) return false;
  const base::TimePoint when = timeline_.begin()->first;
  clock_->advance(std::max(when - clock_->now(), base::Duration::zero()));
  while (!timeline_.empty() && timeline_.begin()->first == when) {
    const auto event = std::move(timeline_.begin()->second);
    timeline_.erase(timeline_.begin());
    event();
  }
  return true;
}

Host::Host(Fabric& fabric, std::string name, const DeviceLimits& limits)
    : fabric_(fabric), name_(std::move(name)), limits_(limits) {}

Host::~Host() {
  base::check(regions_.empty(), "a host ends without registrations");
  base::check(endpoints_.empty(), "a host ends without connections");
}

std::unique_ptr<MemoryRegion> Host::add_region(const Region& region) {
  // Numbers are never used twice, so that a stale key is always found out.
  const std::uint32_t key = fabric_.next_key_;
  fabric_.next_key_ += 2;
  regions_.emplace(key, region);
  ++stats_.regions;
  ++stats_.registrations;
  return std::make_unique<SimRegion>(*this, key);
}

base::Result<std::unique_ptr<MemoryRegion>> Host::register_memory(base::MutableBytes memory, Access access) {
  if (registrations_refused_ > 0) {
    --registrations_refused_;
    return base::fail(ENOMEM);
  }
  stats_.bytes_registered += memory.size();
  if (on_registration_) on_registration_(memory.size());
  return add_region({memory.data(), memory.size(), access, true});
}

base::Result<std::unique_ptr<MemoryRegion>> Host::register_everything() {
  if (!limits_.on_demand) return base::fail(ENOTSUP);
  return add_region({nullptr, everything, Access::local, true});
}

bool Host::may_use(const LocalPiece& piece) const {
  if (piece.bytes == 0) return true;
  const auto found = regions_.find(piece.key.value());
  return found != regions_.end() && holds(found->second.data, found->second.bytes,
                                          reinterpret_cast<std::uintptr_t>(piece.data), piece.bytes);
}

std::byte* Host::find_remote(RemoteKey key, std::uint64_t address, std::size_t bytes, Access access) const {
  const auto found = regions_.find(key.value() - 1);
  if (found == regions_.end() || !found->second.valid || found->second.access != access) return nullptr;
  if (!holds(found->second.data, found->second.bytes, address, bytes)) return nullptr;
  return found->second.data + (address - reinterpret_cast<std::uintptr_t>(found->second.data));
}

bool Host::invalidate(RemoteKey key) {
  const auto found = regions_.find(key.value() - 1);
  if (found == regions_.end() || found->second.access == Access::local) return false;
  return std::exchange(found->second.valid, false);
}

std::optional<Fault> Host::take_fault(Opcode opcode) {
  for (auto fault = faults_.begin(); fault != faults_.end(); ++fault) {
    if (fault->opcode != opcode) continue;
    if (fault->after > 0) {
      --fault->after;
      continue;
    }
    const Fault taken = *fault;
    faults_.erase(fault);
    return taken;
  }
  return std::nullopt;
}

bool Host::refuses_post() {
  if (posts_refused_ == 0) return false;
  if (posts_taken_ > 0) {
    --posts_taken_;
    return false;
  }
  --posts_refused_;
  return true;
}

void Host::hold_completions(bool hold) {
  holding_ = hold;
  if (hold) return;
  for (auto& [endpoint, event] : std::exchange(held_, {})) fabric_.later(std::move(event));
}

base::Result<std::unique_ptr<Listener>> Host::listen(const rpc::PeerAddress& address, ListenerUser& user) {
  rpc::PeerAddress bound = address;
  if (bound.port == 0) bound.port = fabric_.next_port_++;
  if (fabric_.listeners_.contains(bound.port)) return base::fail(EADDRINUSE);
  return std::make_unique<SimListener>(*this, bound, user);
}

base::Result<std::unique_ptr<Endpoint>> Host::connect(const rpc::PeerAddress& to, const QueueDepths& depths,
                                                      EndpointUser& user) {
  auto endpoint = std::make_unique<SimEndpoint>(*this, to, depths, user);
  endpoint->port_ = to.port;
  SimEndpoint& made = *endpoint;
  made.later([&made] { made.user_.on_resolved(); });
  return endpoint;
}

base::Result<std::unique_ptr<Endpoint>> Host::open(std::unique_ptr<ConnectRequest> request,
                                                   const QueueDepths& depths, EndpointUser& user) {
  auto& asked = static_cast<SimRequest&>(*request);
  if (depths.requests > limits_.requests_max || depths.receives > limits_.requests_max) {
    asked.refuse(Refusal::no_resources);
    return base::fail(EINVAL);
  }
  auto endpoint = std::make_unique<SimEndpoint>(*this, asked.peer(), depths, user);
  if (!*asked.from_alive_ || asked.from_->state_ != SimEndpoint::State::asking) return base::fail(ECONNRESET);
  endpoint->other_ = asked.from_;
  asked.from_->other_ = endpoint.get();
  asked.from_ = nullptr;  // it is no longer the request that decides
  return endpoint;
}

}  // namespace braid::rdma::sim
