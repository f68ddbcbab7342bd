// Pipes as carriers of pages: splice(2) moves page-cache pages from a file into a pipe and from there into a
// socket without a copy in user space, and what a socket has received into a pipe and from there into a file
// with one copy instead of two. A transport that can send from a pipe offers its PipePool with a call; others
// do not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "io/slab.h"

namespace braid::io {

class PipePool;

// The bytes that were spliced into a pipe, in order: a Slab without memory. Filled once by whoever took it
// from the pool, then drained once: to a socket or to a file; never used by two threads at a time.
class Pipe {
 public:
  // Bytes inside now.
  [[nodiscard]] std::size_t size() const { return size_; }
  // Moves at most `count` bytes at `offset` of `file` behind what is inside: bytes moved, 0 at the end of the
  // file or when the pipe is full, or the errno of splice (EINVAL where the file system cannot). Waits for
  // the medium.
  base::Result<std::size_t> fill(int file, std::uint64_t offset, std::size_t count);
  // Moves at most `count` bytes that a socket has received behind what is inside: bytes moved, 0 at the end
  // of the stream, EAGAIN when nothing has arrived, ENOBUFS when the pipe takes no more pieces.
  base::Result<std::size_t> fill_from_socket(int socket, std::size_t count);
  // Writes at most `count` bytes at `offset` of `file`: how many, or the errno. What was not written is still
  // inside. Waits for the medium.
  base::Result<std::size_t> drain_to_file(int file, std::uint64_t offset, std::size_t count);
  // Copies the bytes from byte `from` of the pipe on, which has as many as `to` has room for: all of them, or
  // the errno. They are inside as before: whoever has to begin anew finds them.
  base::Result<void> copy_to_memory(std::size_t from, base::MutableBytes to);
  // Moves at most `count` bytes into a non-blocking socket: how many (EAGAIN when it takes none). `more` says
  // that further bytes follow at once, as MSG_MORE does.
  base::Result<std::size_t> drain_to(int socket, std::size_t count, bool more);

 private:
  friend class PipePool;
  friend class SlabRef;
  Pipe(PipePool& pool, base::UniqueFd read_end, base::UniqueFd write_end);
  void give_back();
  base::Result<std::size_t> copy_to_file(int file, std::uint64_t offset, std::size_t count);
  base::Result<void> take_out(std::size_t count);

  PipePool& pool_;
  Slab slab_;
  base::UniqueFd read_end_;
  base::UniqueFd write_end_;
  // Bytes that were read from the front of the pipe: for a file that takes no splice, and that it has not
  // taken yet, or to be copied. They count in size_.
  std::vector<std::byte> taken_out_;
  std::size_t size_ = 0;
};

// Thread-safe; outlives every pipe it lends. Keeps at most `kept_max` empty pipes and lends at most
// `lent_max` at a time: each pipe is two descriptors.
class PipePool {
 public:
  // The kernel's default /proc/sys/fs/pipe-max-size; every pipe holds that much of a file.
  static constexpr std::size_t capacity_bytes = 1024 * 1024;
  // Asked for first, which root may: what a network delivers comes in pieces that are not whole pages, and a
  // pipe holds so many pieces as its capacity has pages.
  static constexpr std::size_t capacity_bytes_wished = 4 * capacity_bytes;
  explicit PipePool(std::size_t lent_max = 64, std::size_t kept_max = 16)
      : lent_max_(lent_max), kept_max_(kept_max) {}
  ~PipePool();
  PipePool(const PipePool&) = delete;
  PipePool& operator=(const PipePool&) = delete;

  // An empty pipe of capacity_bytes (pipe() of the reference), or ENOBUFS when all are lent or the system
  // gives no pipe of that size; callers then read into slabs. A pipe comes back when its last reference goes;
  // one that still holds bytes is closed with them.
  base::Result<SlabRef> take();

 private:
  friend class Pipe;
  base::Result<std::unique_ptr<Pipe>> make();
  void give_back(Pipe* pipe);

  const std::size_t lent_max_;
  const std::size_t kept_max_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Pipe>> kept_;
  std::size_t lent_ = 0;
  bool refused_ = false;  // the system gave no pipe of that size: not asked again
};

}  // namespace braid::io
