#include "vfs/posix/tree.h"

namespace braid::vfs::posix {

Change::Change(Tree& tree, PosixFile& file, Wcc* wcc, Changes what)
    : tree_(tree),
      file_(file),
      wcc_(wcc),
      what_(what),
      begun_(what == Changes::nothing ? file.changes().look() : file.changes().begin()),
      before_(tree.live_attributes(file)) {}

Change::~Change() {
  ChangeCounter& changes = file_.changes();
  const auto end = [&] {
    return what_ == Changes::nothing ? changes.still_alone(begun_) : changes.end(begun_);
  };
  if (what_ != Changes::nothing && !none_) changes.changed();
  if (wcc_ == nullptr) {
    end();
    return;
  }
  *wcc_ = {};
  if (const auto after = tree_.observe(file_)) wcc_->after = *after;
  // Asked last, so a change that began before the attributes were read is noticed.
  const bool alone = end();
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
