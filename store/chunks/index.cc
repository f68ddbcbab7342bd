#include "store/chunks/index.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <shared_mutex>
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
constexpr int bloom_bits = 10;  // of a filter as good as this one, which takes three quarters of them
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

// What goes wrong each call says. A log file on a medium that is full would end the process: RocksDB's
// package checks assertions, and one of them is met when a file is written to after an error.
class NoLog final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
};

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
  table.filter_policy.reset(rocksdb::NewRibbonFilterPolicy(bloom_bits));
  rocksdb::Options out;
  out.create_if_missing = true;
  out.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  out.write_buffer_size = wanted.buffer_bytes;
  out.max_write_buffer_number = 2;
  out.max_open_files = Index::open_files_max;
  out.target_file_size_base = file_bytes;
  out.table_cache_numshardbits = open_files_shard_bits;
  out.compression = rocksdb::kNoCompression;  // ids are random
  out.info_log = std::make_shared<NoLog>();
  return out;
}

using Database = std::unique_ptr<rocksdb::DB>;

rocksdb::Status open_database(const rocksdb::Options& options, const std::string& directory, bool writing,
                              Database& out) {
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status = writing ? rocksdb::DB::Open(options, directory, &db)
                                         : rocksdb::DB::OpenForReadOnly(options, directory, &db);
  out.reset(db);
  return status;
}

class RocksIndex final : public Index {
 public:
  RocksIndex(Database db, const rocksdb::Options& options, std::string directory, bool writes)
      : options_(options), directory_(std::move(directory)), db_(std::move(db)), writes_(writes) {
    unsynced_.disableWAL = true;
  }
  // One that could not be read is made anew by whoever opens it next.
  ~RocksIndex() override {
    flush();
    if (!complained_) return;
    db_.reset();  // before its files go
    (void)rocksdb::DestroyDB(directory_, rocksdb::Options());
  }

  std::optional<Location> find(const hashing::Digest& id) override { return get(slice_of(id.bytes)); }
  void put(const hashing::Digest& id, Location at) override {
    if (!put_bits(slice_of(id.bytes), at)) lost_ = true;
  }
  void put_all(std::span<const Entry> entries) override {
    rocksdb::WriteBatch batch;
    for (const Entry& entry : entries)
      complain(batch.Put(slice_of(entry.id.bytes), slice_of(bits_of(entry.at))));
    if (!write(batch)) lost_ = true;
  }
  // A file of the index is made of them at once: in memory each would be looked for a place of its own.
  bool put_many(std::span<Entry> entries) override {
    constexpr std::size_t few = 10'000;
    if (entries.size() >= few) {
      std::ranges::stable_sort(entries, {}, &Entry::id);
      const rocksdb::Status done = take_in(entries);
      complain(done);
      if (done.ok() || done.IsNoSpace()) return done.ok();
      base::log_event(base::Level::warning, "store_index_slow", "{}: {}", directory_, done.ToString());
    }
    rocksdb::WriteBatch batch;
    for (const Entry& entry : entries)
      complain(batch.Put(slice_of(entry.id.bytes), slice_of(bits_of(entry.at))));
    return write(batch);
  }
  [[nodiscard]] bool has_lost() const override { return lost_; }
  void forget_lost() override { lost_ = false; }
  void remove(const hashing::Digest& id) override {
    rocksdb::WriteBatch batch;
    complain(batch.Delete(slice_of(id.bytes)));
    write(batch);
  }
  std::optional<Location> known_to() override { return get(marker_key); }
  void put_known_to(Location at) override { put_bits(marker_key, at); }
  std::optional<base::Bytes> note(const hashing::Digest& file) override {
    std::string value;
    if (!get(note_key(file), value)) return std::nullopt;
    const base::BytesView bytes = base::bytes_of(value);
    return base::Bytes(bytes.begin(), bytes.end());
  }
  void put_note(const hashing::Digest& file, base::BytesView note) override {
    rocksdb::WriteBatch batch;
    complain(batch.Put(note_key(file), slice_of(note)));
    write(batch);
  }
  void flush() override {
    const std::shared_lock lock(opening_);
    if (!writes_) return;
    const rocksdb::Status done = db_->Flush(rocksdb::FlushOptions());
    complain(done);
    // When it has just recovered from an error, RocksDB 7.8 returns before the flush has ended; closing would
    // cut that short.
    constexpr unsigned milliseconds_max = 10'000;
    for (unsigned i = 0; done.ok() && i < milliseconds_max && is_flushing(); ++i) ::usleep(1000);
  }
  [[nodiscard]] std::uint64_t entries_about() const override {
    const std::shared_lock lock(opening_);
    std::uint64_t out = 0;
    return db_->GetIntProperty(rocksdb::DB::Properties::kEstimateNumKeys, &out) ? out : 0;
  }

