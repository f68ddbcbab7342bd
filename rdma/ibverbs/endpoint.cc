#include "rdma/ibverbs/endpoint.h"

#include <fcntl.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "rpc/socket_address.h"

namespace braid::rdma::ibverbs {
namespace {

constexpr int listen_backlog = 128;
constexpr int resolve_ms = 2000;
// Entries of a thread's first completion queue on a device, and of the largest. A connection needs 672.
constexpr std::uint32_t first_completions = 2048;
constexpr std::uint32_t completions_max = 32768;
// Bytes of a send that the device is asked to copy as it is posted: enough for most replies without data. A
// device that cannot copy as many refuses the queue pair without telling how many it can.
constexpr std::array<std::uint32_t, 5> copied_wanted{512, 256, 128, 64, 0};
// The largest numbers that there are; as a count of RNR retries this one means "for ever"
// (InfiniBand 9.7.5.2.8).
constexpr std::uint8_t retries_max = 7;

rpc::PeerAddress address_of(const sockaddr* address) {
  sockaddr_storage storage{};
  std::memcpy(&storage, address, address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  return rpc::from_socket_address(storage);
}

std::uint8_t byte_of(std::uint32_t count) { return static_cast<std::uint8_t>(std::min(count, 255U)); }

rdma_conn_param to_system(const ConnectParameters& parameters) {
  rdma_conn_param out{};
  out.private_data = parameters.private_data.data();
  out.private_data_len = static_cast<std::uint8_t>(parameters.private_data.size());
  out.initiator_depth = byte_of(parameters.reads_out);
  out.responder_resources = byte_of(parameters.reads_in);
  out.retry_count = retries_max;
  out.rnr_retry_count = retries_max;
  return out;
}

// In an event the depths are those of this side: what it may start, what it has to answer.
EventTarget::Event copy_of(const rdma_cm_event& event) {
  EventTarget::Event out{.type = event.event, .id = event.id, .private_data = {}};
  const rdma_conn_param& connection = event.param.conn;
  if (connection.private_data != nullptr) {
    const auto* data = static_cast<const std::byte*>(connection.private_data);
    out.private_data.assign(data, data + connection.private_data_len);
  }
  out.reads_in = connection.initiator_depth;
  out.reads_out = connection.responder_resources;
  return out;
}

ibv_wr_opcode opcode_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::send:
      return IBV_WR_SEND;
    case Opcode::send_invalidate:
      return IBV_WR_SEND_WITH_INV;
    case Opcode::write:
      return IBV_WR_RDMA_WRITE;
    case Opcode::read:
      return IBV_WR_RDMA_READ;
  }
  return IBV_WR_SEND;
}

ibv_sge piece_of(const LocalPiece& piece) {
  return {
      .addr = reinterpret_cast<std::uintptr_t>(piece.data), .length = piece.bytes, .lkey = piece.key.value()};
}

// InfiniBand 12.7.2: the reason is 28, consumer reject; what it means is in the private data.
void reject(rdma_cm_id* id, Refusal why) {
  const std::string_view words = name_of(why);
  ::rdma_reject(id, words.data(), static_cast<std::uint8_t>(words.size()));
}

}  // namespace

base::Result<std::unique_ptr<IbVerbs>> IbVerbs::create(IbProvider& provider, io::Reactor& reactor) {
  std::unique_ptr<IbVerbs> verbs(new IbVerbs(provider, reactor));
  verbs->channel_ = ::rdma_create_event_channel();
  if (verbs->channel_ == nullptr) return base::fail(base::last_errno());
  if (::fcntl(verbs->channel_->fd, F_SETFL, O_NONBLOCK) != 0) return base::fail(base::last_errno());
  io::spawn(verbs->gate_, verbs->watch());
  return verbs;
}

IbVerbs::~IbVerbs() {
  completions_.clear();
  if (channel_ != nullptr) ::rdma_destroy_event_channel(channel_);
}

io::Op<> IbVerbs::close() {
  gate_.close();
  reactor_.cancel_fd(channel_->fd);
  co_await gate_.drained();
  for (const auto& [device, all] : completions_)
    for (const auto& completions : all) co_await completions->close();
}

io::Op<> IbVerbs::watch() {
  while (!gate_.closed()) {
    (void)co_await reactor_.readable(channel_->fd);
    take_events();
  }
}

