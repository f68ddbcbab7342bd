#include "tests/unit/rdma/fake_rdma_core.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace braid::rdma::test {
namespace {

FakeRdma* fake = nullptr;

void signal(int fd) { (void)::eventfd_write(fd, 1); }

void complete(const FakePair& pair, std::uint64_t number, ibv_wc_status status) {
  auto& queue = *static_cast<FakeQueue*>(pair.send_cq);
  ibv_wc one{};
  one.wr_id = number;
  one.qp_num = pair.qp_num;
  one.status = status;
  queue.completed.push_back(one);
  if (std::exchange(queue.armed, false)) signal(queue.channel->fd);
}

int poll_queue(ibv_cq* of, int most, ibv_wc* out) {
  auto& queue = *static_cast<FakeQueue*>(of);
  int count = 0;
  for (; count < most && !queue.completed.empty(); ++count) {
    out[count] = queue.completed.front();
    queue.completed.pop_front();
  }
  return count;
}

int arm_queue(ibv_cq* of, int) {
  if (!static_cast<FakeDevice*>(of->context)->notifies) return EIO;
  static_cast<FakeQueue*>(of)->armed = true;
  return 0;
}

int post_send(ibv_qp* to, ibv_send_wr* request, ibv_send_wr** bad) {
  auto& pair = *static_cast<FakePair*>(to);
  auto& device = *static_cast<FakeDevice*>(to->context);
  for (; request != nullptr; request = request->next) {
    if (device.takes == 0) {
      *bad = request;
      return EINVAL;
    }
    if (device.takes > 0) --device.takes;
    pair.posted.push_back({request->wr_id, false, request->opcode, request->send_flags});
  }
  return 0;
}

int post_receive(ibv_qp* to, ibv_recv_wr* request, ibv_recv_wr**) {
  static_cast<FakePair*>(to)->posted.push_back({request->wr_id, true, IBV_WR_SEND, 0});
  return 0;
}

}  // namespace

FakeDevice::FakeDevice() : ibv_context{} {
  device = &description;
  description.transport_type = IBV_TRANSPORT_IB;
  ops.poll_cq = poll_queue;
  ops.req_notify_cq = arm_queue;
  ops.post_send = post_send;
  ops.post_recv = post_receive;
  attributes.max_qp_wr = 1024;
  attributes.max_sge = 16;
  attributes.max_qp_rd_atom = 16;
  attributes.max_qp_init_rd_atom = 16;
  attributes.max_cqe = 4096;
  async_fd = ::eventfd(0, 0);
}

FakeDevice::~FakeDevice() { ::close(async_fd); }

void FakeDevice::tell(ibv_event_type type, int port) {
  ibv_async_event event{};
  event.event_type = type;
  event.element.port_num = port;
  told.push_back(event);
  signal(async_fd);
}

void FakeDevice::vanish() {
  vanished = true;
  signal(async_fd);
}

void FakeDevice::flush(FakePair& pair) {
  for (const FakePair::Posted& one : std::exchange(pair.posted, {}))
    complete(pair, one.number, IBV_WC_WR_FLUSH_ERR);
}

void FakeDevice::fail(FakePair& pair, ibv_wc_status status) {
  const FakePair::Posted first = pair.posted.front();
  pair.posted.erase(pair.posted.begin());
  complete(pair, first.number, status);
  flush(pair);
}

FakeRdma::FakeRdma() {
  channel.fd = ::eventfd(0, EFD_NONBLOCK);
  fake = this;
}

FakeRdma::~FakeRdma() {
  fake = nullptr;
  ::close(channel.fd);
}

void FakeRdma::ask(FakeDevice& device) {
  auto* id = new rdma_cm_id{};
  id->verbs = &device;
  id->route.addr.dst_addr.sa_family = AF_INET;
  auto* event = new rdma_cm_event{};
  event->event = RDMA_CM_EVENT_CONNECT_REQUEST;
  event->listen_id = listener;
  event->id = id;
  events.push_back(event);
  signal(channel.fd);
}

}  // namespace braid::rdma::test

using namespace braid::rdma::test;  // NOLINT(google-build-using-namespace): all below is of the fake

