// Finds what no file of a store needs any more, and removes it.
//
// A mark looks at the records of all files that were ever sealed, and follows their recipes as READ does: to
// where they say that a chunk lies, and to where the index does. What two marks or more have missed, for long
// enough, goes. After each mark the file systems are synced: so no crash brings a record back that the mark
// has not seen. Who puts chunks meanwhile pins their containers (pins.h). If anything cannot be looked at,
// nothing is removed.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "store/live_set.h"
#include "store/marks_file.h"
#include "store/record.h"
#include "store/registry.h"
#include "store/sealed_trees.h"
#include "store/store.h"

namespace braid::store {

struct GcOptions {
  std::uint64_t keep_seconds = 24U * 60 * 60;  // garbage is kept for so long after a mark has first missed it
  std::function<bool()> stop{};                // asked from time to time; empty: never
};

struct GcReport {
  bool stopped = false;  // since options.stop said so
  // Why nothing was removed, a sentence; empty: everything was looked at.
  std::string alarm{};
  std::uint64_t files = 0;  // sealed ones that the last mark has seen
  std::uint64_t removed = 0, removed_bytes = 0;
  std::uint64_t live_bytes = 0, garbage_bytes = 0;  // in containers, after that
  std::uint64_t waiting_bytes = 0;                  // of garbage: what goes when it has been kept long enough
};

// For who watches, from any thread.
struct GcProgress {
  std::atomic<std::uint64_t> files{0}, removed{0};
  std::atomic<unsigned> marks{0};  // that have ended
};

// Of a store that is open for writing, and no file of which is open without a name; one thread at a time.
class Collector {
 public:
  Collector(Store& store, SealedTrees& trees, const base::Clock& clock, GcOptions options)
      : store_(store), trees_(trees), clock_(clock), options_(std::move(options)) {}

  // Marks, once more if something can go by that, and removes what can.
  GcReport run(GcProgress& progress);

 private:
  // What tells a file from the others.
  struct FileKey {
    std::uint64_t a = 0, b = 0;
    friend bool operator==(const FileKey&, const FileKey&) = default;
  };
  struct FileKeyHash {
    std::size_t operator()(const FileKey& key) const { return static_cast<std::size_t>(key.a); }
  };
  struct FileState {
    bool unsealed = false;  // by the last entry
    bool visited = false;
  };
  std::set<std::uint32_t> forgotten_trees();
  using Files = std::unordered_map<FileKey, FileState, FileKeyHash>;
  static FileKey key_of(const RegistryEntry& entry);

  [[nodiscard]] bool goes_on();
  void give_up(std::string why);
  void mark(GcProgress& progress);
  void mark_registry(GcProgress& progress);
  Files files_of_registry();
  void mark_file(const RegistryEntry& entry, bool unsealed);
  bool mark_record(const Record& record);
  bool mark_root(const ChunkRef& root);
  bool mark_node(const Node& node);
  bool mark_child(const ChunkRef& chunk);
  bool mark_data(const ChunkRef& chunk);
  bool is_there(Location at, ChunkKind kind, const hashing::Digest& id);
  // What the last mark has missed, and the time since when each has.
  base::Result<void> note_missed();
  [[nodiscard]] std::vector<std::uint32_t> due(const Marks& before) const;
  void remove(const std::vector<std::uint32_t>& containers, GcProgress& progress);
  base::Result<void> remove_one(std::uint32_t number);
  [[nodiscard]] std::uint64_t now() const;

  Store& store_;
  SealedTrees& trees_;
  const base::Clock& clock_;
  const GcOptions options_;
  GcReport report_;
  Marks marks_;
  LiveSet live_;
  std::vector<std::uint32_t> containers_;  // when the mark began
  std::uint32_t last_ = 0;                 // container then: it and those behind it stay
  std::uint64_t pinned_since_ = 0;
};

}  // namespace braid::store
