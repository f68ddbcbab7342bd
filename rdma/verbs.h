// The seam to RDMA hardware: as much of libibverbs and librdmacm as RPC needs, and no more. Two
// implementations: the system's libraries (rdma/ibverbs) and a simulation in this process (rdma/sim).
//
//   Provider    the devices of this process
//     Verbs     one reactor thread's share: its completions and connection events come there
//       Listener -> ConnectRequest -> Endpoint
//
// Everything but Provider and Device belongs to the thread of its Verbs. Nothing is called back from inside a
// call; callbacks come from the thread's ready queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "io/op.h"
#include "rdma/keys.h"
#include "rdma/work.h"
#include "rpc/call.h"

namespace braid::io {
class Reactor;
}

namespace braid::rdma {

enum class Opcode : std::uint8_t {
  send,             // to the peer's next receive
  send_invalidate,  // the same, and makes `key` useless; only if DeviceLimits::sends_invalidate
  write,            // to the peer's memory
  read,             // from the peer's memory
};

// Registered memory of ours.
struct LocalPiece {
  std::byte* data = nullptr;
  std::uint32_t bytes = 0;
  LocalKey key;
};

struct Request {
  Opcode opcode = Opcode::send;
  std::span<const LocalPiece> local;  // at most DeviceLimits::pieces_max
  RemoteKey key;                      // of write, read, send_invalidate
  std::uint64_t address = 0;          // of write, read
};

// Requests that belong together: executed in order, and the completion of the last one stands for all.
struct Posting {
  Work* work = nullptr;
  std::span<const Request> chain;
  // A single send of at most Endpoint::copied_max() bytes: it is copied as it is posted, and when it has been
  // executed nobody is told. Its room in the queue is free when a posting behind it that is not silent has
  // completed. Should it fail the connection ends (EndpointUser::on_silent_failure()).
  bool silent = false;
};

// Ends the registration when it is destroyed.
class MemoryRegion {
 public:
  virtual ~MemoryRegion() = default;
  [[nodiscard]] virtual LocalKey local_key() const = 0;
  [[nodiscard]] virtual RemoteKey remote_key() const = 0;
};

// What the peer may do with registered memory. Servers register for themselves alone, clients give one of
// the rights to what they offer in a call.
enum class Access : std::uint8_t { local, remote_read, remote_write };

struct DeviceLimits {
  std::uint32_t requests_max = 0;  // of a queue
  std::uint32_t pieces_max = 0;    // of a request
  std::uint32_t reads_max = 0;     // RDMA Reads on their way at once, of one connection
  bool on_demand = false;          // can fault pages in, so that all memory may be registered at once
  bool invalidation = false;       // a peer may invalidate what register_memory() made, by send_invalidate
  bool sends_invalidate = false;   // takes Opcode::send_invalidate
};

// A port of a device. Only an active one carries data (InfiniBand 14.2.5.6).
struct Port {
  enum class State : std::uint8_t { down, initializing, armed, active };
  unsigned number = 0;  // from 1
  State state = State::down;
};
std::string_view name_of(Port::State state);

// One device and its protection domain. Thread-safe; lives as long as its provider.
class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual const DeviceLimits& limits() const = 0;
  // As they are now; those that cannot be asked are down.
  [[nodiscard]] virtual std::vector<Port> ports() const = 0;
  virtual base::Result<std::unique_ptr<MemoryRegion>> register_memory(base::MutableBytes memory,
                                                                      Access access) = 0;
  // The whole address space, for local use. ENOTSUP where pages cannot be faulted in.
  virtual base::Result<std::unique_ptr<MemoryRegion>> register_everything() = 0;
};

// What both sides agree on when they connect.
struct ConnectParameters {
  base::BytesView private_data;  // at most 56 bytes
  std::uint32_t reads_out = 0;   // RDMA Reads that we will have on their way at once (ORD)
  std::uint32_t reads_in = 0;    // that we answer at once (IRD)
};

// Why a listener does not take a connection.
enum class Refusal : std::uint8_t {
  connections_max,  // it has as many as it may
  address_share,    // the peer's address has as many as it may
  no_resources,     // memory, or the device has no more queues or registrations
  draining,         // the server is about to end
};
// As the peer is told it: in the private data of the refusal (docs/rdma.md).
std::string_view name_of(Refusal why);

// Who uses an endpoint.
class EndpointUser {
 public:
  virtual ~EndpointUser() = default;
  // Of a connection of ours: receives may be posted now, then start().
  virtual void on_resolved() {}
  // The parameters are the peer's.
  virtual void on_established(const ConnectParameters& peer) = 0;
  // The peer refused a connection of ours; the private data is its own. on_disconnected() follows.
  virtual void on_refused(base::BytesView) {}
  // A silent posting failed; on_disconnected() follows.
  virtual void on_silent_failure(WorkStatus) {}
  // It is over, or never came to be. Work that is still posted completes, before or after this.
  virtual void on_disconnected() = 0;
};

