#include "store/index.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "base/big_endian.h"
#include "base/bytes.h"
#include "base/log.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
// RocksDB's package is built without ThreadSanitizer, which therefore sees the reads of its lists that take
// no lock, but not the atomic operations that make them safe.
extern "C" const char*
__tsan_default_suppressions();  // NOLINT(bugprone-reserved-identifier): the sanitizer's own name
extern "C" const char* __tsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  // Its templates of the standard library can be those of this program.
  return "called_from_lib:librocksdb.so\nrace:librocksdb.so\n";
}
#endif
#endif

namespace braid::store {
namespace {

constexpr const char* marker_key = "known_to";
constexpr int bloom_bits = 10;
constexpr int shard_bits = 4;
// A file that is not kept open costs a find a hundred times as much. Of this size there are not more than
// Index::open_files_max with 1.5 billion chunks.
constexpr std::uint64_t file_bytes = 256U << 20U;
constexpr int open_files_shard_bits = 2;

rocksdb::Slice slice_of(base::BytesView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Longer than an id.
std::string note_key(const hashing::Digest& file) { return "n" + slice_of(file.bytes).ToString(); }

rocksdb::Options options_of(const IndexOptions& wanted) {
  rocksdb::BlockBasedTableOptions table;
  // A part of the cache has to hold many of the largest blocks.
  table.block_cache = rocksdb::NewLRUCache(wanted.cache_bytes, shard_bits);
  // Index and filters of a file take megabytes: in one piece they would be read for each chunk that is looked
  // for.
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.cache_index_and_filter_blocks = true;
  table.pin_top_level_index_and_filter = true;
  table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(bloom_bits));
  rocksdb::Options out;
  out.create_if_missing = true;
  out.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  out.write_buffer_size = wanted.buffer_bytes;
  out.max_write_buffer_number = 2;
  out.max_open_files = Index::open_files_max;
  out.target_file_size_base = file_bytes;
  out.table_cache_numshardbits = open_files_shard_bits;
  out.compression = rocksdb::kNoCompression;  // ids are random
  out.keep_log_file_num = 1;
  out.info_log_level = rocksdb::ERROR_LEVEL;
  return out;
}

class RocksIndex final : public Index {
 public:
  RocksIndex(std::unique_ptr<rocksdb::DB> db, std::string directory)
      : directory_(std::move(directory)), db_(std::move(db)) {
    unsynced_.disableWAL = true;
  }
  // One that could not be read is made anew by whoever opens it next.
  ~RocksIndex() override {
    flush();
    if (!complained_) return;
    db_.reset();
    (void)rocksdb::DestroyDB(directory_, rocksdb::Options());
  }

  std::optional<Location> find(const hashing::Digest& id) override { return get(slice_of(id.bytes)); }
  void put(const hashing::Digest& id, Location at) override { put_bits(slice_of(id.bytes), at); }
  void put_all(std::span<const Entry> entries) override {
    rocksdb::WriteBatch batch;
    for (const Entry& entry : entries)
      complain(batch.Put(slice_of(entry.id.bytes), slice_of(bits_of(entry.at))));
    complain(db_->Write(unsynced_, &batch));
  }
  // A file of the index is made of them at once: in memory each would be looked for a place of its own.
  void put_many(std::vector<Entry> entries) override {
    constexpr std::size_t few = 10'000;
    if (entries.size() < few) return put_all(entries);
    std::ranges::stable_sort(entries, {}, &Entry::id);
    const rocksdb::Status done = take_in(entries);
    if (done.ok()) return;
    base::log_event(base::Level::warning, "store_index_slow", "{}: {}", directory_, done.ToString());
    put_all(entries);
  }
  void remove(const hashing::Digest& id) override { complain(db_->Delete(unsynced_, slice_of(id.bytes))); }
  std::optional<Location> known_to() override { return get(marker_key); }
  void put_known_to(Location at) override { put_bits(marker_key, at); }
  std::optional<base::Bytes> note(const hashing::Digest& file) override {
    std::string value;
    const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), note_key(file), &value);
    if (!status.ok() && !status.IsNotFound()) complain(status);
    if (!status.ok()) return std::nullopt;
    const base::BytesView bytes = base::bytes_of(value);
    return base::Bytes(bytes.begin(), bytes.end());
  }
  void put_note(const hashing::Digest& file, base::BytesView note) override {
    complain(db_->Put(unsynced_, note_key(file), slice_of(note)));
  }
  void flush() override { complain(db_->Flush(rocksdb::FlushOptions())); }
  [[nodiscard]] std::uint64_t entries_about() const override {
    std::uint64_t out = 0;
    return db_->GetIntProperty(rocksdb::DB::Properties::kEstimateNumKeys, &out) ? out : 0;
  }

 private:
  std::optional<Location> get(const rocksdb::Slice& key) {
    std::string value;
    const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), key, &value);
    if (!status.ok() && !status.IsNotFound()) complain(status);
    if (!status.ok() || value.size() != sizeof(std::uint64_t)) return std::nullopt;
    return Location::unpacked(base::load_be<std::uint64_t>(base::bytes_of(value), 0));
  }
  rocksdb::Status take_in(const std::vector<Entry>& sorted) {
    const std::string path = directory_ + "/many.sst";
    rocksdb::SstFileWriter file(rocksdb::EnvOptions(), db_->GetOptions());
    rocksdb::Status done = file.Open(path);
    for (std::size_t i = 0; i < sorted.size() && done.ok(); ++i) {
      if (i + 1 < sorted.size() && sorted[i + 1].id == sorted[i].id) continue;
      done = file.Put(slice_of(sorted[i].id.bytes), slice_of(bits_of(sorted[i].at)));
    }
    if (done.ok()) done = file.Finish();
    rocksdb::IngestExternalFileOptions options;
    options.move_files = true;
    if (done.ok()) done = db_->IngestExternalFile({path}, options);
    return done;
  }
  static std::array<std::byte, sizeof(std::uint64_t)> bits_of(Location at) {
    std::array<std::byte, sizeof(std::uint64_t)> out{};
    base::store_be<std::uint64_t>(out, 0, at.packed());
    return out;
  }
  void put_bits(const rocksdb::Slice& key, Location at) {
    complain(db_->Put(unsynced_, key, slice_of(bits_of(at))));
  }
  // Once: every call may fail from then on.
  void complain(const rocksdb::Status& status) {
    if (status.ok() || complained_.exchange(true)) return;
    base::log_event(base::Level::error, "store_index_failed", "{}; equal chunks may be kept twice",
                    status.ToString());
  }

  const std::string directory_;
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::WriteOptions unsynced_;
  std::atomic<bool> complained_{false};
};

}  // namespace

base::Result<std::unique_ptr<Index>> Index::open(const std::string& directory, const IndexOptions& wanted) {
  const rocksdb::Options options = options_of(wanted);
  rocksdb::DB* db = nullptr;
  rocksdb::Status status = rocksdb::DB::Open(options, directory, &db);
  if (!status.ok()) {
    base::log_event(base::Level::warning, "store_index_lost", "{}: {}; it is made anew", directory,
                    status.ToString());
    (void)rocksdb::DestroyDB(directory, options);
    status = rocksdb::DB::Open(options, directory, &db);
  }
  if (!status.ok()) {
    base::log_event(base::Level::error, "store_index_failed", "{}: {}", directory, status.ToString());
    return base::fail(EIO);
  }
  return std::make_unique<RocksIndex>(std::unique_ptr<rocksdb::DB>(db), directory);
}

}  // namespace braid::store
