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
#include "store/chunks/container_format.h"
#include "store/medium/medium.h"

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

// Thread-safe. One process has it open for writing. The medium outlives it.
class Registry {
 public:
  static constexpr const char* name = "registry";

  // EBADMSG: its head is not that of this store's registry. For writing, one that is not there is made; what
  // a crash left of the last entries is overwritten, and that is noted.
  static base::Result<std::unique_ptr<Registry>> open(Medium& medium, const StoreId& store, OpenFor what);

  // Puts another one in the place of what is there, in one step; it is on the medium on return. `fill` hands
  // on the entries. Whoever has the registry open has the former one. The file `gone` goes with that.
  using Add = std::function<base::Result<void>(const RegistryEntry& entry)>;
  static base::Result<void> replace(Medium& medium, const StoreId& store,
                                    const std::function<base::Result<void>(const Add& add)>& fill);

  // They are on the medium on return. Who comes while others are synced shares the next sync. ENOSPC, EDQUOT:
  // they were not added, and later there may be room. After another error nothing is added any more: EIO.
  base::Result<void> append(std::span<const RegistryEntry> entries);
  // Each entry in the order in which it was added, but those that are added meanwhile; returns how many are
  // damaged.
  base::Result<std::uint64_t> walk(const std::function<void(const RegistryEntry&)>& take);

  // A place between entries, as of the last rewrite().
  using Place = std::uint64_t;
  // Behind the last entry; of what was opened for reading, behind all that will ever be there.
  Place end();
  // The same of the entries before `end`, each with its place.
  using TakePlaced = std::function<void(Place at, const RegistryEntry&)>;
  base::Result<std::uint64_t> walk_to(Place end, const TakePlaced& take);

  // Whoever added an entry before the returned place has ended since: its file has got its record, or gets
  // none by that entry. Called when a mark begins. Entries are added within uses (pins.h): none that has not
  // ended began before `since`; `last` tells the number of the last one.
  Place settle(std::uint64_t since, const std::function<std::uint64_t()>& last);
  // Puts one in its place, in one step, that lacks the entries before `end` which are not to be kept. Others
  // may add to it and walk it meanwhile. It is on the medium on return. EBADMSG: an entry before `end` is
  // damaged. On an error all stays as it was; if nobody knows which one the medium has, nothing is added any
  // more.
  using Keep = std::function<bool(Place at, const RegistryEntry&)>;
  base::Result<void> rewrite(Place end, const Keep& keep);

 private:
  class Fresh;
  Registry(Medium& medium, const StoreId& store, std::shared_ptr<File> file)
      : medium_(medium), store_(store), file_(std::move(file)) {}
  base::Result<void> find_end();
  base::Result<void> write(std::span<const RegistryEntry> entries);
  base::Result<void> sync_to(Place end);
  std::shared_ptr<File> file();
  // Of a file that is one.
  static base::Result<std::uint64_t> walk_file(File& file, Place begin, Place end, const TakePlaced& take);
  struct Settled {
    Place end = 0;           // of entries that are
    Place marked_end = 0;    // of those that were there when settle() was called last
    std::uint64_t last = 0;  // use then
  };
  Settled settled();
  base::Result<void> put_in_place(Fresh& fresh, Place copied, const Settled& settled);

  Medium& medium_;
  const StoreId store_;
  // Whoever needs both takes `syncing_` first.
  std::mutex syncing_;
  Place synced_ = 0;
  std::mutex mutex_;  // of all that follows
  std::shared_ptr<File> file_;
  Place end_ = 0;  // behind the last entry; 0: it was opened for reading
  bool broken_ = false;
  Settled settled_;
};

}  // namespace braid::store