// One end of a connection: a queue pair. Destroyed when no work is posted; may be destroyed inside a
// callback.
class Endpoint {
 public:
  virtual ~Endpoint() = default;
  [[nodiscard]] virtual const rpc::PeerAddress& peer() const = 0;
  [[nodiscard]] virtual Device& device() const = 0;
  // Bytes of a send that may be silent; 0 if none may. Known when receives may be posted.
  [[nodiscard]] virtual std::uint32_t copied_max() const = 0;
  // Agrees to the connection, or asks for it.
  virtual base::Result<void> start(const ConnectParameters& parameters) = 0;
  virtual base::Result<void> post_receive(Work& work, const LocalPiece& to) = 0;
  // Tells the device of all of them at once, which costs as much as to tell it of one; in this order. Returns
  // how many it took. What it refuses (its queue is full, or the connection is of no use any more) and what
  // is behind that it has not seen, and the works of these are not completed; nor are those of silent
  // postings, which it does not keep. If it refuses a request in the middle of a chain, that posting counts
  // as taken: the connection ends, and its work completes as failed, but only by take_back().
  virtual std::size_t post(std::span<const Posting> postings) = 0;
  // The same for one: whether it was taken.
  bool post(Work& work, std::span<const Request> chain) {
    const Posting one{&work, chain};
    return post({&one, 1}) == 1;
  }
  // Ends the connection: what is posted is flushed, on_disconnected() follows.
  virtual void disconnect() = 0;
  // After disconnect(), when the device has had its time to flush: takes everything from it. Works that it
  // still had complete as failed or flushed, inside this call or soon, and it touches nothing of theirs any
  // more; or all stays as it was, if the device refuses. Not to be called inside a callback.
  virtual void take_back() = 0;
};

struct QueueDepths {
  std::uint32_t receives = 0;
  std::uint32_t requests = 0;  // sends, writes and reads together
};

// A peer that wants to connect. Refused without a reason when it is destroyed unused.
class ConnectRequest {
 public:
  virtual ~ConnectRequest() = default;
  [[nodiscard]] virtual const rpc::PeerAddress& peer() const = 0;
  [[nodiscard]] virtual Device& device() const = 0;
  // The peer's; the private data is valid as long as the request.
  [[nodiscard]] virtual const ConnectParameters& offered() const = 0;
  // At most once, and then it is of no more use.
  virtual void refuse(Refusal why) = 0;
};

class ListenerUser {
 public:
  virtual ~ListenerUser() = default;
  virtual void on_request(std::unique_ptr<ConnectRequest> request) = 0;
};

// Listens until it is destroyed.
class Listener {
 public:
  virtual ~Listener() = default;
  [[nodiscard]] virtual const rpc::PeerAddress& address() const = 0;
};

class Verbs {
 public:
  virtual ~Verbs() = default;
  // EADDRINUSE, ENODEV where no device has the address.
  virtual base::Result<std::unique_ptr<Listener>> listen(const rpc::PeerAddress& address,
                                                         ListenerUser& user) = 0;
  // Takes over a request from the listener, which may belong to another thread's Verbs. If that fails the
  // peer is refused for lack of resources.
  virtual base::Result<std::unique_ptr<Endpoint>> open(std::unique_ptr<ConnectRequest> request,
                                                       const QueueDepths& depths, EndpointUser& user) = 0;
  // Begins a connection to a listener.
  virtual base::Result<std::unique_ptr<Endpoint>> connect(const rpc::PeerAddress& to,
                                                          const QueueDepths& depths, EndpointUser& user) = 0;
  // To be awaited before it is destroyed, when it has no endpoint and no listener any more.
  virtual io::Op<> close() = 0;
};

// What a device tells of itself without being asked (InfiniBand 11.6.3).
struct DeviceEvent {
  enum class Kind : std::uint8_t {
    port_up,
    port_down,
    device_failed,  // nothing works there any more
    queue_failed,   // of one connection, which ends by itself
    other,          // addresses, keys and the like have changed
  };
  Kind kind = Kind::other;
  unsigned port = 0;  // of port_up and port_down
};
constexpr std::size_t device_event_kinds = 5;
std::string_view name_of(DeviceEvent::Kind kind);

class DeviceUser {
 public:
  virtual ~DeviceUser() = default;
  virtual void on_device_event(const Device& device, const DeviceEvent& event) = 0;
};

// Listens to the devices until close() has ended, which is to be awaited before it is destroyed.
class DeviceWatch {
 public:
  virtual ~DeviceWatch() = default;
  virtual io::Op<> close() = 0;
};

class Provider {
 public:
  virtual ~Provider() = default;
  [[nodiscard]] virtual std::vector<Device*> devices() const = 0;
  // For the reactor's thread, and on it.
  virtual base::Result<std::unique_ptr<Verbs>> open(io::Reactor& reactor) = 0;
  // The same; at most one at a time.
  virtual base::Result<std::unique_ptr<DeviceWatch>> watch(io::Reactor& reactor, DeviceUser& user) = 0;
};

}  // namespace braid::rdma
