#include "vfs/posix/cache.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace braid::vfs::posix {

FileCache::FileCache(const FileCacheOptions& options)
    : options_(options),
      pool_(options.pool != nullptr ? options.pool
                                    : std::make_shared<DescriptorPool>(options.descriptors_max)) {
  for (Shard& shard : shards_) shard.buckets.resize(16);
  pool_->add(*this);
}

FileCache::~FileCache() {
  pool_->remove(*this);
  for (Shard& shard : shards_)
    while (shard.by_use.first != nullptr) take_out(shard, *shard.by_use.first);
}

// The low bits choose the shard, the others the bucket; the mac is a keyed hash that clients cannot choose.
PosixFile*& FileCache::bucket_of(Shard& shard, std::uint64_t mac) {
  return shard.buckets[(mac / shards_max) & (shard.buckets.size() - 1)];
}

PosixFile* FileCache::lookup(const Shard& shard, base::BytesView handle, std::uint64_t mac) {
  PosixFile* file = shard.buckets[(mac / shards_max) & (shard.buckets.size() - 1)];
  while (file != nullptr && !base::equal(file->handle().view(), handle)) file = file->hash_next_;
  return file;
}

void FileCache::grow(Shard& shard) {
  std::vector<PosixFile*> old(2 * shard.buckets.size());
  old.swap(shard.buckets);
  for (PosixFile* file : old)
    while (file != nullptr) {
      PosixFile* const next = file->hash_next_;
      PosixFile*& bucket = bucket_of(shard, file->mac());
      file->hash_next_ = bucket;
      bucket = file;
      file = next;
    }
}

template <PosixFile::Link PosixFile::* link>
void FileCache::push_front(List& list, PosixFile& file) {
  (file.*link).previous = nullptr;
  (file.*link).next = list.first;
  if (list.first != nullptr) (list.first->*link).previous = &file;
  list.first = &file;
  if (list.last == nullptr) list.last = &file;
}

template <PosixFile::Link PosixFile::* link>
void FileCache::unlink(List& list, PosixFile& file) {
  PosixFile::Link& at = file.*link;
  if (at.previous != nullptr)
    (at.previous->*link).next = at.next;
  else
    list.first = at.next;
  if (at.next != nullptr)
    (at.next->*link).previous = at.previous;
  else
    list.last = at.previous;
  at = {};
}

void FileCache::list(Shard& shard, PosixFile& file) {
  file.used_ = base::TimePoint(base::Duration(now_.load(std::memory_order_relaxed)));
  push_front<&PosixFile::by_use_>(shard.by_use, file);
  file.writer_ = file.opened() == Opened::write;
  if (file.writer_) push_front<&PosixFile::by_writing_>(shard.by_writing, file);
}

void FileCache::unlist(Shard& shard, PosixFile& file) {
  unlink<&PosixFile::by_use_>(shard.by_use, file);
  if (file.writer_) unlink<&PosixFile::by_writing_>(shard.by_writing, file);
  file.writer_ = false;
}

FileRef FileCache::take_out(Shard& shard, PosixFile& file) {
  PosixFile** at = &bucket_of(shard, file.mac());
  while (*at != &file) at = &(*at)->hash_next_;
  *at = file.hash_next_;
  if (file.parked())
    --shard.parked;
  else
    unlist(shard, file);
  --shard.count;
  return std::move(file.held_by_cache_);
}

void FileCache::use(Shard& shard, PosixFile& file) {
  file.used_ = base::TimePoint(base::Duration(now_.load(std::memory_order_relaxed)));
  if (shard.by_use.first != &file) {
    unlink<&PosixFile::by_use_>(shard.by_use, file);
    push_front<&PosixFile::by_use_>(shard.by_use, file);
  }
  if (file.writer_ && shard.by_writing.first != &file) {
    unlink<&PosixFile::by_writing_>(shard.by_writing, file);
    push_front<&PosixFile::by_writing_>(shard.by_writing, file);
  }
}

FileRef FileCache::find(base::BytesView handle, bool& parked) {
  const std::uint64_t mac = HandleCodec::mac_of(handle);
  Shard& shard = shard_of(mac);
  std::scoped_lock lock(shard.mutex);
  PosixFile* const file = lookup(shard, handle, mac);
  parked = file != nullptr && file->parked();
  if (file == nullptr || parked) {
    ++shard.misses;
    return {};
  }
  ++shard.hits;
  use(shard, *file);
  return FileRef(file);
}

