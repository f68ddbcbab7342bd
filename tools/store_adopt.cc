// braid store adopt
#include <fmt/format.h>

#include <cstdio>

#include "base/exit_code.h"
#include "store/maintenance/adopter.h"
#include "tools/own_file.h"
#include "tools/store_command.h"
#include "tools/store_tree.h"

namespace braid::tools {
namespace {

std::string text_of_adopt_error(base::Errno error) {
  if (error == base::errno_of(EBADMSG)) return "its record is damaged, or of another store";
  if (error == base::errno_of(ENOTSUP)) return "its record is of a later version of braid";
  if (error == base::errno_of(EBUSY))
    return "it was being sealed when it was copied; copy it again after braid check --repair";
  if (error == base::errno_of(EIO)) return "the store does not have all of its bytes";
  if (error == base::errno_of(EINVAL))
    return "it has zeros where the store has bytes: copied without its holes, or written since it was sealed "
           "(--zeros-were-written)";
  return base::message_of(error);
}

class AdoptWorker {
 public:
  AdoptWorker(StoreTree& tree, bool believes_zeros)
      : store_(*tree.store), adopter_(*tree.store, tree.number, believes_zeros) {}

  base::Result<void> begin() { return adopter_.begin(); }
  void take(const std::string& path) {
    OwnFile file;
    const Taken taken = take_file("adopt", path, file);
    if (taken == Taken::in_use) complain("adopt", path, "it is in use");
    if (taken != Taken::yes) {
      ++failed;
      return;
    }
    bytes_done += file.size;
    store::AdoptDraft draft;
    draft.file = store_.medium().file_of(file.fd.get());
    if (const auto prepared = adopter_.prepare(draft); !prepared) {
      complain("adopt", path, text_of_adopt_error(prepared.error()));
      ++failed;
    } else if (draft.outcome == store::AdoptOutcome::already) {
      ++already;
    } else if (draft.outcome == store::AdoptOutcome::adopted) {
      batch_.add(path, std::move(file), std::move(draft), 0);
      if (batch_.full()) commit();
    }
  }
  void commit() {
    const auto done = adopter_.commit(batch_.drafts);
    for (std::size_t i = 0; i < batch_.drafts.size(); ++i) {
      if (!done) complain("adopt", batch_.paths[i], base::message_of(done.error()));
      ++(done ? adopted : failed);
      if (done) bytes += batch_.drafts[i].record.mapped;
    }
    batch_.clear();
  }

  std::uint64_t adopted = 0, bytes = 0, already = 0, failed = 0, bytes_done = 0;

 private:
  store::Store& store_;
  store::Adopter adopter_;
  FileBatch<store::AdoptDraft> batch_;
};

}  // namespace

int adopt_tree(const StoreAdoptCommand& command) {
  auto tree = open_store_tree(command.store, store::OpenFor::writing, "braid store adopt", command.path);
  if (!tree) {
    fmt::print(stderr, "braid store adopt: {}\n", tree.error());
    return base::exit_failed;
  }
  AdoptWorker worker(*tree, command.zeros_were_written);
  if (const auto begun = worker.begin(); !begun) {
    fmt::print(stderr, "braid store adopt: {}: registry: {}\n", command.store,
               base::message_of(begun.error()));
    return base::exit_failed;
  }
  const std::uint64_t unreadable = take_files("adopt", command.path, command.store, worker);
  const std::uint64_t failed = worker.failed + unreadable;
  fmt::print("{} files adopted, with {} bytes in the store; {} were known before\n", worker.adopted,
             worker.bytes, worker.already);
  if (failed > 0) fmt::print("{} could not be adopted\n", failed);
  return failed == 0 ? 0 : base::exit_failed;
}

}  // namespace braid::tools
