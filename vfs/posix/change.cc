#include "vfs/posix/tree.h"

namespace braid::vfs::posix {

Change::Change(Tree& tree, PosixFile& file, Wcc* wcc)
    : tree_(tree),
      file_(file),
      wcc_(wcc),
      ticket_(file.changes().begin()),
      before_(tree.live_attributes(file)) {}

Change::~Change() {
  if (!none_) file_.changes().changed();
  if (wcc_ == nullptr) {
    file_.changes().end(ticket_);
    return;
  }
  *wcc_ = {};
  if (const auto after = tree_.observe(file_)) wcc_->after = *after;
  // Asked last, so a change that began before the attributes were read is noticed.
  const bool alone = file_.changes().end(ticket_);
  if (alone && before_) wcc_->before = Before{before_->size, before_->mtime, before_->ctime, before_->change};
}

Outcome<> Change::alive() const {
  if (!before_) return base::fail(before_.error());
  return {};
}

Outcome<> Change::allowed(const Credentials& who) const {
  if (auto there = alive(); !there) return there;
  if (tree_.options_.read_only || who.read_only) return base::fail(Error::rofs);
  return {};
}

}  // namespace braid::vfs::posix
