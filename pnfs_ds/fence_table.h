// Which handles a data server refuses, though they are signed: what was granted has ended.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string_view>
#include <vector>

#include "pnfs/data_handle.h"
#include "pnfs_ds/fence_record.h"

namespace braid::pnfs_ds {

enum class Refusal : std::uint8_t {
  none,
  returned,  // the grant is lower than any that is still in force
  barred,    // its client is
  fenced,    // the object has a newer epoch, and its client has not kept it
  removed,   // the object is gone
};
std::string_view name_of(Refusal refusal);

// Thread-safe; check() is for every READ and WRITE. In memory: whoever adds something has it on the medium
// before (fence_record.h). What the lowest grant makes needless is forgotten, so the table is as large as
// what has been fenced since the oldest layout that is still out.
class FenceTable {
 public:
  [[nodiscard]] Refusal check(const pnfs::DataHandle& handle) const;
  // The object is gone for ever, as far as that is not forgotten (LowestGrant).
  [[nodiscard]] bool is_removed(const ObjectKey& key) const;

  // Adding it would change nothing. Of the lowest grant nobody says so: it may be in memory alone.
  [[nodiscard]] bool in_force(const FenceRecord& record) const;

  // Fences only grow: one that is weaker than what is there changes nothing.
  void add(const FenceRecord& record);
  // The weakest records that make such a table.
  [[nodiscard]] std::vector<FenceRecord> records() const;
  // As many as records() would have.
  [[nodiscard]] std::size_t size() const;

 private:
  struct ObjectFence {
    pnfs::Epoch epoch{};
    pnfs::GrantNumber last{};
    std::optional<pnfs::KeptHandles> kept{};  // of lower epochs
    bool removed = false;
  };

  [[nodiscard]] static bool is_fenced(const ObjectFence& fence, const pnfs::DataHandle& handle);
  [[nodiscard]] bool has(const EpochFence& fence) const;
  [[nodiscard]] bool has(const RemovedObject& removed) const;
  [[nodiscard]] bool has(const BarredClient& barred) const;
  [[nodiscard]] static bool has(const LowestGrant& /*lowest*/) { return false; }
  void add_one(const EpochFence& fence);
  void add_one(const RemovedObject& removed);
  void add_one(const BarredClient& barred);
  void add_one(const LowestGrant& lowest);
  void forget_needless();

  std::atomic<std::uint64_t> lowest_{0};
  std::atomic<bool> any_{false};  // there is more than that: look into the maps
  mutable std::shared_mutex mutex_;
  std::map<ObjectKey, ObjectFence> objects_;
  std::map<pnfs::ClientTag, pnfs::GrantNumber> clients_;
};

}  // namespace braid::pnfs_ds
