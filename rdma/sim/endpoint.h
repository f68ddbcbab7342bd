// A queue pair of the simulation, and how two of them meet.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "rdma/sim/fabric.h"

namespace braid::rdma::sim {

class SimEndpoint final : public Endpoint {
 public:
  SimEndpoint(Host& host, const rpc::PeerAddress& peer, const QueueDepths& depths, EndpointUser& user);
  ~SimEndpoint() override;
  SimEndpoint(const SimEndpoint&) = delete;
  SimEndpoint& operator=(const SimEndpoint&) = delete;

  [[nodiscard]] const rpc::PeerAddress& peer() const override { return peer_; }
  [[nodiscard]] Device& device() const override { return host_; }
  [[nodiscard]] std::uint32_t copied_max() const override { return copied_max_; }
  base::Result<void> start(const ConnectParameters& parameters) override;
  base::Result<void> post_receive(Work& work, const LocalPiece& to) override;
  std::size_t post(std::span<const Posting> postings) override;
  void disconnect() override;
  void take_back() override;

 private:
  friend class Host;
  friend class SimRequest;

  // Of an endpoint's life, in this order.
  enum class State : std::uint8_t {
    fresh,   // not yet started
    asking,  // the listener has been asked, or the other side has not yet heard that it agreed
    connected,
    ended,
  };
  struct Receive {
    Work* work;
    LocalPiece to;
  };
  struct Posted {
    Opcode opcode;
    std::vector<LocalPiece> local;
    RemoteKey key;
    std::uint64_t address;
    Work* work;                   // null: silent
    bool last;                    // of its chain
    std::uint32_t chain;          // requests of the chain
    std::uint64_t number;         // of the connection's requests
    std::vector<std::byte> copy;  // of a silent one: what `local` names then
    // With a link: how it ended, once the peer has said so.
    std::optional<WorkStatus> ended = std::nullopt;
  };

  // A posting that was refused in its middle: nothing completes it but take_back().
  struct Stranded {
    Work* work;
    std::uint32_t taken;
  };

  // Calls f on this endpoint from the ready queue, unless it is gone by then.
  void later(std::function<void()> f);
  void tell_established(const std::vector<std::byte>& private_data, std::uint32_t reads_out,
                        std::uint32_t reads_in);
  // Whether the device takes the next request of a posting.
  [[nodiscard]] bool takes(const Request& request);
  void push(const Posting& posting, const Request& request, std::uint32_t count, bool last);
  void push_silent(const Request& request);
  void retire_silent(WorkStatus status);
  void pump();
  void run_one();
  // With a link: a request goes on the wire, reaches the peer, has ended.
  void transmit_one();
  void arrive(std::uint64_t number);
  void execute_arrived();
  void ended(std::uint64_t number, WorkStatus status);
  void at(base::TimePoint when, std::function<void()> f);
  [[nodiscard]] std::uint64_t front_number() const { return next_number_ - requests_.size(); }
  Posted& request_of(std::uint64_t number) { return requests_[number - front_number()]; }
  [[nodiscard]] WorkStatus execute(const Posted& request, bool& waits);
  [[nodiscard]] WorkStatus send(const Posted& request, bool& waits);
  [[nodiscard]] WorkStatus transfer(const Posted& request);
  void count(const Posted& request);
  // The front request is over.
  void retire(WorkStatus status);
  void complete(Work& work, WorkStatus status, std::uint32_t bytes, std::uint32_t requests, bool receive);
  // The connection is over on this side: everything posted is flushed.
  void end();
  static void end_both(SimEndpoint& endpoint);

  Host& host_;
  const rpc::PeerAddress peer_;
  const QueueDepths depths_;
  EndpointUser& user_;
  State state_ = State::fresh;
  SimEndpoint* other_ = nullptr;  // the peer's end, once both exist
  std::uint16_t port_ = 0;        // of the listener to ask; 0: this end was asked
  std::deque<Receive> receives_;
  std::deque<Posted> requests_;
  std::vector<Stranded> stranded_;
  const std::uint32_t copied_max_;
  std::uint32_t requests_used_ = 0;  // of the queue, until their completion is delivered
  std::uint32_t silent_used_ = 0;    // of these, until that of a later one is
  std::uint32_t silent_done_ = 0;    // of these, executed since one completed that is not silent
  std::uint32_t reads_out_ = 0;
  std::uint32_t reads_max_ = 0;      // of ours at once, as agreed
  std::uint32_t reads_on_wire_ = 0;  // with a link, as are these three:
  std::uint64_t next_number_ = 0;    // of the next request to be posted
  std::uint64_t next_sent_ = 0;      // to go on the wire
  std::uint64_t next_executed_ = 0;  // to be executed by the peer
  std::uint64_t arrived_ = 0;        // requests that have reached the peer
  std::uint32_t receives_used_ = 0;
  bool pumping_ = false;
  bool taken_back_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

class SimListener final : public Listener {
 public:
  SimListener(Host& host, const rpc::PeerAddress& address, ListenerUser& user);
  ~SimListener() override;
  SimListener(const SimListener&) = delete;
  SimListener& operator=(const SimListener&) = delete;
  [[nodiscard]] const rpc::PeerAddress& address() const override { return address_; }

 private:
  friend class SimEndpoint;
  Fabric& fabric_;
  Host& host_;
  const rpc::PeerAddress address_;
  ListenerUser& user_;
};

class SimRequest final : public ConnectRequest {
 public:
  // `alive`: of `from`.
  SimRequest(Host& host, SimEndpoint& from, const ConnectParameters& parameters);
  ~SimRequest() override;
  SimRequest(const SimRequest&) = delete;
  SimRequest& operator=(const SimRequest&) = delete;
  [[nodiscard]] const rpc::PeerAddress& peer() const override { return address_; }
  [[nodiscard]] Device& device() const override { return host_; }
  [[nodiscard]] const ConnectParameters& offered() const override { return offered_; }
  void refuse(Refusal why) override;

 private:
  friend class Host;
  Host& host_;
  SimEndpoint* from_;
  std::shared_ptr<bool> from_alive_;
  rpc::PeerAddress address_;
  std::vector<std::byte> private_data_;
  ConnectParameters offered_;
};

}  // namespace braid::rdma::sim
