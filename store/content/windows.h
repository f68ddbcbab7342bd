// What the windows of a store's files have in common: memory, hashers, and which there are.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/result.h"
#include "hashing/chunk_params.h"
#include "store/chunks/node.h"
#include "store/content/window.h"
#include "store/sealing/sealer.h"
#include "store/store.h"
#include "vfs/content.h"

namespace braid::store {

class SealedInode;

struct WindowOptions {
  // Of slabs, that all windows hold together; what comes then goes to the files.
  std::uint64_t bytes_max = 0;
  // The tree of the store that a file is in; nothing: it may not be sealed. No waiting.
  std::function<std::optional<std::uint32_t>(const vfs::FileHandle& file)> tree_of{};
  // What cuts and hashes; empty: a hasher of its own.
  HashJob hash{};
  // Who commits waits so long for what is not hashed yet; the file gets the rest.
  base::Duration patience = std::chrono::milliseconds(5);
  // A window begins with so many bytes at once; so many in a row are cut before anybody commits them; with
  // less of a window to seal, the file gets it.
  std::uint64_t begins_with = 64 * base::KiB, run_bytes = 4 * base::MiB, seal_bytes_min = 1 * base::MiB;
  // So many in a row are cut beside what comes next, once before each COMMIT: of short files half is done
  // then.
  std::uint64_t first_run_bytes = 1 * base::MiB;
  // Of what has no attribute of its own that says it.
  hashing::Profile profile = hashing::Profile::general;
};

struct WindowCounts {
  std::uint64_t taken_bytes = 0;    // that came into windows
  std::uint64_t sealed_bytes = 0;   // of them those that a recipe has got
  std::uint64_t spilled_bytes = 0;  // and those that went to files after all
  std::uint64_t lost_bytes = 0;     // that nobody could keep: clients send them once more
  std::uint64_t held_bytes = 0;     // of slabs, now
  std::uint64_t windows = 0;        // now
};

// Thread-safe. The store outlives it.
class Windows {
 public:
  Windows(Store& store, WindowOptions options) : store_(store), options_(std::move(options)) {}
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  [[nodiscard]] std::optional<std::uint32_t> tree_of(const vfs::FileHandle& file) const {
    return options_.tree_of ? options_.tree_of(file) : std::nullopt;
  }
  // Whether windows may hold so many bytes more.
  [[nodiscard]] bool has_room(std::uint64_t bytes) const;
  // From now on nothing is taken.
  void stop() { stopped_.store(true, std::memory_order_relaxed); }
  void held(std::uint64_t before, std::uint64_t now) { held_bytes_.fetch_add(now - before); }
  // So many windows more have bytes.
  void opened(int windows) { windows_.fetch_add(windows); }
  void taken(std::uint64_t bytes) { taken_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void sealed(std::uint64_t bytes) { sealed_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void spilled(std::uint64_t bytes) { spilled_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void lost(std::uint64_t bytes) { lost_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  [[nodiscard]] WindowCounts counts() const;

  // The chunks that these pieces are sure to have, which are in memory, follow each other, and begin at a
  // cut, are in the store; nothing in place of one of zeros. `is_end`: nothing follows. `former`: where equal
  // ones may be. It blocks.
  struct Cut {
    std::uint64_t begin = 0, end = 0;
    std::optional<ChunkRef> chunk;
  };
  base::Result<std::vector<Cut>> cut(std::span<const WindowPiece> pieces, bool is_end,
                                     hashing::Profile profile, FormerChunks& former);
  [[nodiscard]] const WindowOptions& options() const { return options_; }

  // A file that has a window, with what keeps it; again at each write.
  void note(const std::shared_ptr<SealedInode>& inode, vfs::Stub::Kept kept, base::TimePoint now);
  // Those that nobody has written to since `before`. Others that have no window any more are forgotten.
  struct Open {
    vfs::Stub::Kept kept;  // ends after the inode
    std::shared_ptr<SealedInode> inode;
    base::TimePoint written;
  };
  std::vector<Open> idle_since(base::TimePoint before);
  void forget_all();

 private:
  const hashing::ChunkParams* params_of(hashing::Profile profile);
  struct Cutter;
  base::Result<std::vector<Cut>> cut_by(Cutter& cutter, std::span<const WindowPiece> pieces, bool is_end,
                                        hashing::Profile profile, FormerChunks& former);

  Store& store_;
  const WindowOptions options_;
  const base::SystemClock clock_;
  std::atomic<bool> stopped_{false};
  std::atomic<std::uint64_t> held_bytes_{0}, taken_bytes_{0}, sealed_bytes_{0}, spilled_bytes_{0},
      lost_bytes_{0};
  struct Cutter {
    explicit Cutter(const base::Clock& clock) : hasher(clock) {}
    hashing::CpuHasher hasher;
    base::Bytes across;  // copies of chunks that lie in more than one piece; its memory is kept
  };
  static constexpr std::size_t cutters_kept = 8;                 // of some megabytes each
  base::Guarded<std::vector<std::unique_ptr<Cutter>>> cutters_;  // that are not in use
  base::Guarded<std::map<hashing::Profile, std::unique_ptr<hashing::ChunkParams>>> params_;
  std::atomic<int> windows_{0};
  base::Guarded<std::map<const SealedInode*, Open>> open_;
};

}  // namespace braid::store
