// Finds what no file of a store needs any more, and removes it.
//
// A mark looks at the records of all files that were ever sealed, and follows their recipes as READ does: to
// where they say that a chunk lies, and to where the index does. What two marks or more have missed, for long
// enough, goes: containers of which nothing is in use, and of those that are less than half in use what is
// not; the rest of these is moved, and an entry says where to (forwarding.h), as long as a recipe names the
// old place. After each mark the file systems are synced: so no crash brings a record back that the mark has
// not seen. Who puts chunks meanwhile pins their containers (pins.h). If anything cannot be looked at,
// nothing is removed.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "store/maintenance/live_set.h"
#include "store/maintenance/registered_files.h"
#include "store/maintenance/sealed_trees.h"
#include "store/marks_file.h"
#include "store/recipes/record.h"
#include "store/store.h"

namespace braid::store {

struct GcOptions {
  // The registry is written anew when it has so many entries more than it needs, and that is half of all.
  std::uint64_t registry_slack = 16384;
  std::uint64_t keep_seconds = 24U * 60 * 60;  // garbage is kept for so long after a mark has first missed it
  std::function<bool()> stop{};                // asked from time to time; empty: never
  // Called after so many bytes were moved: waits as long as that is to take. Empty: nobody waits.
  std::function<void(std::uint64_t bytes)> pace{};
  // Records of files that somebody has open: one without a name is no file of its tree any more. Empty: there
  // are none.
  std::function<std::vector<Record>()> open_records{};
};

struct GcReport {
  bool stopped = false;  // since options.stop said so
  // Why nothing was removed, a sentence; empty: everything was looked at.
  std::string alarm{};
  std::uint64_t files = 0;  // sealed ones that the last mark has seen
  std::uint64_t removed = 0, removed_bytes = 0;
  std::uint64_t rewritten = 0, moved_bytes = 0;     // containers, and what was in use of them
  std::uint64_t live_bytes = 0, garbage_bytes = 0;  // in containers, after that
  std::uint64_t waiting_bytes = 0;                  // of garbage: what goes when it has been kept long enough
  std::uint64_t entries_dropped = 0;                // of the registry, which was written anew without them
};

// For who watches, from any thread.
struct GcProgress {
  std::atomic<std::uint64_t> files{0}, removed{0}, rewritten{0};
  std::atomic<unsigned> marks{0};  // that have ended
};

// Of a store that is open for writing; one thread at a time. Others may seal, read and write meanwhile.
class Collector {
 public:
  Collector(Store& store, SealedTrees& trees, const base::Clock& clock, GcOptions options)
      : store_(store), trees_(trees), clock_(clock), options_(std::move(options)) {}

  // Marks, once more if something can go by that, and removes what can.
  GcReport run(GcProgress& progress);

 private:
  std::set<std::uint32_t> forgotten_trees();

  [[nodiscard]] bool goes_on();
  void give_up(std::string why);
  void mark(GcProgress& progress);
  void mark_registry(GcProgress& progress);
  void mark_open_files();
  Presence mark_file(const RegistryEntry& entry, bool unsealed);
  bool mark_record(const Record& record);
  // Of a place of a chunk, and those that it was moved to since.
  struct Seen {
    bool fresh = false;  // this mark had not seen it
    bool there = false;  // there are containers
  };
  Seen add_live(Location at, std::uint64_t bytes);
  [[nodiscard]] bool is_container(std::uint32_t number) const;
  void find_forwarding();
  bool mark_root(const ChunkRef& root);
  bool mark_node(const Node& node);
  bool mark_child(const ChunkRef& chunk);
  bool mark_data(const ChunkRef& chunk);
  // Another place that READ finds it in, when what the recipe names is bad: that of the index, which may be
  // ahead of what a crash has left of containers.
  std::optional<Location> elsewhere(ChunkKind kind, const ChunkRef& chunk);
  // What the last mark has missed, or nearly so, and the time since when each has.
  base::Result<void> note_missed();
  base::Result<void> put_marks();
  // Bytes of a container that are in use, as they lie there.
  std::uint64_t live_bytes_of(std::uint32_t number);
  struct Fill {
    std::uint64_t bytes = 0, live = 0;
  };
  void note_thin(std::uint32_t number, const Fill& fill, Marks& next) const;
  [[nodiscard]] std::vector<std::uint32_t> due(const Marks& before) const;
  void remove(const std::vector<std::uint32_t>& containers, GcProgress& progress);
  base::Result<void> remove_one(std::uint32_t number);
  // Containers of which it has seen little, and the same as each mark for long enough.
  [[nodiscard]] std::vector<std::uint32_t> due_to_rewrite(const Marks& before) const;
  void rewrite(const std::vector<std::uint32_t>& containers, GcProgress& progress);
  // False: it stays, since something in it cannot be read.
  base::Result<bool> rewrite_one(std::uint32_t number);
  // Nothing: a chunk cannot be read.
  base::Result<std::optional<std::vector<ForwardingEntry>>> move_chunks(std::uint32_t number);
  // Chunks of a container that are put into another one together.
  struct Moving {
    ChunkKind kind = ChunkKind::data;
    std::size_t size = 0;  // of all of them
    std::vector<Containers::NewChunk> chunks{};
    std::vector<std::uint32_t> offsets{};  // where they were
    std::vector<ChunkStore::Bytes> bytes{};
  };
  // Ends with an empty `moving`, unless it fails.
  base::Result<void> move(Moving& moving, std::vector<ForwardingEntry>& out);
  base::Result<void> forget_in_index(std::uint32_t number);
  void shorten_registry();
  [[nodiscard]] std::uint64_t now() const;

  Store& store_;
  SealedTrees& trees_;
  const base::Clock& clock_;
  const GcOptions options_;
  GcReport report_;
  Marks marks_;
  LiveSet live_;
  std::optional<RegisteredFiles> files_;   // as the mark has seen them, until it has ended
  std::vector<std::uint32_t> containers_;  // when the mark began
  // Of them: those that were rewritten, and those that cannot be told.
  std::unordered_set<std::uint32_t> forwarding_, unknown_;
  std::uint32_t last_ = 0;  // container then
  // It and those behind it stay: they may have chunks that are found by the index alone, and it may not know
  // them yet.
  std::uint32_t kept_from_ = 0;
  std::uint64_t pinned_since_ = 0;
};

}  // namespace braid::store
