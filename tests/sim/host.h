// A server that connections lead to.
#pragma once

#include <cstdint>

#include "rpc/transport.h"

namespace braid::sim {

// As long as it lives, one process: from its start to its death.
class Host {
 public:
  virtual ~Host() = default;
  // 1 for the first process of this server, and so on.
  [[nodiscard]] virtual std::uint32_t life() const = 0;
  [[nodiscard]] virtual rpc::Acceptor& acceptor() = 0;
};

}  // namespace braid::sim
