// Two connections in one thread that are each other's peer: RPC without sockets, for tests.
#pragma once

#include <deque>
#include <memory>

#include "base/clock.h"
#include "io/pipe.h"
#include "io/ready_queue.h"
#include "rpc/transport.h"

namespace braid::rpc {

// Belongs to one thread, whose ReadyQueue delivers the messages. The pair ends when both ends have told their
// receivers; it must have ended, and the queue been run, before it is destroyed.
class MemoryPair {
 public:
  MemoryPair(const PeerAddress& client, const PeerAddress& server, const base::Clock& clock);
  ~MemoryPair();
  MemoryPair(const MemoryPair&) = delete;
  MemoryPair& operator=(const MemoryPair&) = delete;

  // Each end before its receiver is known: messages wait.
  [[nodiscard]] Connection& client_end();
  [[nodiscard]] Connection& server_end();
  void set_client_receiver(Receiver& receiver);
  void set_server_receiver(Receiver& receiver);
  // Whether both receivers have been told that it is over.
  [[nodiscard]] bool ended() const;

 private:
  class End;
  std::unique_ptr<End> client_;
  std::unique_ptr<End> server_;
};

}  // namespace braid::rpc
