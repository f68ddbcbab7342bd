// braid store seal, braid store unseal
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "base/exit_code.h"
#include "store/sealing/sealer.h"
#include "store/sealing/unseal.h"
#include "tools/own_file.h"
#include "tools/store_command.h"
#include "tools/store_tree.h"
#include "tools/tree_files.h"

namespace braid::tools {
namespace {

// What became of the files.
struct SealTotals {
  std::atomic<std::uint64_t> sealed{0}, bytes{0}, small{0}, already{0}, in_use{0}, failed{0};
  std::atomic<std::uint64_t> bytes_done{0};  // sizes of those that were looked at
  std::atomic<std::size_t> files_done{0};
};

std::string text_of_seal_error(base::Errno error) {
  if (error == base::errno_of(EBADMSG))
    return "its record is damaged, of another store, or was copied from another file (braid store adopt)";
  if (error == base::errno_of(ENOTSUP)) return "its record is of a later version of braid";
  if (error == base::errno_of(EBUSY))
    return "a local process has written to it since it was sealed; copy it through a mount of the export";
  if (error == base::errno_of(EIO)) return "some of its bytes cannot be read; it stays as it is";
  return base::message_of(error);
}

// One thread's share.
class SealWorker {
 public:
  SealWorker(StoreTree& tree, hashing::Profile profile, SealTotals& totals)
      : store_(*tree.store), sealer_(*tree.store, tree.number, profile), totals_(totals) {}

  void take(const std::string& path) {
    OwnFile file;
    const Taken taken = take_file("seal", path, file);
    if (taken != Taken::yes) {
      ++(taken == Taken::in_use ? totals_.in_use : totals_.failed);
      return;
    }
    store::SealDraft draft;
    draft.file = store_.medium().file_of(file.fd.get());
    draft.untouched = [lease = file.lease] { return lease->held(); };
    const auto prepared = sealer_.prepare(draft);
    totals_.bytes_done += file.size;
    if (!prepared) {
      complain("seal", path, text_of_seal_error(prepared.error()));
      ++totals_.failed;
    } else if (draft.outcome == store::SealOutcome::sealed) {
      const std::uint64_t bytes = draft.record.mapped;
      batch_.add(path, std::move(file), std::move(draft), bytes);
      if (batch_.full()) commit();
    } else {
      ++(draft.outcome == store::SealOutcome::small     ? totals_.small
         : draft.outcome == store::SealOutcome::changed ? totals_.in_use
                                                        : totals_.already);
    }
  }
  void commit() {
    const auto done = sealer_.commit(batch_.drafts);
    for (std::size_t i = 0; i < batch_.drafts.size(); ++i) {
      const bool sealed = done && batch_.drafts[i].outcome == store::SealOutcome::sealed;
      if (!done) complain("seal", batch_.paths[i], base::message_of(done.error()));
      ++(sealed ? totals_.sealed : done ? totals_.in_use : totals_.failed);
      if (sealed) totals_.bytes += batch_.drafts[i].record.mapped;
    }
    batch_.clear();
  }

 private:
  store::Store& store_;
  store::Sealer sealer_;
  SealTotals& totals_;
  FileBatch<store::SealDraft> batch_;
};

void seal_files(StoreTree& tree, const TreeFiles& files, hashing::Profile profile, unsigned threads,
                SealTotals& totals) {
  std::atomic<std::size_t> next{0};
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::jthread> workers;
  workers.reserve(threads);
  for (unsigned i = 0; i < threads; ++i)
    workers.emplace_back([&] {
      SealWorker worker(tree, profile, totals);
      for (std::size_t f = next++; f < files.paths.size(); f = next++) {
        worker.take(files.paths[f]);
        ++totals.files_done;
      }
      worker.commit();
    });
  const bool draw = ::isatty(STDERR_FILENO) != 0;
  while (draw && totals.files_done < files.paths.size()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    draw_progress(totals.bytes_done, files.bytes,
                  std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  workers.clear();
  if (draw) fmt::print(stderr, "\n");
}

class UnsealWorker {
 public:
  explicit UnsealWorker(StoreTree& tree) : tree_(tree) {}

  void take(const std::string& path) {
    OwnFile file;
    const Taken taken = take_file("unseal", path, file);
    if (taken != Taken::yes) {
      if (taken == Taken::in_use) complain("unseal", path, "it is in use");
      ++failed;
      return;
    }
    store::UnsealDraft draft;
    draft.file = tree_.store->medium().file_of(file.fd.get());
    const std::uint64_t bytes = file.size;
    batch_.add(path, std::move(file), std::move(draft), bytes);
    bytes_done += bytes;
    if (batch_.full()) commit();
  }
  void commit() {
    store::unseal(*tree_.store, tree_.number, batch_.drafts);
    for (std::size_t i = 0; i < batch_.drafts.size(); ++i) {
      const base::Result<bool>& outcome = batch_.drafts[i].outcome;
      if (!outcome) complain("unseal", batch_.paths[i], text_of_seal_error(outcome.error()));
      if (!outcome) ++failed;
      if (outcome && *outcome) ++unsealed;
    }
    batch_.clear();
  }

  std::uint64_t unsealed = 0, failed = 0, bytes_done = 0;

 private:
  StoreTree& tree_;
  FileBatch<store::UnsealDraft> batch_;
};

}  // namespace

int seal_tree(const StoreSealCommand& command) {
  const auto compression =
      store::parse_compression(command.compression).value_or(store::CompressionOptions());
  auto tree =
      open_store_tree(command.store, store::OpenFor::creating, "braid store seal", command.path, compression);
  if (!tree) {
    fmt::print(stderr, "braid store seal: {}\n", tree.error());
    return base::exit_failed;
  }
  const TreeFiles files = list_files(
      command.path, {.one_file_system = true, .left_out = command.store},
      [](const std::string& path, base::Errno error) { complain("seal", path, base::message_of(error)); });
  SealTotals totals;
  const unsigned threads =
      command.threads > 0 ? command.threads : std::max(1U, std::thread::hardware_concurrency());
  const auto profile = hashing::parse_profile(command.profile).value_or(hashing::Profile::general);
  seal_files(*tree, files, profile, threads, totals);
  const store::ChunkCounts counts = tree->store->chunks().counts();
  fmt::print("{} files sealed, {} bytes; {} new bytes in the store\n", totals.sealed.load(),
             totals.bytes.load(), counts.bytes_added);
  fmt::print("{} were sealed before, {} have too little to seal\n", totals.already.load(),
             totals.small.load());
  if (totals.in_use > 0)
    fmt::print("{} are in use, or changed meanwhile, and stay as they are\n", totals.in_use.load());
  const std::uint64_t failed = totals.failed + files.unreadable;
  if (failed > 0) fmt::print("{} could not be sealed\n", failed);
  return failed == 0 ? 0 : base::exit_failed;
}

int unseal_tree(const StoreUnsealCommand& command) {
  auto tree = open_store_tree(command.store, store::OpenFor::writing, "braid store unseal", command.path);
  if (!tree) {
    fmt::print(stderr, "braid store unseal: {}\n", tree.error());
    return base::exit_failed;
  }
  UnsealWorker worker(*tree);
  const std::uint64_t unreadable = take_files("unseal", command.path, command.store, worker);
  const std::uint64_t failed = worker.failed + unreadable;
  fmt::print("{} files unsealed\n", worker.unsealed);
  if (failed > 0) fmt::print("{} could not be unsealed\n", failed);
  return failed == 0 ? 0 : base::exit_failed;
}

}  // namespace braid::tools
