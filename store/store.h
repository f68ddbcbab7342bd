// A store: a directory of containers with the chunks of sealed files, and what belongs to it.
// docs/format-store.md says what lies in it, docs/store.md how it is used.
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/lock_file.h"
#include "store/chunks/chunk_store.h"
#include "store/format_file.h"
#include "store/gone_file.h"
#include "store/marks_file.h"
#include "store/medium/posix_medium.h"
#include "store/registry.h"
#include "store/scrub_file.h"
#include "store/trees.h"

namespace braid::store {

struct StoreOptions {
  OpenFor what = OpenFor::reading;
  // What others are told who want the store, too: a command and a process.
  std::string who{};
  // Asked while somebody else has the store: whether it is tried again. None: it is not.
  base::LockFile::Wait wait{};
  std::size_t cache_bytes = 64 * base::MiB;  // of what was read of recipes, and of what was found elsewhere
  IndexOptions index{};
  CompressionOptions compression{};  // of what is new; what is there stays as it is
  Similarity similarity = Similarity::global;
  // Ids are not those of the bytes, but of a mark in them (store/sealing/oracle.h) or of another function
  // (hashing/sliding_job.h). Such a store is opened with this alone, and no other is.
  bool for_benchmarks = false;
  std::uint32_t container_bytes = Location::offset_end;
  // The caller brings the index up to date by chunks().index_filler(). Else that is done on return.
  bool index_later = false;
};

// Thread-safe. This process has the store as long as it lives.
class Store {
 public:
  // Errors are sentences. With OpenFor::creating a directory that is empty, or not there, becomes a store.
  static std::expected<std::unique_ptr<Store>, std::string> open(const std::string& directory,
                                                                 const StoreOptions& options);
  // On a medium that nobody else uses. `index` may be null: then no duplicates are found.
  static std::expected<std::unique_ptr<Store>, std::string> open(std::unique_ptr<Medium> medium,
                                                                 std::unique_ptr<Index> index,
                                                                 const StoreOptions& options);
  // That it has open at a time, at most.
  static constexpr std::size_t descriptors_max = Containers::open_max + Index::open_files_max + 16;
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  [[nodiscard]] bool writable() const { return what_ != OpenFor::reading; }
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] const FormatFile& format() const { return format_; }
  [[nodiscard]] const StoreKeys& keys() const { return *keys_; }
  [[nodiscard]] Medium& medium() { return *medium_; }
  [[nodiscard]] Containers& containers() { return *containers_; }
  [[nodiscard]] ChunkStore& chunks() { return *chunks_; }
  // Null: it is damaged or gone, and nothing can be sealed.
  [[nodiscard]] Registry* registry() { return registry_.get(); }
  // How much of OwnBlocks all files have together.
  [[nodiscard]] std::atomic<std::size_t>& own_block_groups() { return own_block_groups_; }
  // Null: it is gone, and cannot be made anew.
  [[nodiscard]] Index* index() { return index_.get(); }

  // Nothing: the file `trees` is damaged or gone.
  [[nodiscard]] std::optional<std::vector<Tree>> trees();
  // What the last mark has left; of none, if there was none or what it left is damaged: then it takes longer
  // until something is freed.
  [[nodiscard]] Marks marks();
  base::Result<void> put_marks(const Marks& marks);
  // Files that marks have not found. None, if what was noted is damaged: then it takes longer until their
  // entries go.
  [[nodiscard]] std::vector<GoneFile> gone_files();
  base::Result<void> put_gone_files(std::span<const GoneFile> files);
  // How far the chunks have been read; of none, if that is not known.
  [[nodiscard]] ScrubState scrub_state();
  base::Result<void> put_scrub_state(const ScrubState& state);
  // The number of a file system, which is kept for ever, with where it is found now.
  base::Result<std::uint32_t> tree_of(const std::string& file_system, const std::string& path);
  // From now on nobody opens the store who does not know this feature (FormatFile::required).
  base::Result<void> require(std::uint64_t feature);
  [[nodiscard]] bool requires_feature(std::uint64_t feature);
  // Its files are gone for good. Should it be back some day, it gets another number.
  base::Result<void> forget_tree(std::uint32_t number);

 private:
  explicit Store(std::string directory) : directory_(std::move(directory)) {}
  using Opened = std::expected<void, std::string>;
  // `is_store`: the directory is one already.
  Opened begin(const StoreOptions& options, bool is_store);
  Opened make();
  Opened check_purpose(const StoreOptions& options);
  Opened load_format();
  Opened load_key();
  Opened load_parts(const StoreOptions& options);

  const std::string directory_;
  std::unique_ptr<Medium> medium_;
  std::optional<base::LockFile> lock_;
  FormatFile format_;
  std::optional<StoreKeys> keys_;
  std::unique_ptr<Containers> containers_;
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<Index> index_;
  std::unique_ptr<ChunkStore> chunks_;
  OpenFor what_ = OpenFor::reading;
  std::uint64_t required_ = 0;  // features, as FORMAT has them
  std::mutex trees_;
  std::atomic<std::size_t> own_block_groups_{0};
};

}  // namespace braid::store
