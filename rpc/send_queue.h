// What a connection has still to send: ranges of slabs in order, and bytes in pipes between them.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <vector>

#include "io/payload.h"
#include "io/pipe.h"

namespace braid::rpc {

// Belongs to one thread. Unlike a Payload it is cheap to shorten at its front.
class SendQueue {
 public:
  // Bytes that lie side by side in one slab become one range.
  void append(const io::Payload& bytes);
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // The pipe that the first bytes are in, and how many; null when they are in memory.
  struct Piped {
    io::Pipe* pipe = nullptr;
    std::size_t bytes = 0;
  };
  [[nodiscard]] Piped front_pipe() const;
  // Fills `out` with the first ranges, up to one in a pipe; returns how many entries were used.
  [[nodiscard]] std::size_t iovecs(std::span<iovec> out) const;
  // The first `bytes` have been sent.
  void consume(std::size_t bytes);
  void clear();

 private:
  std::vector<io::SlabRange> ranges_;
  std::size_t head_ = 0;  // ranges before it have been sent
  std::size_t size_ = 0;
};

}  // namespace braid::rpc
