#include "io/pipe.h"

#include <fcntl.h>
#include <unistd.h>

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
    if (n < 0) {
      if (errno == EINTR) continue;
      return base::fail(base::last_errno());
    }
    moved += static_cast<std::size_t>(n);
    size_ += static_cast<std::size_t>(n);
  }
  return moved;
}

base::Result<std::size_t> Pipe::drain_to(int socket, std::size_t count, bool more) {
  base::check(count <= size_, "no more is drained than there is");
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
  if (::fcntl(fds[1], F_SETPIPE_SZ, static_cast<int>(capacity_bytes)) < 0) {
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
  if (pipe->size() == 0 && kept_.size() < kept_max_) kept_.push_back(std::move(pipe));
}

}  // namespace braid::io