// An event is acknowledged before it is acted on: its identifier can be destroyed only then.
void IbVerbs::take_events() {
  rdma_cm_event* event = nullptr;
  while (::rdma_get_cm_event(channel_, &event) == 0) {
    const EventTarget::Event copy = copy_of(*event);
    const bool request = event->event == RDMA_CM_EVENT_CONNECT_REQUEST;
    auto* target = static_cast<EventTarget*>(request ? event->listen_id->context : event->id->context);
    ::rdma_ack_cm_event(event);
    if (target != nullptr) target->on_event(copy);
  }
}

base::Result<Completions*> IbVerbs::completions_for(IbDevice& device, std::uint32_t requests,
                                                    CompletionsUser& user) {
  const auto most = static_cast<std::uint32_t>(device.completions_max());
  if (requests > most) return base::fail(ENOSPC);
  auto& all = completions_[&device];
  for (const auto& completions : all)
    if (completions->reserve(requests, user)) return completions.get();
  // Each is twice the one before, so that a server with few clients has a small one and with many has few.
  const std::uint32_t wanted =
      all.empty() ? first_completions : std::min(all.back()->size() * 2, completions_max);
  auto made = Completions::create(reactor_, device, std::min(most, std::max(wanted, requests)));
  if (!made) return base::fail(made.error());
  Completions* completions = all.emplace_back(std::move(*made)).get();
  base::check(completions->reserve(requests, user), "a new queue has room");
  return completions;
}

base::Result<std::unique_ptr<Listener>> IbVerbs::listen(const rpc::PeerAddress& address, ListenerUser& user) {
  auto listener = std::make_unique<IbListener>(*this, user);
  if (auto done = listener->listen(channel_, address); !done) return base::fail(done.error());
  return listener;
}

base::Result<std::unique_ptr<Endpoint>> IbVerbs::open(std::unique_ptr<ConnectRequest> request,
                                                      const QueueDepths& depths, EndpointUser& user) {
  auto& asked = static_cast<IbRequest&>(*request);
  auto endpoint = std::make_unique<IbEndpoint>(*this, asked.peer(), depths, user);
  // Its events come to this thread from now on.
  if (::rdma_migrate_id(asked.id_.get(), channel_) != 0) {
    const base::Errno error = base::last_errno();
    asked.refuse(Refusal::no_resources);
    return base::fail(error);
  }
  if (auto taken = endpoint->take(std::move(asked.id_), asked.device_); !taken)
    return base::fail(taken.error());
  return endpoint;
}

base::Result<std::unique_ptr<Endpoint>> IbVerbs::connect(const rpc::PeerAddress& to,
                                                         const QueueDepths& depths, EndpointUser& user) {
  auto endpoint = std::make_unique<IbEndpoint>(*this, to, depths, user);
  if (auto begun = endpoint->resolve(channel_); !begun) return base::fail(begun.error());
  return endpoint;
}

IbRequest::IbRequest(IdPointer id, IbDevice& device, const EventTarget::Event& event)
    : id_(std::move(id)),
      device_(device),
      peer_(address_of(::rdma_get_peer_addr(id_.get()))),
      private_data_(event.private_data),
      offered_{private_data_, event.reads_out, event.reads_in} {}

IbRequest::~IbRequest() {
  if (id_) ::rdma_reject(id_.get(), nullptr, 0);
}

void IbRequest::refuse(Refusal why) { reject(std::exchange(id_, nullptr).get(), why); }

base::Result<void> IbListener::listen(rdma_event_channel* channel, const rpc::PeerAddress& address) {
  rdma_cm_id* id = nullptr;
  if (::rdma_create_id(channel, &id, static_cast<EventTarget*>(this), RDMA_PS_TCP) != 0)
    return base::fail(base::last_errno());
  id_.reset(id);
  rpc::SocketAddress local = rpc::to_socket_address(address);
  if (::rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&local.storage)) != 0)
    return base::fail(base::last_errno());
  if (::rdma_listen(id, listen_backlog) != 0) return base::fail(base::last_errno());
  address_ = address;
  address_.port = __builtin_bswap16(::rdma_get_src_port(id));
  return {};
}

void IbListener::on_event(const Event& event) {
  if (event.type != RDMA_CM_EVENT_CONNECT_REQUEST) return;
  IdPointer id(event.id);
  id->context = nullptr;
  IbDevice* device = verbs_.provider().find(id->verbs);
  if (device == nullptr) return reject(id.get(), Refusal::no_resources);
  user_.on_request(std::make_unique<IbRequest>(std::move(id), *device, event));
}

