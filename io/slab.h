// The pool of slabs that payload lives in from wire to disk. Memory is taken from the system in regions, each
// announced once to every registrar (verbs memory regions, CUDA pinning, io_uring fixed buffers), so no later
// stage registers or copies. A slab address or key of ours is never sent to a peer.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace braid::io {

class Pipe;
class SlabPool;

// Sizes a slab can have. Both divide the region size, so slabs are aligned to their own size.
enum class SlabSize : std::uint8_t {
  small,  // 64 KiB: receive buffers, replies, small payload, carved by SlabCursor
  large,  // 1 MiB: bulk payload
};
constexpr std::size_t small_slab_bytes = 64 * base::KiB;
constexpr std::size_t large_slab_bytes = base::MiB;
constexpr std::size_t region_bytes = 4 * base::MiB;
constexpr std::size_t bytes_of(SlabSize size) {
  return size == SlabSize::small ? small_slab_bytes : large_slab_bytes;
}

// Book-keeping of one slab; lives in the pool, apart from the memory it describes. Bytes in a pipe
// (io/pipe.h) are a slab too: one without memory, which only a transport that offered the pipe will ever see.
struct Slab {
  std::atomic<std::uint32_t> references{0};
  std::uint32_t region = 0;  // index that registrars were told
  SlabSize size = SlabSize::small;
  std::byte* data = nullptr;
  SlabPool* pool = nullptr;
  Pipe* pipe = nullptr;  // instead of data and pool
};

// Shared ownership of a slab. Thread-safe like std::shared_ptr: different references may be used on different
// threads.
class SlabRef {
 public:
  SlabRef() = default;
  explicit SlabRef(Slab* adopted) : slab_(adopted) {}
  SlabRef(const SlabRef& other) : slab_(other.slab_) {
    if (slab_ != nullptr) slab_->references.fetch_add(1, std::memory_order_relaxed);
  }
  SlabRef(SlabRef&& other) noexcept : slab_(std::exchange(other.slab_, nullptr)) {}
  SlabRef& operator=(SlabRef other) noexcept {
    std::swap(slab_, other.slab_);
    return *this;
  }
  ~SlabRef() {
    if (slab_ != nullptr && slab_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) release(slab_);
  }
  [[nodiscard]] explicit operator bool() const { return slab_ != nullptr; }
  [[nodiscard]] const Slab* get() const { return slab_; }
  [[nodiscard]] std::byte* data() const { return slab_->data; }
  [[nodiscard]] std::size_t bytes() const { return bytes_of(slab_->size); }
  [[nodiscard]] std::uint32_t region() const { return slab_->region; }
  // Where the bytes are when they are not in memory; null for ordinary slabs.
  [[nodiscard]] Pipe* pipe() const { return slab_->pipe; }
  // True if nobody else can see this slab: it may be filled anew.
  [[nodiscard]] bool unique() const { return slab_->references.load(std::memory_order_acquire) == 1; }

 private:
  static void release(Slab* slab);
  Slab* slab_ = nullptr;
};

// Whoever must know the memory before it can be used for I/O. Called with the pool's lock held, from any
// thread that makes the pool grow; must not call the pool.
class SlabRegistrar {
 public:
  virtual ~SlabRegistrar() = default;
  // `region` stays valid until unregister_region(index).
  virtual base::Result<void> register_region(std::uint32_t index, base::MutableBytes region) = 0;
  virtual void unregister_region(std::uint32_t index) = 0;
};

struct SlabPoolOptions {
  std::size_t bytes_max = 1 * base::GiB;  // rounded down to whole regions, at least one
  bool huge_pages = true;                 // ask for transparent huge pages (madvise); refusal is harmless
};

struct SlabPoolStats {
  std::size_t bytes_max = 0;
  std::size_t bytes_mapped = 0;
  std::size_t bytes_used = 0;   // in slabs that somebody holds
  std::uint64_t exhausted = 0;  // acquire() calls refused
};

// Thread-safe. Free slabs are handed out last-in first-out, so a busy buffer stays in the CPU's cache.
// Outlives every SlabRef. Regions are mapped on demand and kept until the pool ends. When there can be no
// more, a region whose slabs are all free is cut anew into the size that is wanted: what was needed once does
// not keep memory from what is needed now.
class SlabPool {
 public:
  explicit SlabPool(const SlabPoolOptions& options);
  ~SlabPool();
  SlabPool(const SlabPool&) = delete;
  SlabPool& operator=(const SlabPool&) = delete;

  // A slab with undefined content, or ENOBUFS when bytes_max is in use (callers then stop reading from
  // peers), or the errno of mmap or of a registrar.
  base::Result<SlabRef> acquire(SlabSize size);
  // Announces every present and future region. The registrar must outlive its remove_registrar().
  base::Result<void> add_registrar(SlabRegistrar* registrar);
  void remove_registrar(SlabRegistrar* registrar);
  [[nodiscard]] SlabPoolStats stats() const;

 private:
  friend class SlabRef;
  struct Region {
    std::byte* data = nullptr;
    SlabSize size = SlabSize::small;
    std::unique_ptr<Slab[]> slabs;
    std::size_t used = 0;  // slabs that somebody holds
  };
  base::Result<void> grow(SlabSize size);
  bool recut_a_free_region(SlabSize size);
  void cut(std::uint32_t index, SlabSize size);
  void give_back(Slab* slab);

  const SlabPoolOptions options_;
  mutable std::mutex mutex_;
  std::vector<Region> regions_;
  std::array<std::vector<Slab*>, 2> free_;
  std::vector<SlabRegistrar*> registrars_;
  std::size_t bytes_used_ = 0;
  std::uint64_t exhausted_ = 0;
};

// Bytes [offset, offset + length) of a slab, kept alive by the reference.
struct SlabRange {
  SlabRef slab;
  std::uint32_t offset = 0;
  std::uint32_t length = 0;

  // Nothing if they are in a pipe.
  [[nodiscard]] std::optional<base::BytesView> memory() const {
    if (slab.pipe() != nullptr) return std::nullopt;
    return base::BytesView{slab.data() + offset, length};
  }
  // Only for whoever carved the range and has not shared it yet.
  [[nodiscard]] base::MutableBytes writable() const { return {slab.data() + offset, length}; }
};

// Carves small ranges out of small slabs, one behind the other; belongs to one thread.
class SlabCursor {
 public:
  explicit SlabCursor(SlabPool& pool) : pool_(pool) {}
  // At most small_slab_bytes; 4-byte aligned, so XDR items carved one after the other lie side by side.
  base::Result<SlabRange> carve(std::size_t bytes);
  // Shortens the range that was carved last, giving its tail back.
  void trim(SlabRange& last, std::size_t bytes);
  [[nodiscard]] SlabPool& pool() const { return pool_; }

 private:
  SlabPool& pool_;
  SlabRef slab_;
  std::size_t used_ = 0;
};

}  // namespace braid::io
