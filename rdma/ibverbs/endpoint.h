// Connections of librdmacm and their queue pairs.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "io/gate.h"
#include "io/reactor.h"
#include "rdma/ibverbs/completions.h"
#include "rdma/ibverbs/provider.h"

namespace braid::rdma::ibverbs {

// What an event of librdmacm is given to; the context of its identifier.
class EventTarget {
 public:
  virtual ~EventTarget() = default;
  // What of an event is needed once it has been acknowledged.
  struct Event {
    rdma_cm_event_type type;
    rdma_cm_id* id;  // of a connect request: the new one
    std::vector<std::byte> private_data;
    std::uint32_t reads_in = 0;   // that the peer answers
    std::uint32_t reads_out = 0;  // that it will have on their way
  };
  virtual void on_event(const Event& event) = 0;
};

struct DestroyId {
  void operator()(rdma_cm_id* id) const { ::rdma_destroy_id(id); }
};
using IdPointer = std::unique_ptr<rdma_cm_id, DestroyId>;

class IbVerbs final : public Verbs {
 public:
  static base::Result<std::unique_ptr<IbVerbs>> create(IbProvider& provider, io::Reactor& reactor);
  ~IbVerbs() override;
  IbVerbs(const IbVerbs&) = delete;
  IbVerbs& operator=(const IbVerbs&) = delete;

  base::Result<std::unique_ptr<Listener>> listen(const rpc::PeerAddress& address,
                                                 ListenerUser& user) override;
  base::Result<std::unique_ptr<Endpoint>> open(std::unique_ptr<ConnectRequest> request,
                                               const QueueDepths& depths, EndpointUser& user) override;
  base::Result<std::unique_ptr<Endpoint>> connect(const rpc::PeerAddress& to, const QueueDepths& depths,
                                                  EndpointUser& user) override;
  io::Op<> close() override;

  [[nodiscard]] io::Reactor& reactor() const { return reactor_; }
  [[nodiscard]] IbProvider& provider() const { return provider_; }
  // A queue of the device with room for so many requests, which is reserved. ENOSPC beyond what a queue of
  // the device can hold.
  base::Result<Completions*> completions_for(IbDevice& device, std::uint32_t requests, CompletionsUser& user);

 private:
  IbVerbs(IbProvider& provider, io::Reactor& reactor) : provider_(provider), reactor_(reactor) {}
  io::Op<> watch();
  void take_events();

  IbProvider& provider_;
  io::Reactor& reactor_;
  rdma_event_channel* channel_ = nullptr;
  std::map<IbDevice*, std::vector<std::unique_ptr<Completions>>> completions_;
  io::Gate gate_;
};

class IbRequest final : public ConnectRequest {
 public:
  IbRequest(IdPointer id, IbDevice& device, const EventTarget::Event& event);
  [[nodiscard]] const rpc::PeerAddress& peer() const override { return peer_; }
  [[nodiscard]] Device& device() const override { return device_; }
  [[nodiscard]] const ConnectParameters& offered() const override { return offered_; }
  void refuse(Refusal why) override;
  ~IbRequest() override;
  IbRequest(const IbRequest&) = delete;
  IbRequest& operator=(const IbRequest&) = delete;

 private:
  friend class IbVerbs;
  IdPointer id_;  // null once it has been taken over
  IbDevice& device_;
  const rpc::PeerAddress peer_;
  const std::vector<std::byte> private_data_;
  ConnectParameters offered_;
};

class IbListener final : public Listener, private EventTarget {
 public:
  IbListener(IbVerbs& verbs, ListenerUser& user) : verbs_(verbs), user_(user) {}
  base::Result<void> listen(rdma_event_channel* channel, const rpc::PeerAddress& address);
  [[nodiscard]] const rpc::PeerAddress& address() const override { return address_; }

 private:
  void on_event(const Event& event) override;

  IbVerbs& verbs_;
  ListenerUser& user_;
  IdPointer id_;
  rpc::PeerAddress address_;
};

class IbEndpoint final : public Endpoint, private EventTarget, private CompletionsUser {
 public:
  IbEndpoint(IbVerbs& verbs, const rpc::PeerAddress& peer, const QueueDepths& depths, EndpointUser& user);
  ~IbEndpoint() override;
  IbEndpoint(const IbEndpoint&) = delete;
  IbEndpoint& operator=(const IbEndpoint&) = delete;

  // Of a peer that asked.
  base::Result<void> take(IdPointer id, IbDevice& device);
  // Of a peer to be asked.
  base::Result<void> resolve(rdma_event_channel* channel);

  [[nodiscard]] const rpc::PeerAddress& peer() const override { return peer_; }
  [[nodiscard]] Device& device() const override { return *device_; }
  [[nodiscard]] std::uint32_t copied_max() const override { return copied_max_; }
  base::Result<void> start(const ConnectParameters& parameters) override;
  base::Result<void> post_receive(Work& work, const LocalPiece& to) override;
  std::size_t post(std::span<const Posting> postings) override;
  void disconnect() override;
  void take_back() override;

 private:
  void on_event(const Event& event) override;
  void on_completions_lost() override { disconnect(); }
  [[nodiscard]] bool has_queue_pair(std::uint32_t number) const override;
  void on_silent_failed(WorkStatus status) override;
  base::Result<void> make_queues(IbDevice& device);
  void resolved();
  void translate(const Posting& posting);
  // The device took so many requests of the postings; returns how many postings count as taken.
  std::size_t keep(std::span<const Posting> postings, std::size_t requests);
  // Says that it is over, from the ready queue, once.
  void end();
  static void say_ended(void* self);

  IbVerbs& verbs_;
  const rpc::PeerAddress peer_;
  const QueueDepths depths_;
  EndpointUser& user_;
  IdPointer id_;
  IbDevice* device_ = nullptr;
  Completions* completions_ = nullptr;  // null: there never was a queue pair
  std::uint32_t copied_max_ = 0;
  WorkList posted_;
  bool asks_ = false;  // the connection is ours
  bool ended_ = false;
  bool saying_ = false;                // say_ended() is in the ready queue
  std::vector<ibv_send_wr> requests_;  // being posted
  std::vector<ibv_sge> pieces_;
};

}  // namespace braid::rdma::ibverbs