IbEndpoint::IbEndpoint(IbVerbs& verbs, const rpc::PeerAddress& peer, const QueueDepths& depths,
                       EndpointUser& user)
    : verbs_(verbs), peer_(peer), depths_(depths), user_(user) {}

IbEndpoint::~IbEndpoint() {
  base::check(!saying_, "an endpoint ends when its user knows");
  if (completions_ == nullptr) return;
  if (id_->qp != nullptr) ::rdma_destroy_qp(id_.get());
  completions_->release(depths_.receives + depths_.requests, *this);
}

base::Result<void> IbEndpoint::take(IdPointer id, IbDevice& device) {
  id_ = std::move(id);
  id_->context = static_cast<EventTarget*>(this);
  auto made = make_queues(device);
  if (!made) reject(id_.get(), Refusal::no_resources);
  return made;
}

base::Result<void> IbEndpoint::resolve(rdma_event_channel* channel) {
  asks_ = true;
  rdma_cm_id* id = nullptr;
  if (::rdma_create_id(channel, &id, static_cast<EventTarget*>(this), RDMA_PS_TCP) != 0)
    return base::fail(base::last_errno());
  id_.reset(id);
  rpc::SocketAddress to = rpc::to_socket_address(peer_);
  if (::rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&to.storage), resolve_ms) != 0)
    return base::fail(base::last_errno());
  return {};
}

base::Result<void> IbEndpoint::make_queues(IbDevice& device) {
  device_ = &device;
  const std::uint32_t requests = depths_.receives + depths_.requests;
  auto completions = verbs_.completions_for(device, requests, *this);
  if (!completions) return base::fail(completions.error());
  ibv_qp_init_attr attributes{};
  attributes.send_cq = (*completions)->queue();
  attributes.recv_cq = (*completions)->queue();
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap.max_send_wr = depths_.requests;
  attributes.cap.max_recv_wr = depths_.receives;
  attributes.cap.max_send_sge = device.limits().pieces_max;
  attributes.cap.max_recv_sge = 1;
  for (const std::uint32_t copied : copied_wanted) {
    attributes.cap.max_inline_data = copied;
    if (::rdma_create_qp(id_.get(), device.domain(), &attributes) != 0) continue;
    copied_max_ = std::min(copied, attributes.cap.max_inline_data);
    completions_ = *completions;
    return {};
  }
  const base::Errno error = base::last_errno();
  (*completions)->release(requests, *this);
  return base::fail(error);
}

base::Result<void> IbEndpoint::start(const ConnectParameters& parameters) {
  rdma_conn_param system = to_system(parameters);
  const int result = asks_ ? ::rdma_connect(id_.get(), &system) : ::rdma_accept(id_.get(), &system);
  if (result != 0) return base::fail(base::last_errno());
  return {};
}

base::Result<void> IbEndpoint::post_receive(Work& work, const LocalPiece& to) {
  if (id_->qp == nullptr) return base::fail(ENOTCONN);
  ibv_sge piece = piece_of(to);
  ibv_recv_wr request{};
  request.wr_id = number_of(work, false);
  request.sg_list = &piece;
  request.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  if (const int error = ::ibv_post_recv(id_->qp, &request, &bad); error != 0)
    return base::fail(std::abs(error));  // some drivers return it negative
  posted_.add(work);
  return {};
}

std::size_t IbEndpoint::post(std::span<const Posting> postings) {
  if (id_->qp == nullptr) return 0;
  std::size_t requests = 0;
  std::size_t pieces = 0;
  for (const Posting& posting : postings) {
    requests += posting.chain.size();
    for (const Request& request : posting.chain) pieces += request.local.size();
  }
  requests_.clear();
  pieces_.clear();
  requests_.reserve(requests);  // so that they do not move
  pieces_.reserve(pieces);
  for (const Posting& posting : postings) translate(posting);
  for (std::size_t i = 1; i < requests; ++i) requests_[i - 1].next = &requests_[i];
  ibv_send_wr* bad = nullptr;
  const int error = ::ibv_post_send(id_->qp, requests_.data(), &bad);
  if (error == 0) return keep(postings, requests);
  base::log_event(base::Level::info, "rdma_post_refused", "peer={} error=\"{}\"", peer_.text(),
                  base::message_of(base::errno_of(std::abs(error))));
  if (bad != nullptr) return keep(postings, static_cast<std::size_t>(bad - requests_.data()));
  // The requests are in the queue, but the device could not be told of them.
  disconnect();
  return keep(postings, requests);
}