// What has left the cache cannot be found by its handle.
FileRef FileCache::note_open(PosixFile& file) {
  if (!parks_) return FileRef(&file);
  Shard& shard = shard_of(file.mac());
  std::scoped_lock lock(shard.mutex);
  if (!file.held_by_cache_) return FileRef(&file);
  ++file.opens_;
  return {};
}

void FileCache::await_parking(PosixFile& file) {
  if (!file.parked()) return;
  const std::scoped_lock lock(shard_of(file.mac()).mutex);
}

void FileCache::note_close(PosixFile& file) {
  FileRef dropped;
  Shard& shard = shard_of(file.mac());
  std::scoped_lock lock(shard.mutex);
  if (--file.opens_ == 0 && file.parked()) dropped = take_out(shard, file);
}

std::optional<DescriptorSlot> FileCache::reserve(std::uint32_t held) {
  // Each attempt gets past some of those that are held, to which it does not return soon.
  constexpr int attempts_max = 4;
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    while (pool_->full())
      if (!pool_->make_room()) break;
    if (!pool_->full()) return DescriptorSlot(descriptors_, held);
  }
  note_too_many_open_files();
  return std::nullopt;
}

void FileCache::note_too_many_open_files() {
  too_many_open_files_.fetch_add(1, std::memory_order_relaxed);
  pool_->note_short(base::TimePoint(base::Duration(now_.load(std::memory_order_relaxed))));
}

// Beside its own: that of the file, and one that opens share.
std::optional<DescriptorSlot> FileCache::reserve_to_keep() {
  if (!few_to_keep()) return reserve(parks_ ? 3 : 1);
  note_too_many_open_files();
  return std::nullopt;
}

std::optional<HeldDescriptors> FileCache::keep_open_file() {
  if (!parks_) return std::nullopt;
  return HeldDescriptors(descriptors_, 2);
}

void FileCache::keep_nameless(std::optional<NamelessDescriptors>& kept, io::PeerId peer) {
  if (parks_ && !kept) kept.emplace(descriptors_, 2, peer);
}

bool FileCache::room_for_nameless(io::PeerId peer) const {
  if (!parks_) return true;
  if (few_to_keep()) return false;
  const std::size_t taken = pool_->held.load(std::memory_order_relaxed) + reserve_of_all();
  return !pool_->over_nameless_share(peer, pool_->max > taken ? pool_->max - taken : 0);
}

void FileCache::note_nameless_refused(io::PeerId peer) {
  nameless_refused_.fetch_add(1, std::memory_order_relaxed);
  pool_->note_nameless_refused(peer, base::TimePoint(base::Duration(now_.load(std::memory_order_relaxed))));
}

bool FileCache::leaves_at_most(std::size_t descriptors) const {
  return pool_->held.load(std::memory_order_relaxed) + descriptors >= pool_->max;
}

// A call or two are always to have what they need.
std::size_t FileCache::reserve_of_all() const {
  constexpr std::size_t least = 8;
  return std::min(pool_->max / 2, std::max(pool_->max / 8, least));
}

bool FileCache::few_to_keep() const { return parks_ && leaves_at_most(reserve_of_all()); }

FileRef FileCache::insert(const FileIdentity& identity, base::UniqueFd fd, Opened opened) {
  const std::uint64_t mac = HandleCodec::mac_of(identity.handle.view());
  while (pool_->full())
    if (!pool_->make_room()) {
      note_too_many_open_files();
      break;
    }
  FileRef fresh(
      new PosixFile(identity, std::move(fd), opened, DescriptorSlot(descriptors_), options_.contents));
  auto& file = static_cast<PosixFile&>(*fresh);
  Shard& shard = shard_of(mac);
  std::scoped_lock lock(shard.mutex);
  if (PosixFile* const other = lookup(shard, identity.handle.view(), mac); other != nullptr) {
    if (other->parked()) {
      other->unpark(file);
      --shard.parked;
      list(shard, *other);
    } else {
      use(shard, *other);
    }
    return FileRef(other);
  }
  if (shard.count >= shard.buckets.size()) grow(shard);
  PosixFile*& bucket = bucket_of(shard, mac);
  file.hash_next_ = bucket;
  bucket = &file;
  file.held_by_cache_ = fresh;
  ++shard.count;
  list(shard, file);
  return fresh;
}

