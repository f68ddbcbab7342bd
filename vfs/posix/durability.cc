#include "vfs/posix/tree.h"

namespace braid::vfs::posix {

// A description that a caller holds will do: one more would be in the way of that caller's own lease.
Outcome<Tree::Readable> Tree::readable(PosixFile& file) {
  if (file.opened() == Opened::path)
    if (auto open = file.any_open(); open != nullptr) return Readable{open->fd(), FileRef(&file), open};
  const auto fd = data_descriptor(file, Opened::read);
  if (!fd) return base::fail(fd.error());
  return Readable{*fd, FileRef(&file), nullptr};
}

// Whoever was overtaken by another's failure cannot tell whether it was his, too.
Late<> Tree::told_of(const FileSyncs::Synced& synced) {
  if (synced.failure != 0) return late(error_of(synced.failure));
  if (synced.overtaken) return late(Error::io);
  return {};
}

void Tree::settle(PosixFile& file) {
  if (root_.traits.in_memory) return;
  // What fails has changed the verifier.
  if (FileSyncs& syncs = file.syncs(*write_back_); syncs.kept()) (void)syncs.commit(file.fd());
}

Tree::PlannedSync Tree::plan_sync(PosixFile& file) {
  if (!syncs()) return {};
  return planned(file);
}

Tree::PlannedSync Tree::planned(PosixFile& file) {
  PlannedSync plan;
  const bool has_data = file.type() == FileType::regular || file.type() == FileType::directory;
  auto data = has_data ? readable(file) : Outcome<Readable>(base::fail(Error::inval));
  if (data) {
    plan.syncs = &file.syncs(*write_back_);
    plan.through = std::move(*data);
  } else {
    // Links and special files cannot be opened, nor can a file that this process may not read.
    plan.syncs = &write_back_->whole();
    plan.how = FileSyncs::How::syncfs;
    plan.through.fd = root_.fd.get();
  }
  plan.since = plan.syncs->failures();
  return plan;
}

Tree::PlannedSync Tree::plan_sync(const FileData& open) {
  if (!opens_sync()) return {};
  PlannedSync plan;
  plan.syncs = &open.node().syncs(*write_back_);
  plan.through.fd = open.fd();
  plan.since = plan.syncs->failures();
  return plan;
}

Late<> Tree::carry_out(const PlannedSync& plan) {
  if (plan.syncs == nullptr) return {};
  return told_of(plan.syncs->sync(plan.how, plan.through.fd, plan.since));
}

// The object's own attributes, then the name that leads to it. What cannot be opened comes with its
// directory.
Late<> Tree::sync_new(const PlannedSync& directory, PosixFile& made) {
  if (made.type() == FileType::regular || made.type() == FileType::directory)
    if (auto done = carry_out(plan_sync(made)); !done) return done;
  return carry_out(directory);
}

}  // namespace braid::vfs::posix
