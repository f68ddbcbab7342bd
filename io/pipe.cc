#include "io/pipe.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.h"

namespace braid::io {

Pipe::Pipe(PipePool& pool, base::UniqueFd read_end, base::UniqueFd write_end)
    : pool_(pool), read_end_(std::move(read_end)), write_end_(std::move(write_end)) {
  slab_.pipe = this;
}

void Pipe::give_back() { pool_.give_back(this); }

base::Result<std::size_t> Pipe::fill(int file, std::uint64_t offset, std::size_t count) {
  auto position = static_cast<loff_t>(offset);
  std::size_t moved = 0;
  while (moved < count) {
    // Non-blocking concerns the pipe: a full one answers EAGAIN. The read from the medium still waits.
    const ssize_t n = ::splice(file, &position, write_end_.get(), nullptr, count - moved, SPLICE_F_NONBLOCK);
    if (n == 0 || (n < 0 && errno == EAGAIN)) break;
    if (n < 0) return base::fail(base::last_errno());
    moved += static_cast<std::size_t>(n);
    size_ += static_cast<std::size_t>(n);
  }
  return moved;
}

base::Result<std::size_t> Pipe::fill_from_socket(int socket, std::size_t count) {
  for (;;) {
    const ssize_t n = ::splice(socket, nullptr, write_end_.get(), nullptr, count, SPLICE_F_NONBLOCK);
    if (n >= 0) {
      size_ += static_cast<std::size_t>(n);
      return static_cast<std::size_t>(n);
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return base::fail(base::last_errno());
    // Both a silent socket and a full pipe answer so.
    int unread = 0;
    return base::fail(::ioctl(socket, SIOCINQ, &unread) == 0 && unread > 0 && size_ > 0 ? ENOBUFS : EAGAIN);
  }
}

base::Result<std::size_t> Pipe::drain_to_file(int file, std::uint64_t offset, std::size_t count) {
  base::check(count <= size_, "no more is drained than there is");
  if (!taken_out_.empty()) return copy_to_file(file, offset, count);
  auto position = static_cast<loff_t>(offset);
  const ssize_t n = ::splice(read_end_.get(), nullptr, file, &position, count, 0);
  if (n < 0 && errno == EINVAL)
    return copy_to_file(file, offset, count);  // the file system does not know splice
  if (n < 0) return base::fail(base::last_errno());
  size_ -= static_cast<std::size_t>(n);
  return static_cast<std::size_t>(n);
}

base::Result<void> Pipe::take_out(std::size_t count) {
  const std::size_t had = taken_out_.size();
  taken_out_.resize(had + count);
  ssize_t taken;
  do {
    taken = ::read(read_end_.get(), taken_out_.data() + had, count);
  } while (taken < 0 && errno == EINTR);
  base::Result<void> done;
  if (taken < 0) done = base::fail(base::last_errno());
  if (taken == 0) done = base::fail(EIO);  // fewer bytes than are on the books
  taken_out_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(taken, 0)));
  return done;
}

base::Result<std::size_t> Pipe::copy_to_file(int file, std::uint64_t offset, std::size_t count) {
  constexpr std::size_t piece_max = 16 * base::KiB;
  if (taken_out_.empty())
    if (auto taken = take_out(std::min(count, piece_max)); !taken) return base::fail(taken.error());
  const ssize_t put =
      ::pwrite(file, taken_out_.data(), std::min(count, taken_out_.size()), static_cast<off_t>(offset));
  if (put < 0) return base::fail(base::last_errno());
  taken_out_.erase(taken_out_.begin(), taken_out_.begin() + put);
  size_ -= static_cast<std::size_t>(put);
  return static_cast<std::size_t>(put);
}

base::Result<void> Pipe::copy_to_memory(std::size_t from, base::MutableBytes to) {
  base::check(from <= size_ && to.size() <= size_ - from, "no more is copied than there is");
  while (taken_out_.size() < from + to.size())
    if (auto taken = take_out(from + to.size() - taken_out_.size()); !taken) return taken;
  std::ranges::copy(std::span(taken_out_).subspan(from, to.size()), to.begin());
  return {};
}

base::Result<std::size_t> Pipe::drain_to(int socket, std::size_t count, bool more) {
  base::check(count <= size_ && taken_out_.empty(), "no more is drained than there is");
  const unsigned flags = SPLICE_F_NONBLOCK | (more ? SPLICE_F_MORE : 0U);
  const ssize_t n = ::splice(read_end_.get(), nullptr, socket, nullptr, count, flags);
  if (n < 0) return base::fail(base::last_errno());
  size_ -= static_cast<std::size_t>(n);
  return static_cast<std::size_t>(n);
}

PipePool::~PipePool() { base::check(lent_ == 0, "pipes are back before their pool ends"); }

base::Result<std::unique_ptr<Pipe>> PipePool::make() {
  std::array<int, 2> fds;
  if (::pipe2(fds.data(), O_CLOEXEC | O_NONBLOCK) != 0) return base::fail(base::last_errno());
  std::unique_ptr<Pipe> pipe(new Pipe(*this, base::UniqueFd(fds[0]), base::UniqueFd(fds[1])));
  // Refused to unprivileged users beyond their pipe pages: a smaller pipe would split every bulk READ.
  if (::fcntl(fds[1], F_SETPIPE_SZ, static_cast<int>(capacity_bytes_wished)) < 0 &&
      ::fcntl(fds[1], F_SETPIPE_SZ, static_cast<int>(capacity_bytes)) < 0) {
    refused_ = true;
    return base::fail(ENOBUFS);
  }
  return pipe;
}

base::Result<SlabRef> PipePool::take() {
  std::scoped_lock lock(mutex_);
  if (lent_ >= lent_max_ || refused_) return base::fail(ENOBUFS);
  std::unique_ptr<Pipe> pipe;
  if (!kept_.empty()) {
    pipe = std::move(kept_.back());
    kept_.pop_back();
  } else {
    auto made = make();
    if (!made) return base::fail(made.error());
    pipe = std::move(*made);
  }
  ++lent_;
  Slab& slab = pipe.release()->slab_;
  slab.references.store(1, std::memory_order_relaxed);
  return SlabRef(&slab);
}

void PipePool::give_back(Pipe* returned) {
  std::unique_ptr<Pipe> pipe(returned);
  std::scoped_lock lock(mutex_);
  base::check(lent_ > 0, "a pipe comes back once");
  --lent_;
  // What was copied only, and is not needed: the pipe itself is empty.
  if (pipe->taken_out_.size() == pipe->size_) pipe->size_ = 0;
  pipe->taken_out_ = {};
  if (pipe->size() == 0 && kept_.size() < kept_max_) kept_.push_back(std::move(pipe));
}

}  // namespace braid::io