void FileCache::drop(PosixFile& file) {
  FileRef dropped;
  Shard& shard = shard_of(file.mac());
  std::scoped_lock lock(shard.mutex);
  // Otherwise it goes with its last open.
  if (file.held_by_cache_ && file.opens_ == 0) dropped = take_out(shard, file);
}

void FileCache::note_writer(PosixFile& file) {
  Shard& shard = shard_of(file.mac());
  std::scoped_lock lock(shard.mutex);
  if (file.writer_ || !file.held_by_cache_) return;
  file.writer_ = true;
  push_front<&PosixFile::by_writing_>(shard.by_writing, file);
}

void FileCache::close_for_data(const FileHandle& file) {
  to_close_.with([&](std::vector<FileHandle>& all) {
    if (all.size() < to_close_max && std::ranges::find(all, file) == all.end()) all.push_back(file);
  });
}

bool FileCache::closed_for_data(const FileHandle& handle) {
  const std::uint64_t mac = HandleCodec::mac_of(handle.view());
  Shard& shard = shard_of(mac);
  std::scoped_lock lock(shard.mutex);
  PosixFile* const file = lookup(shard, handle.view(), mac);
  // One that has no opens goes when it is idle.
  if (file == nullptr || file->parked() || file->opens_ == 0 || file->opened() != Opened::read) return true;
  return file->held_by_cache_.unique() && file->close_for_data(file->held_by_cache_);
}

// From the least recently used end, the first that nobody holds. With the lock held nobody new can get hold
// of it.
FileCache::Evicted FileCache::evict_one(Shard& shard) {
  PosixFile* file = shard.by_use.last;
  for (std::size_t skipped = 0; file != nullptr && skipped < skipped_max; ++skipped) {
    if (file->held_by_cache_.unique()) {
      Evicted out;
      if (file->opens_ == 0) {
        ++shard.evicted;
        out.file = take_out(shard, *file);
        return out;
      }
      if (file->park(file->held_by_cache_, out.parked.emplace())) {
        ++shard.parkings;
        ++shard.parked;
        unlist(shard, *file);
        return out;
      }
    }
    PosixFile* const previous = file->by_use_.previous;
    use(shard, *file);
    file = previous;
  }
  return {};
}

FileCache::Evicted FileCache::evict() {
  const std::size_t first = next_.fetch_add(1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < shards_max; ++i) {
    Shard& shard = shards_[(first + i) % shards_max];
    std::scoped_lock lock(shard.mutex);
    if (Evicted evicted = evict_one(shard)) return evicted;
  }
  return {};
}

template <PosixFile::Link PosixFile::* link>
void FileCache::expire(Shard& shard, List& list, base::TimePoint before, std::vector<FileRef>& out) {
  PosixFile* file = list.last;
  while (file != nullptr && file->used_ < before) {
    PosixFile* const previous = (file->*link).previous;
    if (file->held_by_cache_.unique() && file->opens_ == 0) {
      ++shard.expired;
      out.push_back(take_out(shard, *file));
    } else {
      use(shard, *file);
    }
    file = previous;
  }
}

void FileCache::sweep(base::TimePoint now) {
  now_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  std::vector<FileRef> expired;
  for (const FileHandle& file :
       to_close_.with([](std::vector<FileHandle>& all) { return std::exchange(all, {}); }))
    if (!closed_for_data(file)) close_for_data(file);
  for (Shard& shard : shards_) {
    std::scoped_lock lock(shard.mutex);
    expire<&PosixFile::by_use_>(shard, shard.by_use, now - options_.idle_max, expired);
    expire<&PosixFile::by_writing_>(shard, shard.by_writing, now - options_.write_idle_max, expired);
  }
}

void FileCache::shrink(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (!pool_->make_room()) return;
}

FileCacheStats FileCache::stats() const {
  FileCacheStats out;
  out.descriptors = descriptors_->own.load(std::memory_order_relaxed);
  out.too_many_open_files = too_many_open_files_.load(std::memory_order_relaxed);
  out.nameless_refused = nameless_refused_.load(std::memory_order_relaxed);
  for (const Shard& shard : shards_) {
    std::scoped_lock lock(shard.mutex);
    out.hits += shard.hits;
    out.misses += shard.misses;
    out.evicted += shard.evicted;
    out.expired += shard.expired;
    out.parkings += shard.parkings;
    out.parked += shard.parked;
  }
  return out;
}

}  // namespace braid::vfs::posix
