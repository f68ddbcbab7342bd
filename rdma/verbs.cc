#include "rdma/verbs.h"

namespace braid::rdma {

std::string_view name_of(Refusal why) {
  switch (why) {
    case Refusal::connections_max:
      return "connections_max";
    case Refusal::address_share:
      return "address_share";
    case Refusal::no_resources:
      return "no_resources";
    case Refusal::draining:
      return "draining";
  }
  return "unknown";
}

std::string_view name_of(Port::State state) {
  switch (state) {
    case Port::State::down:
      return "down";
    case Port::State::initializing:
      return "initializing";
    case Port::State::armed:
      return "armed";
    case Port::State::active:
      return "active";
  }
  return "unknown";
}

std::string_view name_of(DeviceEvent::Kind kind) {
  switch (kind) {
    case DeviceEvent::Kind::port_up:
      return "port_up";
    case DeviceEvent::Kind::port_down:
      return "port_down";
    case DeviceEvent::Kind::device_failed:
      return "device_failed";
    case DeviceEvent::Kind::queue_failed:
      return "queue_failed";
    case DeviceEvent::Kind::other:
      return "other";
  }
  return "unknown";
}

}  // namespace braid::rdma
