#include "rdma/verbs.h"

namespace braid::rdma {

std::string_view name_of(WorkStatus status) {
  switch (status) {
    case WorkStatus::success:
      return "success";
    case WorkStatus::flushed:
      return "flushed";
    case WorkStatus::local_error:
      return "local error";
    case WorkStatus::remote_access:
      return "remote access error";
    case WorkStatus::remote_invalid:
      return "remote invalid request";
    case WorkStatus::unanswered:
      return "no acknowledgement";
    case WorkStatus::not_received:
      return "receiver not ready";
    case WorkStatus::fatal:
      return "device error";
  }
  return "unknown";
}

std::string_view name_of(Refusal why) {
  switch (why) {
    case Refusal::connections_max:
      return "connections_max";
    case Refusal::no_resources:
      return "no_resources";
    case Refusal::draining:
      return "draining";
  }
  return "unknown";
}

}  // namespace braid::rdma
