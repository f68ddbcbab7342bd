#include "rpc/bulk_receiver.h"

#include <algorithm>
#include <utility>

namespace braid::rpc {
namespace {

constexpr std::uint32_t penalty_max = 256;

}  // namespace

void BulkReceiver::begin(io::PipePool& pipes, std::size_t bytes) {
  if (bytes < bytes_min) return;
  if (records_to_skip_ > 0) {
    --records_to_skip_;
    return;
  }
  auto pipe = pipes.take();
  if (!pipe) return;
  pipe_ = std::move(*pipe);
  left_ = bytes;
  taken_ = 0;
}

base::Result<io::SlabRange> BulkReceiver::receive(int socket) {
  const auto moved = pipe_.pipe()->fill_from_socket(socket, left_);
  if (!moved) {
    if (moved.error() == base::errno_of(ENOBUFS)) {
      records_to_skip_ = penalty_;
      penalty_ = std::min(penalty_ * 2, penalty_max);
      end();
    }
    return base::fail(moved.error());
  }
  io::SlabRange piece{pipe_, static_cast<std::uint32_t>(taken_), static_cast<std::uint32_t>(*moved)};
  taken_ += *moved;
  left_ -= *moved;
  if (left_ == 0) {
    penalty_ = 1;
    end();
  }
  return piece;
}

void BulkReceiver::end() {
  pipe_ = {};
  left_ = 0;
}

}  // namespace braid::rpc
