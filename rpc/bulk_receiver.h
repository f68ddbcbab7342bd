// The bulk data of a long record, on its way from the socket into a pipe (io/pipe.h): what a file system can
// take from there needs no copy into memory of ours.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "io/payload.h"
#include "io/pipe.h"
#include "io/slab.h"

namespace braid::rpc {

// Of one connection; belongs to its thread.
class BulkReceiver {
 public:
  // Less is not worth a pipe.
  static constexpr std::size_t bytes_min = 128 * base::KiB;

  // The next `bytes` of the stream are to go through a pipe. Without effect where there is none to be had, or
  // where the network lately delivered pieces too small for one.
  void begin(io::PipePool& pipes, std::size_t bytes);
  [[nodiscard]] bool active() const { return left_ > 0; }
  // What has come; EAGAIN when nothing has, ENOBUFS when the rest has to be received in memory. An empty
  // range is the end of the stream.
  base::Result<io::SlabRange> receive(int socket);
  // The record has ended, or the connection has.
  void end();

 private:
  io::SlabRef pipe_;
  std::size_t left_ = 0;
  std::size_t taken_ = 0;  // through the pipe
  // After a pipe was full before the data had come, so many records do without; doubled each time.
  std::uint32_t records_to_skip_ = 0;
  std::uint32_t penalty_ = 1;
};

}  // namespace braid::rpc
