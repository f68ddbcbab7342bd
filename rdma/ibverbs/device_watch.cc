#include "rdma/ibverbs/device_watch.h"

#include <fcntl.h>

#include <cerrno>

namespace braid::rdma::ibverbs {
namespace {

DeviceEvent event_of(const ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_PORT_ACTIVE:
      return {DeviceEvent::Kind::port_up, static_cast<unsigned>(event.element.port_num)};
    case IBV_EVENT_PORT_ERR:
      return {DeviceEvent::Kind::port_down, static_cast<unsigned>(event.element.port_num)};
    case IBV_EVENT_DEVICE_FATAL:
      return {DeviceEvent::Kind::device_failed};
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_WQ_FATAL:
      return {DeviceEvent::Kind::queue_failed};
    default:
      return {DeviceEvent::Kind::other};
  }
}

}  // namespace

base::Result<std::unique_ptr<IbDeviceWatch>> IbDeviceWatch::create(
    std::span<const std::unique_ptr<IbDevice>> devices, io::Reactor& reactor, DeviceUser& user) {
  std::unique_ptr<IbDeviceWatch> watch(new IbDeviceWatch(reactor, user));
  for (const auto& device : devices) {
    if (::fcntl(device->context()->async_fd, F_SETFL, O_NONBLOCK) != 0) return base::fail(base::last_errno());
    watch->devices_.push_back(device.get());
  }
  for (const IbDevice* device : watch->devices_) io::spawn(watch->gate_, watch->listen(*device));
  return watch;
}

io::Op<> IbDeviceWatch::close() {
  gate_.close();
  for (const IbDevice* device : devices_) reactor_.cancel_fd(device->context()->async_fd);
  co_await gate_.drained();
}

io::Op<> IbDeviceWatch::listen(const IbDevice& device) {
  while (!gate_.closed()) {
    const auto ready = co_await reactor_.readable(device.context()->async_fd);
    if (!ready || !take_events(device)) co_return;
  }
}

// Acknowledged before it is told: whose queue it is of can be destroyed only then.
bool IbDeviceWatch::take_events(const IbDevice& device) {
  ibv_async_event event{};
  while (::ibv_get_async_event(device.context(), &event) == 0) {
    const DeviceEvent copy = event_of(event);
    ::ibv_ack_async_event(&event);
    user_.on_device_event(device, copy);
  }
  // Of a device that was taken away (EIO) the descriptor would be readable for ever.
  return errno == EAGAIN || errno == EINTR;
}

}  // namespace braid::rdma::ibverbs