 private:
  bool get(const rocksdb::Slice& key, std::string& value) {
    const std::shared_lock lock(opening_);
    const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), key, &value);
    if (!status.ok() && !status.IsNotFound()) complain(status);
    return status.ok();
  }
  std::optional<Location> get(const rocksdb::Slice& key) {
    std::string value;
    if (!get(key, value) || value.size() != sizeof(std::uint64_t)) return std::nullopt;
    return Location::unpacked(base::load_be<std::uint64_t>(base::bytes_of(value), 0));
  }
  [[nodiscard]] bool is_flushing() const {
    const auto property = [&](const std::string& name) {
      std::uint64_t out = 0;
      return db_->GetIntProperty(name, &out) ? out : 0;
    };
    using Properties = rocksdb::DB::Properties;
    return property(Properties::kNumImmutableMemTable) > 0 &&
           property(Properties::kMemTableFlushPending) + property(Properties::kNumRunningFlushes) > 0;
  }
  rocksdb::Status take_in(std::span<const Entry> sorted) {
    if (!writes_ && !opens_for_writing()) return rocksdb::Status::NoSpace();
    const std::shared_lock lock(opening_);
    const std::string path = directory_ + "/many.sst";
    rocksdb::SstFileWriter file(rocksdb::EnvOptions(), options_);
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
  bool put_bits(const rocksdb::Slice& key, Location at) {
    rocksdb::WriteBatch batch;
    complain(batch.Put(key, slice_of(bits_of(at))));
    return write(batch);
  }
  // Where there was no room RocksDB takes nothing any more, until it is told to go on. False: there is none.
  bool write(rocksdb::WriteBatch& batch) {
    if (!writes_ && !opens_for_writing()) return false;
    const std::shared_lock lock(opening_);
    rocksdb::Status done = db_->Write(unsynced_, &batch);
    if (done.IsNoSpace() && tries_again() && db_->Resume().ok()) done = db_->Write(unsynced_, &batch);
    complain(done);
    return !done.IsNoSpace();
  }
  // It was opened for reading, since there was no room for what writing takes.
  bool opens_for_writing() {
    if (!tries_again()) return false;
    const std::unique_lock lock(opening_);
    Database db;
    if (writes_ || !open_database(options_, directory_, true, db).ok()) return writes_;
    db_ = std::move(db);
    writes_ = true;
    return true;
  }
  static std::int64_t seconds_now() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::seconds(1);
  }
  // Whether the last time was a while ago: there is still no room, most of the time.
  bool tries_again() {
    const std::int64_t now = seconds_now();
    std::int64_t last = tried_at_;
    return last != now && tried_at_.compare_exchange_strong(last, now);
  }
  // Whether there was room for a minute at least.
  static bool is_first_in_a_while(std::atomic<std::int64_t>& last) {
    constexpr std::int64_t a_while = 60;
    const std::int64_t now = seconds_now();
    const std::int64_t before = last.exchange(now);
    return before == 0 || now - before > a_while;
  }
  // Once: every call may fail from then on. Where there may be room later, once each time that there is none.
  void complain(const rocksdb::Status& status) {
    if (status.IsNoSpace()) {
      if (is_first_in_a_while(full_at_))
        base::log_event(base::Level::warning, "store_index_full", "{}: {}; equal chunks may be kept twice",
                        directory_, status.ToString());
      return;
    }
    if (status.ok() || complained_.exchange(true)) return;
    base::log_event(base::Level::error, "store_index_failed", "{}; equal chunks may be kept twice",
                    status.ToString());
  }

  const rocksdb::Options options_;
  const std::string directory_;
  mutable std::shared_mutex opening_;  // of what follows
  Database db_;
  std::atomic<bool> writes_;
  rocksdb::WriteOptions unsynced_;
  std::atomic<bool> complained_{false}, lost_{false};
  std::atomic<std::int64_t> tried_at_{0}, full_at_{0};  // in seconds
};

}  // namespace

base::Result<std::unique_ptr<Index>> Index::open(const std::string& directory, const IndexOptions& wanted) {
  const rocksdb::Options options = options_of(wanted);
  Database db;
  bool writes = true;
  rocksdb::Status status = open_database(options, directory, writes, db);
  if (status.IsNoSpace()) {
    base::log_event(base::Level::warning, "store_index_full", "{}: {}; equal chunks may be kept twice",
                    directory, status.ToString());
    writes = false;
    status = open_database(options, directory, writes, db);
  }
  if (!status.ok()) {
    base::log_event(base::Level::warning, "store_index_lost", "{}: {}; it is made anew", directory,
                    status.ToString());
    (void)rocksdb::DestroyDB(directory, options);
    writes = true;
    status = open_database(options, directory, writes, db);
  }
  if (!status.ok()) {
    base::log_event(base::Level::error, "store_index_failed", "{}: {}", directory, status.ToString());
    return base::fail(EIO);
  }
  return std::make_unique<RocksIndex>(std::move(db), options, directory, writes);
}

}  // namespace braid::store
