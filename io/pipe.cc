#include "io/pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "base/assert.h"

namespace braid::io {

PipedBytes::PipedBytes(PipedBytes&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      read_end_(std::move(other.read_end_)),
      write_end_(std::move(other.write_end_)),
      size_(std::exchange(other.size_, 0)) {}

PipedBytes& PipedBytes::operator=(PipedBytes&& other) noexcept {
  if (this != &other) {
    if (pool_ != nullptr) pool_->give_back({std::move(read_end_), std::move(write_end_)}, size_ == 0);
    pool_ = std::exchange(other.pool_, nullptr);
    read_end_ = std::move(other.read_end_);
    write_end_ = std::move(other.write_end_);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

PipedBytes::~PipedBytes() {
  if (pool_ != nullptr) pool_->give_back({std::move(read_end_), std::move(write_end_)}, size_ == 0);
}

base::Result<std::size_t> PipedBytes::fill(int file, std::uint64_t offset, std::size_t count) {
  auto position = static_cast<loff_t>(offset);
  std::size_t moved = 0;
  while (moved < count) {
    // Non-blocking concerns the pipe: a full one answers EAGAIN. The read from the medium still waits.
    const ssize_t n = ::splice(file, &position, write_end_.get(), nullptr, count - moved, SPLICE_F_NONBLOCK);
    if (n == 0 || (n < 0 && errno == EAGAIN)) break;
    if (n < 0) {
      if (errno == EINTR) continue;
      return base::fail(base::last_errno());
    }
    moved += static_cast<std::size_t>(n);
    size_ += static_cast<std::size_t>(n);
  }
  return moved;
}

base::Result<std::size_t> PipedBytes::drain_to(int socket, bool more) {
  const unsigned flags = SPLICE_F_NONBLOCK | (more ? SPLICE_F_MORE : 0U);
  const ssize_t n = ::splice(read_end_.get(), nullptr, socket, nullptr, size_, flags);
  if (n < 0) return base::fail(base::last_errno());
  size_ -= static_cast<std::size_t>(n);
  return static_cast<std::size_t>(n);
}

base::Result<void> PipedBytes::read_into(std::byte* to) {
  while (size_ > 0) {
    const ssize_t n = ::read(read_end_.get(), to, size_);
    if (n <= 0) return base::fail(n < 0 ? base::last_errno() : base::errno_of(EIO));
    to += n;
    size_ -= static_cast<std::size_t>(n);
  }
  return {};
}

base::Result<PipePool::Ends> PipePool::make() {
  std::array<int, 2> fds;
  if (::pipe2(fds.data(), O_CLOEXEC | O_NONBLOCK) != 0) return base::fail(base::last_errno());
  Ends ends{base::UniqueFd(fds[0]), base::UniqueFd(fds[1])};
  // Refused to unprivileged users beyond their pipe pages: a smaller pipe would split every bulk READ.
  if (::fcntl(fds[1], F_SETPIPE_SZ, static_cast<int>(capacity_bytes)) < 0) return base::fail(ENOBUFS);
  return ends;
}

base::Result<PipedBytes> PipePool::take() {
  PipedBytes out;
  std::scoped_lock lock(mutex_);
  if (lent_ >= lent_max_) return base::fail(ENOBUFS);
  Ends ends;
  if (!kept_.empty()) {
    ends = std::move(kept_.back());
    kept_.pop_back();
  } else {
    auto made = make();
    if (!made) return base::fail(made.error());
    ends = std::move(*made);
  }
  ++lent_;
  out.pool_ = this;
  out.read_end_ = std::move(ends.read_end);
  out.write_end_ = std::move(ends.write_end);
  return out;
}

void PipePool::give_back(Ends ends, bool empty) {
  std::scoped_lock lock(mutex_);
  base::check(lent_ > 0, "a pipe comes back once");
  --lent_;
  if (empty && kept_.size() < kept_max_) kept_.push_back(std::move(ends));
}

}  // namespace braid::io
