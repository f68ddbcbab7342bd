// Which inodes are sealed: a file of entries that are only added. An entry is on the medium before the
// inode's first record is. docs/format-store.md is the reference.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "store/container_format.h"
#include "store/medium.h"

namespace braid::store {

enum class RegistryKind : std::uint8_t {
  sealed = 1,    // or about to be
  unsealed = 2,  // its record is gone
  cut = 3,       // the entries before this one ended in damage, which was taken for the end of a crash
};

struct RegistryEntry {
  static constexpr std::size_t bytes = 80;
  RegistryKind kind = RegistryKind::sealed;
  std::uint32_t tree = 0;     // its number in the file `trees`
  std::uint64_t logical = 0;  // bytes of the file that are in chunks
  KernelHandle file{};
  friend bool operator==(const RegistryEntry&, const RegistryEntry&) = default;
};
base::Bytes encode(const RegistryEntry& entry);
std::optional<RegistryEntry> decode_registry_entry(base::BytesView bytes);
base::Bytes encode_registry_header(const StoreId& store);
bool is_registry_header(base::BytesView bytes, const StoreId& store);

// Thread-safe. One process has it open for writing.
class Registry {
 public:
  static constexpr const char* name = "registry";

  // EBADMSG: its head is not that of this store's registry. For writing, one that is not there is made; what
  // a crash left of the last entries is overwritten, and that is noted.
  static base::Result<std::unique_ptr<Registry>> open(Medium& medium, const StoreId& store, OpenFor what);

  // Puts another one in the place of what is there, in one step; it is on the medium on return. `fill` hands
  // on the entries. Whoever has the registry open has the former one.
  using Add = std::function<base::Result<void>(const RegistryEntry& entry)>;
  static base::Result<void> replace(Medium& medium, const StoreId& store,
                                    const std::function<base::Result<void>(const Add& add)>& fill);

  // They are on the medium on return. Who comes while others are synced shares the next sync. ENOSPC, EDQUOT:
  // they were not added, and later there may be room. After another error nothing is added any more: EIO.
  base::Result<void> append(std::span<const RegistryEntry> entries);
  // Each entry in the order in which it was added, but those that are being added; returns how many are
  // damaged.
  base::Result<std::uint64_t> walk(const std::function<void(const RegistryEntry&)>& take);

 private:
  explicit Registry(std::unique_ptr<File> file) : file_(std::move(file)) {}
  base::Result<void> find_end();
  // Nobody adds to what was opened for reading: then it is that of the file.
  std::uint64_t end_of_entries();
  base::Result<void> write(std::span<const RegistryEntry> entries);
  base::Result<void> sync_to(std::uint64_t end);

  const std::unique_ptr<File> file_;
  std::mutex mutex_;       // of what is added
  std::uint64_t end_ = 0;  // behind the last entry; 0: nothing is added
  bool broken_ = false;
  std::mutex syncing_;
  std::uint64_t synced_ = 0;
};

}  // namespace braid::store