std::size_t IbEndpoint::keep(std::span<const Posting> postings, std::size_t requests) {
  std::size_t taken = 0;
  while (requests > 0) {
    const Posting& posting = postings[taken++];
    if (!posting.silent) posted_.add(*posting.work);
    if (requests >= posting.chain.size()) {
      requests -= posting.chain.size();
      continue;
    }
    // Only the end of a chain says that it has completed, and the device does not have this one's.
    posting.work->failed(WorkStatus::local_error);
    disconnect();
    break;
  }
  return taken;
}

void IbEndpoint::translate(const Posting& posting) {
  for (const Request& from : posting.chain) {
    const bool last = &from == &posting.chain.back();
    ibv_send_wr& to = requests_.emplace_back();
    to.wr_id = posting.silent ? silent_number : number_of(*posting.work, !last);
    to.sg_list = pieces_.data() + pieces_.size();
    to.num_sge = static_cast<int>(from.local.size());
    to.opcode = opcode_of(from.opcode);
    to.send_flags = posting.silent ? IBV_SEND_INLINE : last ? IBV_SEND_SIGNALED : 0;
    if (from.opcode == Opcode::send_invalidate) {
      to.invalidate_rkey = from.key.value();
    } else {
      to.wr.rdma.remote_addr = from.address;
      to.wr.rdma.rkey = from.key.value();
    }
    for (const LocalPiece& piece : from.local) pieces_.push_back(piece_of(piece));
  }
}

bool IbEndpoint::has_queue_pair(std::uint32_t number) const {
  return id_->qp != nullptr && id_->qp->qp_num == number;
}

void IbEndpoint::on_silent_failed(WorkStatus status) {
  disconnect();
  user_.on_silent_failure(status);
}

void IbEndpoint::disconnect() {
  // Not yet connected: no event will come, but what is posted has to be flushed all the same.
  if (::rdma_disconnect(id_.get()) != 0 && id_->qp != nullptr) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    if (const int error = ::ibv_modify_qp(id_->qp, &attributes, IBV_QP_STATE); error != 0)
      base::log_event(base::Level::warning, "rdma_flush_failed", "peer={} error=\"{}\"", peer_.text(),
                      base::message_of(base::errno_of(std::abs(error))));
  }
  end();
}

void IbEndpoint::take_back() {
  if (id_->qp == nullptr) return;
  // InfiniBand 10.2.4.2: once the queue pair is destroyed the device completes nothing of it any more.
  if (const int error = ::ibv_destroy_qp(id_->qp); error != 0) {
    base::log_event(base::Level::error, "rdma_queue_kept", "peer={} error=\"{}\"", peer_.text(),
                    base::message_of(base::errno_of(std::abs(error))));
    return;
  }
  id_->qp = nullptr;
  completions_->take_all();
  posted_.finish_all(WorkStatus::flushed);
}

void IbEndpoint::end() {
  if (std::exchange(ended_, true)) return;
  verbs_.reactor().ready_queue().push({say_ended, this});
  saying_ = true;
}

void IbEndpoint::say_ended(void* self) {
  auto* endpoint = static_cast<IbEndpoint*>(self);
  endpoint->saying_ = false;
  endpoint->user_.on_disconnected();
}

void IbEndpoint::resolved() {
  IbDevice* device = verbs_.provider().find(id_->verbs);
  if (device == nullptr || !make_queues(*device)) return end();
  user_.on_resolved();
}

void IbEndpoint::on_event(const Event& event) {
  switch (event.type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      if (::rdma_resolve_route(id_.get(), resolve_ms) != 0) end();
      return;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      return resolved();
    case RDMA_CM_EVENT_ESTABLISHED:
      return user_.on_established({event.private_data, event.reads_out, event.reads_in});
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
      return;
    case RDMA_CM_EVENT_REJECTED:
      user_.on_refused(event.private_data);
      return disconnect();
    default:
      // Unreachable, disconnected, or the device is gone.
      base::log_event(base::Level::debug, "rdma_event", "peer={} event={}", peer_.text(),
                      ::rdma_event_str(event.type));
      return disconnect();
  }
}

}  // namespace braid::rdma::ibverbs
