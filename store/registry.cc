#include "store/registry.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "base/big_endian.h"
#include "base/log.h"
#include "base/xxhash64.h"
#include "store/gone_file.h"

namespace braid::store {
namespace {

// Offsets of docs/format-store.md.
namespace registered_at {
constexpr std::size_t kind = 0, handle_bytes = 1, handle_type = 2, tree = 4, logical = 8, handle = 16,
                      zeros = 64, checksum = 72;
static_assert(handle + KernelHandle::bytes_max == zeros);
}  // namespace registered_at
namespace registry_at {
constexpr std::size_t version = 8, store = 16, checksum = 72;
}

constexpr std::array<char, 8> registry_magic{'B', 'r', 'a', 'i', 'd', 'R', 'e', 'g'};
constexpr std::uint32_t registry_version = 1;
constexpr std::size_t entries_at_once = 4096;

}  // namespace

base::Bytes encode(const RegistryEntry& entry) {
  base::Bytes out(RegistryEntry::bytes);
  base::store_be<std::uint8_t>(out, registered_at::kind, static_cast<std::uint8_t>(entry.kind));
  base::store_be<std::uint8_t>(out, registered_at::handle_bytes, entry.file.size);
  base::store_be<std::uint16_t>(out, registered_at::handle_type, entry.file.type);
  base::store_be<std::uint32_t>(out, registered_at::tree, entry.tree);
  base::store_be<std::uint64_t>(out, registered_at::logical, entry.logical);
  std::ranges::copy(entry.file.view(), out.begin() + registered_at::handle);
  base::store_be<std::uint64_t>(out, registered_at::checksum,
                                base::xxhash64(base::BytesView(out).first(registered_at::checksum)));
  return out;
}

std::optional<RegistryEntry> decode_registry_entry(base::BytesView bytes) {
  if (bytes.size() != RegistryEntry::bytes || base::load_be<std::uint64_t>(bytes, registered_at::checksum) !=
                                                  base::xxhash64(bytes.first(registered_at::checksum)))
    return std::nullopt;
  const auto kind = base::load_be<std::uint8_t>(bytes, registered_at::kind);
  const auto size = base::load_be<std::uint8_t>(bytes, registered_at::handle_bytes);
  if (kind < static_cast<std::uint8_t>(RegistryKind::sealed) ||
      kind > static_cast<std::uint8_t>(RegistryKind::cut) || size > KernelHandle::bytes_max)
    return std::nullopt;
  RegistryEntry out;
  out.kind = static_cast<RegistryKind>(kind);
  out.tree = base::load_be<std::uint32_t>(bytes, registered_at::tree);
  out.logical = base::load_be<std::uint64_t>(bytes, registered_at::logical);
  out.file.type = base::load_be<std::uint16_t>(bytes, registered_at::handle_type);
  out.file.size = size;
  std::ranges::copy(bytes.subspan(registered_at::handle, size), out.file.bytes.begin());
  if (!base::equal(encode(out), bytes)) return std::nullopt;
  return out;
}

base::Bytes encode_registry_header(const StoreId& store) {
  base::Bytes out(RegistryEntry::bytes);
  std::ranges::copy(std::as_bytes(std::span(registry_magic)), out.begin());
  base::store_be<std::uint32_t>(out, registry_at::version, registry_version);
  std::ranges::copy(store, out.begin() + registry_at::store);
  base::store_be<std::uint64_t>(out, registry_at::checksum,
                                base::xxhash64(base::BytesView(out).first(registry_at::checksum)));
  return out;
}

bool is_registry_header(base::BytesView bytes, const StoreId& store) {
  return base::equal(bytes, encode_registry_header(store));
}

// One that is being made beside the one that is there.
class Registry::Fresh {
 public:
  static base::Result<Fresh> begin(Medium& medium, const StoreId& store) {
    if (auto removed = medium.remove(file_name()); !removed) return base::fail(removed.error());
    auto file = medium.open(file_name(), OpenFor::creating);
    if (!file) return base::fail(file.error());
    return Fresh(medium, store, std::move(*file));
  }
  base::Result<void> add(const RegistryEntry& entry) {
    const base::Bytes one = encode(entry);
    waiting_.insert(waiting_.end(), one.begin(), one.end());
    return waiting_.size() < entries_at_once * RegistryEntry::bytes ? base::Result<void>() : write();
  }
  [[nodiscard]] Place end() const { return written_ + waiting_.size(); }
  base::Result<void> sync() {
    auto done = write();
    return done ? file_->sync() : done;
  }
  // After sync(). Which of the two is there after a crash nobody knows before the directory is synced.
  base::Result<void> rename() { return medium_->rename(file_name(), Registry::name); }
  void give_up() { (void)medium_->remove(file_name()); }
  std::shared_ptr<File> file() { return file_; }
  static std::string file_name() { return std::string(Registry::name) + ".new"; }

