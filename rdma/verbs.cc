#include "rdma/verbs.h"

namespace braid::rdma {

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
