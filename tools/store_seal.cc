// braid store seal, braid store unseal
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <optional>
#include <thread>
#include <vector>

#include "base/exit_code.h"
#include "store/sealer.h"
#include "tools/store_command.h"
#include "tools/store_tree.h"
#include "tools/tree_files.h"

namespace braid::tools {
namespace {

// So many are made durable together; who waits for a file's lease does not wait for more.
constexpr std::size_t batch_files_max = 64;
constexpr std::uint64_t batch_bytes_max = 256 * base::MiB;

// What became of the files.
struct SealTotals {
  std::atomic<std::uint64_t> sealed{0}, bytes{0}, small{0}, already{0}, in_use{0}, failed{0};
  std::atomic<std::uint64_t> bytes_done{0};  // sizes of those that were looked at
  std::atomic<std::size_t> files_done{0};
};

void complain(std::string_view command, const std::string& path, std::string_view what) {
  fmt::print(stderr, "braid store {}: {}: {}\n", command, path, what);
}

std::string text_of_seal_error(base::Errno error) {
  if (error == base::errno_of(EBADMSG))
    return "its record is damaged, of another store, or was copied from another file";
  if (error == base::errno_of(ENOTSUP)) return "its record is of a later version of braid";
  if (error == base::errno_of(EBUSY))
    return "a local process has written to it since it was sealed; copy it through a mount of the export";
  if (error == base::errno_of(EIO)) return "some of its bytes cannot be read; it stays as it is";
  return base::message_of(error);
}

// Nobody else has it open as long as this lives.
struct OwnFile {
  base::UniqueFd fd;
  std::optional<store::FileLease> lease;  // ends before fd is closed
  std::uint64_t size = 0;
};

enum class Taken : std::uint8_t { yes, in_use, failed };

Taken take_file(std::string_view command, const std::string& path, OwnFile& out) {
  out.fd = base::UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOATIME));
  if (!out.fd && (errno == ETXTBSY || errno == EWOULDBLOCK)) return Taken::in_use;
  struct stat status{};
  if (!out.fd || ::fstat(out.fd.get(), &status) != 0) {
    complain(command, path, base::message_of(base::last_errno()));
    return Taken::failed;
  }
  out.size = static_cast<std::uint64_t>(status.st_size);
  auto lease = store::FileLease::take(out.fd.get());
  if (!lease && lease.error() == base::errno_of(EAGAIN)) return Taken::in_use;
  if (!lease) {
    complain(command, path, base::message_of(lease.error()));
    return Taken::failed;
  }
  out.lease.emplace(std::move(*lease));
  return Taken::yes;
}

// One thread's share.
class SealWorker {
 public:
  SealWorker(StoreTree& tree, hashing::Profile profile, SealTotals& totals)
      : store_(*tree.store), sealer_(*tree.store, tree.number, profile), totals_(totals) {}

  void take(const std::string& path) {
    OwnFile& file = files_.emplace_back();
    const Taken taken = take_file("seal", path, file);
    if (taken != Taken::yes) {
      ++(taken == Taken::in_use ? totals_.in_use : totals_.failed);
      files_.pop_back();
      return;
    }
    store::SealDraft draft;
    draft.file = store_.medium().file_of(file.fd.get());
    draft.untouched = [&file] { return file.lease->held(); };
    const auto prepared = sealer_.prepare(draft);
    totals_.bytes_done += file.size;
    if (!prepared) {
      complain("seal", path, text_of_seal_error(prepared.error()));
      ++totals_.failed;
    } else if (draft.outcome == store::SealOutcome::sealed) {
      held_bytes_ += draft.record.mapped;
      drafts_.push_back(std::move(draft));
      paths_.push_back(path);
      if (drafts_.size() >= batch_files_max || held_bytes_ >= batch_bytes_max) commit();
      return;
    } else {
      ++(draft.outcome == store::SealOutcome::small     ? totals_.small
         : draft.outcome == store::SealOutcome::changed ? totals_.in_use
                                                        : totals_.already);
    }
    draft.file.reset();
    files_.pop_back();
  }
  void commit() {
    const auto done = sealer_.commit(drafts_);
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      const bool sealed = done && drafts_[i].outcome == store::SealOutcome::sealed;
      if (!done) complain("seal", paths_[i], base::message_of(done.error()));
      ++(sealed ? totals_.sealed : done ? totals_.in_use : totals_.failed);
      if (sealed) totals_.bytes += drafts_[i].record.mapped;
    }
    drafts_.clear();
    paths_.clear();
    files_.clear();
    held_bytes_ = 0;
  }

 private:
  store::Store& store_;
  store::Sealer sealer_;
  SealTotals& totals_;
  std::deque<OwnFile> files_;
  std::vector<store::SealDraft> drafts_;
  std::vector<std::string> paths_;
  std::uint64_t held_bytes_ = 0;
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
    OwnFile& file = files_.emplace_back();
    const Taken taken = take_file("unseal", path, file);
    if (taken != Taken::yes) {
      if (taken == Taken::in_use) complain("unseal", path, "it is in use");
      ++failed;
      files_.pop_back();
      return;
    }
    drafts_.emplace_back().file = tree_.store->medium().file_of(file.fd.get());
    paths_.push_back(path);
    held_bytes_ += file.size;
    bytes_done += file.size;
    if (drafts_.size() >= batch_files_max || held_bytes_ >= batch_bytes_max) commit();
  }
  void commit() {
    store::unseal(*tree_.store, tree_.number, drafts_);
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      const base::Result<bool>& outcome = drafts_[i].outcome;
      if (!outcome) complain("unseal", paths_[i], text_of_seal_error(outcome.error()));
      if (!outcome) ++failed;
      if (outcome && *outcome) ++unsealed;
    }
    drafts_.clear();
    paths_.clear();
    files_.clear();
    held_bytes_ = 0;
  }

  std::uint64_t unsealed = 0, failed = 0, bytes_done = 0;

 private:
  StoreTree& tree_;
  std::deque<OwnFile> files_;
  std::vector<store::UnsealDraft> drafts_;
  std::vector<std::string> paths_;
  std::uint64_t held_bytes_ = 0;
};

}  // namespace

int seal_tree(const StoreSealCommand& command) {
  auto tree = open_store_tree(command.store, store::OpenFor::creating, "braid store seal", command.path);
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
  const auto walk_complaint = [](const std::string& path, base::Errno error) {
    complain("unseal", path, base::message_of(error));
  };
  const TreeFiles files =
      list_files(command.path, {.one_file_system = true, .left_out = command.store}, walk_complaint);
  UnsealWorker worker(*tree);
  const bool draw = ::isatty(STDERR_FILENO) != 0;
  const auto start = std::chrono::steady_clock::now();
  for (const std::string& path : files.paths) {
    worker.take(path);
    if (draw)
      draw_progress(worker.bytes_done, files.bytes,
                    std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  worker.commit();
  if (draw) fmt::print(stderr, "\n");
  const std::uint64_t failed = worker.failed + files.unreadable;
  fmt::print("{} files unsealed\n", worker.unsealed);
  if (failed > 0) fmt::print("{} could not be unsealed\n", failed);
  return failed == 0 ? 0 : base::exit_failed;
}

}  // namespace braid::tools
