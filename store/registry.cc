#include "store/registry.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/big_endian.h"
#include "base/log.h"
#include "base/xxhash64.h"

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
  std::unique_ptr<Registry> out(new Registry(std::move(*file)));
  if (what == OpenFor::writing)
    if (auto found = out->find_end(); !found) return base::fail(found.error());
  return out;
}

base::Result<void> Registry::replace(Medium& medium, const StoreId& store,
                                     const std::function<base::Result<void>(const Add& add)>& fill) {
  const std::string fresh = std::string(name) + ".new";
  if (auto removed = medium.remove(fresh); !removed) return removed;
  const auto file = medium.open(fresh, OpenFor::creating);
  if (!file) return base::fail(file.error());
  base::Bytes bytes = encode_registry_header(store);
  std::uint64_t end = 0;
  const auto write = [&] {
    const auto done = (*file)->write(end, bytes);
    end += bytes.size();
    bytes.clear();
    return done;
  };
  base::Result<void> done = fill([&](const RegistryEntry& entry) {
    const base::Bytes one = encode(entry);
    bytes.insert(bytes.end(), one.begin(), one.end());
    return bytes.size() < entries_at_once * RegistryEntry::bytes ? base::Result<void>() : write();
  });
  if (done) done = write();
  if (done) done = (*file)->sync();
  if (done) done = medium.rename(fresh, name);
  if (done) return medium.sync_directory("");
  (void)medium.remove(fresh);
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

base::Result<void> Registry::sync_to(std::uint64_t end) {
  const std::scoped_lock turn(syncing_);
  if (synced_ >= end) return {};
  std::uint64_t now = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (broken_) return base::fail(EIO);
    now = end_;
  }
  auto done = file_->sync();
  if (done) {
    synced_ = now;
    return done;
  }
  // Nobody knows what is on the medium, and the kernel may not say it a second time.
  const std::scoped_lock lock(mutex_);
  broken_ = true;
  return done;
}

std::uint64_t Registry::end_of_entries() {
  const std::scoped_lock lock(mutex_);
  return end_ == 0 ? std::numeric_limits<std::uint64_t>::max() : end_;
}

base::Result<std::uint64_t> Registry::walk(const std::function<void(const RegistryEntry&)>& take) {
  std::uint64_t damaged = 0;
  constexpr std::size_t bytes_max = entries_at_once * RegistryEntry::bytes;
  base::Bytes bytes;
  for (std::uint64_t at = RegistryEntry::bytes;; at += bytes.size()) {
    const std::uint64_t end = end_of_entries();
    bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(bytes_max, end - std::min(end, at))));
    const auto got = file_->read(at, bytes);
    if (!got) return base::fail(got.error());
    base::BytesView left = base::BytesView(bytes).first(*got);
    for (; left.size() >= RegistryEntry::bytes; left = left.subspan(RegistryEntry::bytes)) {
      const auto entry = decode_registry_entry(left.first(RegistryEntry::bytes));
      if (entry) take(*entry);
      if (!entry) ++damaged;
    }
    if (*got < bytes_max) return damaged + (left.empty() ? 0 : 1);
  }
}

}  // namespace braid::store