 private:
  Fresh(Medium& medium, const StoreId& store, std::shared_ptr<File> file)
      : medium_(&medium), file_(std::move(file)), waiting_(encode_registry_header(store)) {}
  base::Result<void> write() {
    if (waiting_.empty()) return {};
    auto done = file_->write(written_, waiting_);
    written_ += waiting_.size();
    waiting_.clear();
    return done;
  }

  Medium* medium_;
  std::shared_ptr<File> file_;
  base::Bytes waiting_;
  Place written_ = 0;
};

base::Result<std::unique_ptr<Registry>> Registry::open(Medium& medium, const StoreId& store, OpenFor what) {
  if (what == OpenFor::creating) {
    if (auto made = replace_small(medium, name, encode_registry_header(store)); !made)
      return base::fail(made.error());
    what = OpenFor::writing;
  }
  auto file = medium.open(name, what);
  if (!file) return base::fail(file.error());
  base::Bytes head(RegistryEntry::bytes);
  const auto got = (*file)->read(0, head);
  if (!got) return base::fail(got.error());
  if (*got != head.size() || !is_registry_header(head, store)) return base::fail(EBADMSG);
  std::unique_ptr<Registry> out(new Registry(medium, store, std::move(*file)));
  if (what != OpenFor::writing) return out;
  (void)medium.remove(Fresh::file_name());  // a crash has left it of a rewrite
  if (auto found = out->find_end(); !found) return base::fail(found.error());
  return out;
}

base::Result<void> Registry::replace(Medium& medium, const StoreId& store,
                                     const std::function<base::Result<void>(const Add& add)>& fill) {
  if (auto removed = medium.remove(GoneFile::name); !removed) return removed;
  auto fresh = Fresh::begin(medium, store);
  if (!fresh) return base::fail(fresh.error());
  base::Result<void> done = fill([&](const RegistryEntry& entry) { return fresh->add(entry); });
  if (done) done = fresh->sync();
  if (done) done = fresh->rename();
  if (done) return medium.sync_directory("");
  fresh->give_up();
  return done;
}

// Whatever stands behind the last entry that is whole was not synced, or has been damaged since: it is
// overwritten, and an entry says so.
base::Result<void> Registry::find_end() {
  const auto now = file_->status();
  if (!now) return base::fail(now.error());
  std::uint64_t end = now->size / RegistryEntry::bytes * RegistryEntry::bytes;
  base::Bytes bytes(RegistryEntry::bytes);
  for (; end > RegistryEntry::bytes; end -= RegistryEntry::bytes) {
    const auto got = file_->read(end - RegistryEntry::bytes, bytes);
    if (!got) return base::fail(got.error());
    if (*got == bytes.size() && decode_registry_entry(bytes)) break;
  }
  end_ = end;
  synced_ = 0;  // what another process added and did not sync
  settled_ = {.end = 0, .marked_end = end, .last = 0};
  if (end == now->size) return {};
  base::log_event(base::Level::warning, "store_registry_cut", "the last {} bytes were not whole",
                  now->size - end);
  if (auto cut = file_->resize(end); !cut) return cut;
  const RegistryEntry note{.kind = RegistryKind::cut};
  return append(std::span(&note, 1));
}

base::Result<void> Registry::write(std::span<const RegistryEntry> entries) {
  base::Bytes bytes;
  bytes.reserve(entries.size() * RegistryEntry::bytes);
  for (const RegistryEntry& entry : entries) {
    const base::Bytes one = encode(entry);
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  if (auto written = file_->write(end_, bytes); !written) return written;
  end_ += bytes.size();
  return {};
}

base::Result<void> Registry::append(std::span<const RegistryEntry> entries) {
  std::uint64_t end = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (broken_) return base::fail(EIO);
    if (auto written = write(entries); !written) {
      // Part of them may be there. Taken off, it is no damage after a restart.
      broken_ = !is_full(written.error()) || !file_->resize(end_);
      return written;
    }
    end = end_;
  }
  return sync_to(end);
}

// What a rewrite has put in place was synced: then `end` may be one of the file before, and it is synced once
// more.
base::Result<void> Registry::sync_to(Place end) {
  const std::scoped_lock turn(syncing_);
  if (synced_ >= end) return {};
  Place now = 0;
  std::shared_ptr<File> file;
  {
    const std::scoped_lock lock(mutex_);
    if (broken_) return base::fail(EIO);
    now = end_;
    file = file_;
  }
  auto done = file->sync();
  if (done) {
    synced_ = now;
    return done;
  }
  // Nobody knows what is on the medium, and the kernel may not say it a second time.
  const std::scoped_lock lock(mutex_);
  broken_ = true;
  return done;
}

Registry::Settled Registry::settled() {
  const std::scoped_lock lock(mutex_);
  return settled_;
}

std::shared_ptr<File> Registry::file() {
  const std::scoped_lock lock(mutex_);
  return file_;
}

Registry::Place Registry::end() {
  const std::scoped_lock lock(mutex_);
  return end_ == 0 ? std::numeric_limits<Place>::max() : end_;
}

base::Result<std::uint64_t> Registry::walk(const std::function<void(const RegistryEntry&)>& take) {
  Place end = 0;
  std::shared_ptr<File> file;
  {
    const std::scoped_lock lock(mutex_);
    end = end_ == 0 ? std::numeric_limits<Place>::max() : end_;
    file = file_;
  }
  return walk_file(*file, RegistryEntry::bytes, end, [&](Place, const RegistryEntry& entry) { take(entry); });
}

base::Result<std::uint64_t> Registry::walk_to(Place end, const TakePlaced& take) {
  return walk_file(*file(), RegistryEntry::bytes, end, take);
}

base::Result<std::uint64_t> Registry::walk_file(File& file, Place begin, Place end, const TakePlaced& take) {
  constexpr std::size_t bytes_max = entries_at_once * RegistryEntry::bytes;
  std::uint64_t damaged = 0;
  base::Bytes bytes;
  for (Place at = begin; at < end;) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(bytes_max, end - at));
    bytes.resize(wanted);
    const auto got = file.read(at, bytes);
    if (!got) return base::fail(got.error());
    base::BytesView left = base::BytesView(bytes).first(*got);
    for (; left.size() >= RegistryEntry::bytes; left = left.subspan(RegistryEntry::bytes)) {
      const auto entry = decode_registry_entry(left.first(RegistryEntry::bytes));
      if (entry) take(at, *entry);
      if (!entry) ++damaged;
      at += RegistryEntry::bytes;
    }
    // What was opened for reading ends somewhere; what this process has written has not to.
    const bool is_short = *got < wanted && end != std::numeric_limits<Place>::max();
    if (*got < wanted || !left.empty()) return damaged + (is_short || !left.empty() ? 1 : 0);
  }
  return damaged;
}

