// What the tests of power cuts do, and what they put in the place of an index and of a file system.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/chunks/index.h"
#include "store/maintenance/sealed_trees.h"
#include "store/recipes/record.h"
#include "tests/unit/store/crash_disk.h"

namespace braid::store::test {

// Survives crashes, as far ahead of the containers as it may be; or is broken, and knows nothing.
using Known = std::map<hashing::Digest, Location>;
class KnownIndex final : public Index {
 public:
  KnownIndex(Known& known, bool broken) : known_(known), broken_(broken) {}
  std::optional<Location> find(const hashing::Digest& id) override {
    const auto found = known_.find(id);
    return broken_ || found == known_.end() ? std::nullopt : std::optional(found->second);
  }
  void put(const hashing::Digest& id, Location at) override { known_[id] = at; }
  void remove(const hashing::Digest& id) override { known_.erase(id); }
  std::optional<Location> known_to() override { return std::nullopt; }
  void put_known_to(Location /*at*/) override {}
  std::optional<base::Bytes> note(const hashing::Digest& /*file*/) override { return std::nullopt; }
  void put_note(const hashing::Digest& /*file*/, base::BytesView /*note*/) override {}
  void flush() override {}
  [[nodiscard]] std::uint64_t entries_about() const override { return known_.size(); }

 private:
  Known& known_;
  const bool broken_;
};

enum class What : std::uint8_t {
  write,
  stream,  // a write that a window may take
  stable_write,
  commit,
  resize,
  punch,
  allocate,
  seal,
  prepare,     // a seal that ends before anything is announced
  live_seal,   // a server's: with a length, that is written while it is prepared
  range_seal,  // the same of a file that clients write to all the time, there and elsewhere
  unseal,
  restart,
  again,           // the first bytes that were written are written once more
  collect,         // garbage
  collect_alone,   // when the file's tree is not there
  seal_collecting  // garbage is collected after the chunks are there; with an offset, they come meanwhile
};
struct Step {
  What what = What::write;
  std::uint64_t offset = 0, length = 0;
};

// Mistakes that the checkers are to find.
enum class Plant : std::uint8_t {
  none,
  containers_not_synced,      // a record before its chunks
  edges_left_out,             // of a block that is written to first, the rest is zeros
  grown_behind_its_back,      // what was cut off is still in the recipe
  enters_announced_ranges,    // writes before the steps are done
  punched_before_the_record,  // what the recipe has is older
  hits_not_synced,            // a chunk that was there already is taken to be on the medium
  not_looked_at_again,        // what was written while a server's seal was prepared is punched
  writes_not_noted,           // the same of a file that clients write to all the time
  marked_and_not_synced,      // garbage is what a crash may bring back
  tree_taken_for_empty,       // its files are not there, so they need nothing
  moved_and_not_synced,       // a container is rewritten before what moved is on the medium
  forwarding_lost,            // nothing leads from where a chunk was to where it is
  window_forgotten_on_cut,    // what is cut off is still in the window
  window_not_committed,       // COMMIT leaves the window as it is
  hits_not_pinned             // a chunk is found in the index, and its container goes away
};

// What clients have written to.
class NotedBlocks {
 public:
  void note(std::uint64_t offset, std::uint64_t length) {
    for (std::uint64_t at = offset / bytes * bytes; at < offset + length; at += bytes) blocks_.insert(at);
  }
  [[nodiscard]] std::vector<Extent> all() const {
    std::vector<Extent> out;
    for (const std::uint64_t at : blocks_) {
      if (out.empty() || out.back().end != at) out.push_back({at, at});
      out.back().end += bytes;
    }
    return out;
  }

 private:
  static constexpr std::uint64_t bytes = CrashInode::block_bytes;
  std::set<std::uint64_t> blocks_;
};

// The one that the exported file is on.
class CrashTrees final : public SealedTrees {
 public:
  CrashTrees(CrashDisk& disk, Plant plant, bool there) : disk_(disk), plant_(plant), there_(there) {}
  base::Result<std::optional<base::Bytes>> record_of(std::uint32_t /*tree*/,
                                                     const KernelHandle& /*file*/) override {
    if (there_) return disk_.exported()->attribute(record_name);
    if (plant_ == Plant::tree_taken_for_empty) return std::nullopt;
    return base::fail(ENXIO);
  }
  std::string sync() override {
    if (plant_ != Plant::marked_and_not_synced && !disk_.exported()->sync_file_system()) return "no sync";
    if (meanwhile) std::exchange(meanwhile, {})();
    return {};
  }
  std::string name_of(std::uint32_t /*tree*/, const KernelHandle& /*file*/) override { return "the file"; }

  std::function<void()> meanwhile;

 private:
  CrashDisk& disk_;
  const Plant plant_;
  const bool there_;
};

}  // namespace braid::store::test
