// What a server does with a store of its own accord, and for an administrator: it seals files that have been
// left alone for a while, and seals and unseals trees.
#pragma once

#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "io/gate.h"
#include "io/op.h"
#include "io/reactor.h"
#include "server/config/config.h"
#include "store/content/live_sealer.h"
#include "store/content/resting_files.h"
#include "vfs/export.h"

namespace braid::server::roles::stores {

// What became of the files of a tree.
struct SealJob {
  std::uint64_t number = 0;
  std::string path;  // on this machine
  bool unseals = false;
  bool running = false, ended = false;
  std::uint64_t files = 0, bytes = 0;  // that were looked at
  std::uint64_t done = 0, done_bytes = 0, small = 0, already = 0, in_use = 0, failed = 0;
};

struct WorkerCounts {
  std::uint64_t sealed = 0, sealed_bytes = 0, unsealed = 0, failed = 0, put_off = 0;
  store::RestingFiles::Counts resting;
};

// Of one store. It works on one reactor; what others may call says so.
class StoreWorker {
 public:
  // `hash`: what cuts and hashes, on threads that may wait; empty: their own hashers.
  StoreWorker(const config::StoreConfig& config, store::Store& store, store::StoreSource& source,
              const store::HashJob& hash);
  StoreWorker(const StoreWorker&) = delete;
  StoreWorker& operator=(const StoreWorker&) = delete;

  // An export with the store is opened; by the control thread, also later. One that is opened once more has
  // files open from before, which nobody here knows: nothing is sealed there until the server is started
  // anew.
  void add_export(const config::ExportConfig& config);
  // An export of another kind, which may lead to the same files.
  void add_other(const config::ExportConfig& config);
  void start(io::Reactor& reactor, const vfs::Exports& exports, const base::Clock& clock);
  // From any thread, from start() on: looks whether there is work; about every second, and when there is.
  void wake();
  // Ends soon, with what it has begun on a file; then there is no work any more. On the reactor.
  io::Op<> close();

  // Nobody goes on with any stream: what is in windows leaves memory. On a reactor.
  io::Op<> close_windows();
  // From any thread, without waiting: the tree of a file whose streams may be sealed while they are written.
  [[nodiscard]] std::optional<std::uint32_t> tree_alone(const vfs::FileHandle& file) const;

  // From any thread. The number of the job, or a sentence why there is none.
  std::expected<std::uint64_t, std::string> begin(const std::string& path, bool unseals);
  [[nodiscard]] std::optional<SealJob> job(std::uint64_t number) const;
  [[nodiscard]] WorkerCounts counts() const;
  // Whether a path lies in an export with this store.
  [[nodiscard]] bool has(const std::string& path) const;

 private:
  static constexpr std::size_t jobs_kept = 64;
  struct Place {
    config::ExportConfig config;
    std::string whole_path;  // of its directory
    bool reopened = false;
    std::optional<std::uint32_t> tree;
  };
  struct Shared {
    std::map<std::string, Place> places{};  // by the path of the export
    std::vector<std::string> others{};      // directories of exports without this store
    std::map<std::uint64_t, SealJob> jobs{};
    std::uint64_t last_job = 0;
    bool stopping = false, working = false, sweeping = false;
    WorkerCounts counts{};
  };
  // Of what there is to do on one file.
  struct Target {
    std::shared_ptr<vfs::FileSystem> file_system;
    std::uint32_t tree = 0;
    bool shared = false;  // another export is on the same file system
  };
  // A file that may have been left alone, and for how long it has.
  struct Resting {
    Target target{};
    vfs::FileRef file{};
    base::Duration rested{};
  };

  [[nodiscard]] bool stopping() const;
  io::Op<> work();
  // Windows that are idle, and whose files may have one.
  io::Op<> sweep_windows();
  void look_at_exports();
  [[nodiscard]] std::optional<SealJob> next_job(bool seals) const;
  io::Op<> seal_resting(const store::RestingFiles::Taken& taken);
  // Any error: it cannot be looked at, or is not to be sealed.
  vfs::VfsOp<Resting> find_resting(const vfs::FileHandle& handle);
  vfs::VfsOp<store::SealOutcome> seal_file(const Target& target, const vfs::FileRef& file, bool restless,
                                           store::LiveSealer& sealer);
  vfs::VfsOp<store::SealOutcome> unseal_file(const Target& target, const vfs::FileRef& file,
                                             store::LiveSealer& sealer);
  io::Op<> run(SealJob job);
  // What there is to do for a job.
  struct Walk {
    const Target& target;
    SealJob& job;
    std::vector<vfs::FileRef> directories{}, in_use{};            // that are left
    std::vector<std::pair<vfs::FileRef, std::uint64_t>> large{};  // with their sizes, of a directory
  };
  io::Op<> walk(Walk& walk, vfs::FileRef top);
  io::Op<> walk_name(Walk& walk, const vfs::FileRef& directory, const std::string& name,
                     store::LiveSealer& sealer);
  io::Op<> take_file(Walk& walk, const vfs::FileRef& file, std::uint64_t size, store::LiveSealer& sealer);
  void publish(const SealJob& job);
  // Nothing: none of its files is to be sealed now; `why` says it.
  std::optional<Target> target_of(const vfs::Export& served, std::string& why);
  // The same of one file, whose export is complained of once.
  std::optional<Target> target_of(const vfs::FileHandle& file);
  base::Result<std::uint32_t> tree_of(const Place& place);

  const config::StoreConfig config_;
  store::Store& store_;
  store::StoreSource& source_;
  store::RestingFiles resting_;
  std::deque<store::LiveSealer> sealers_;  // one for each of several files at a time
  base::Guarded<Shared> shared_;
  std::set<std::string> complained_;  // exports
  std::shared_ptr<const vfs::ExportTable> looked_at_;
  base::Guarded<std::map<vfs::ExportId, std::uint32_t>> trees_alone_;  // of exports
  const vfs::Exports* exports_ = nullptr;
  const base::Clock* clock_ = nullptr;
  base::Guarded<io::Reactor*> home_{std::in_place, nullptr};
  io::Gate gate_;
};

}  // namespace braid::server::roles::stores