Registry::Place Registry::settle(std::uint64_t since, const std::function<std::uint64_t()>& last) {
  const std::scoped_lock lock(mutex_);
  if (since > settled_.last) settled_.end = settled_.marked_end;
  // Whoever has added what is there has begun by now.
  settled_.marked_end = end_;
  settled_.last = last();
  return settled_.end;
}

base::Result<void> Registry::rewrite(Place end, const Keep& keep) {
  auto fresh = Fresh::begin(medium_, store_);
  if (!fresh) return base::fail(fresh.error());
  const Settled before = settled();
  // Where that is in the new one.
  Settled after{.end = RegistryEntry::bytes, .marked_end = RegistryEntry::bytes, .last = before.last};
  base::Result<void> done;
  const auto damaged = walk_to(end, [&](Place at, const RegistryEntry& entry) {
    if (!done || !keep(at, entry)) return;
    done = fresh->add(entry);
    if (at < before.end) after.end = fresh->end();
    if (at < before.marked_end) after.marked_end = fresh->end();
  });
  if (!damaged) done = base::fail(damaged.error());
  if (damaged && *damaged > 0) done = base::fail(EBADMSG);
  // Whoever adds waits for the rest only.
  if (done) done = fresh->sync();
  if (done) done = put_in_place(*fresh, end, after);
  if (!done) fresh->give_up();
  return done;
}

base::Result<void> Registry::put_in_place(Fresh& fresh, Place copied, const Settled& settled) {
  const std::scoped_lock turn(syncing_);
  const std::scoped_lock lock(mutex_);
  if (broken_) return base::fail(EIO);
  base::Result<void> done;
  const auto damaged = walk_file(*file_, copied, end_, [&](Place, const RegistryEntry& entry) {
    if (done) done = fresh.add(entry);
  });
  if (!damaged) return base::fail(damaged.error());
  if (*damaged > 0) return base::fail(EBADMSG);
  if (done) done = fresh.sync();
  if (done) done = fresh.rename();
  if (!done) return done;
  file_ = fresh.file();
  end_ = synced_ = fresh.end();
  settled_ = settled;
  done = medium_.sync_directory("");
  if (!done) broken_ = true;
  return done;
}

}  // namespace braid::store
