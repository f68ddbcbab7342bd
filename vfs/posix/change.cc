#include "vfs/posix/tree.h"

namespace braid::vfs::posix {

Change::Change(Tree& tree, PosixFile& file, Wcc& wcc)
    : tree_(tree),
      file_(file),
      wcc_(wcc),
      ticket_(file.changes().begin()),
      before_(tree.live_attributes(file)) {}

Change::~Change() {
  wcc_ = {};
  if (!none_) file_.changes().changed();
  if (const auto after = tree_.observe(file_)) wcc_.after = *after;
  // Asked last, so a change that began before the attributes were read is noticed.
  const bool alone = file_.changes().end(ticket_);
  if (alone && before_) wcc_.before = Before{before_->size, before_->mtime, before_->ctime, before_->change};
}

Outcome<> Change::allowed() const {
  if (!before_) return base::fail(before_.error());
  if (tree_.options_.read_only) return base::fail(Error::rofs);
  return {};
}

}  // namespace braid::vfs::posix