extern "C" {

ibv_context** rdma_get_devices(int* count) {
  auto** all = new ibv_context*[fake->devices.size() + 1]();
  std::ranges::transform(fake->devices, all, [](const auto& device) { return device.get(); });
  *count = static_cast<int>(fake->devices.size());
  return all;
}
void rdma_free_devices(ibv_context** all) { delete[] all; }

rdma_event_channel* rdma_create_event_channel() { return &fake->channel; }
void rdma_destroy_event_channel(rdma_event_channel*) {}
int rdma_get_cm_event(rdma_event_channel*, rdma_cm_event** event) {
  eventfd_t count = 0;
  (void)::eventfd_read(fake->channel.fd, &count);
  if (fake->events.empty()) return -1;
  *event = fake->events.front();
  fake->events.pop_front();
  return 0;
}
int rdma_ack_cm_event(rdma_cm_event* event) {
  delete event;
  return 0;
}

int rdma_create_id(rdma_event_channel*, rdma_cm_id** id, void* context, rdma_port_space) {
  *id = new rdma_cm_id{};
  (*id)->context = context;
  return 0;
}
int rdma_destroy_id(rdma_cm_id* id) {
  delete id;
  return 0;
}
int rdma_migrate_id(rdma_cm_id*, rdma_event_channel*) { return 0; }
int rdma_bind_addr(rdma_cm_id*, sockaddr*) { return 0; }
__be16 rdma_get_src_port(rdma_cm_id*) { return 0; }
int rdma_listen(rdma_cm_id* id, int) {
  fake->listener = id;
  return 0;
}
int rdma_accept(rdma_cm_id*, rdma_conn_param*) { return 0; }
int rdma_reject(rdma_cm_id*, const void* data, std::uint8_t bytes) {
  fake->refusals.emplace_back(static_cast<const char*>(data), bytes);
  return 0;
}
int rdma_disconnect(rdma_cm_id* id) {
  if (id->qp == nullptr) return 0;
  auto& device = *static_cast<FakeDevice*>(id->verbs);
  if (device.flushes) device.flush(*static_cast<FakePair*>(id->qp));
  return 0;
}

int rdma_create_qp(rdma_cm_id* id, ibv_pd*, ibv_qp_init_attr* attributes) {
  auto& device = *static_cast<FakeDevice*>(id->verbs);
  if (attributes->cap.max_inline_data > device.copies) {
    errno = EINVAL;
    return -1;
  }
  auto* pair = new FakePair{};
  pair->context = id->verbs;
  pair->send_cq = attributes->send_cq;
  pair->qp_num = ++device.pairs_made;
  device.pairs.push_back(pair);
  id->qp = pair;
  return 0;
}
int ibv_destroy_qp(ibv_qp* qp) {
  auto& device = *static_cast<FakeDevice*>(qp->context);
  if (!device.destroys) return EBUSY;
  auto* pair = static_cast<FakePair*>(qp);
  std::erase(device.pairs, pair);
  delete pair;
  return 0;
}
void rdma_destroy_qp(rdma_cm_id* id) {
  (void)ibv_destroy_qp(id->qp);
  id->qp = nullptr;
}
int ibv_modify_qp(ibv_qp*, ibv_qp_attr*, int) { return 0; }

const char* ibv_get_device_name(ibv_device*) { return "fake0"; }
ibv_pd* ibv_alloc_pd(ibv_context* context) {
  errno = EIO;
  return static_cast<FakeDevice*>(context)->usable ? new ibv_pd{} : nullptr;
}
int ibv_dealloc_pd(ibv_pd* domain) {
  delete domain;
  return 0;
}
int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  const auto& device = *static_cast<FakeDevice*>(context);
  *attributes = device.attributes;
  attributes->phys_port_cnt = static_cast<std::uint8_t>(device.ports.size());
  return 0;
}
// In the header it is a macro, too.
int(ibv_query_port)(ibv_context* context, std::uint8_t number, _compat_ibv_port_attr* attributes) {
  const auto& device = *static_cast<FakeDevice*>(context);
  if (device.vanished) return EIO;
  reinterpret_cast<ibv_port_attr*>(attributes)->state = device.ports.at(number - 1U);
  return 0;
}
int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  auto& device = *static_cast<FakeDevice*>(context);
  ++device.asked;
  if (!device.told.empty()) {
    *event = device.told.front();
    device.told.pop_front();
    return 0;
  }
  if (device.vanished) {
    errno = EIO;
    return -1;
  }
  eventfd_t count = 0;
  return ::eventfd_read(device.async_fd, &count) == 0 ? ibv_get_async_event(context, event) : -1;
}
void ibv_ack_async_event(ibv_async_event*) { ++fake->acknowledged; }

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  auto* channel = new ibv_comp_channel{};
  channel->context = context;
  channel->fd = ::eventfd(0, EFD_NONBLOCK);
  return channel;
}
int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  ::close(channel->fd);
  delete channel;
  return 0;
}
ibv_cq* ibv_create_cq(ibv_context* context, int size, void*, ibv_comp_channel* channel, int) {
  auto* queue = new FakeQueue{};
  queue->context = context;
  queue->channel = channel;
  queue->size = static_cast<std::uint32_t>(size);
  static_cast<FakeDevice*>(context)->queues.push_back(queue);
  return queue;
}
int ibv_destroy_cq(ibv_cq* cq) {
  auto* queue = static_cast<FakeQueue*>(cq);
  std::erase(static_cast<FakeDevice*>(cq->context)->queues, queue);
  delete queue;
  return 0;
}
int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq**, void**) {
  eventfd_t count = 0;
  return ::eventfd_read(channel->fd, &count);
}
void ibv_ack_cq_events(ibv_cq*, unsigned) {}

}  // extern "C"
