// RENAME.
#include <stdio.h>

#include <array>

#include "vfs/posix/tree.h"

namespace braid::vfs::posix {

Outcome<> Tree::rename(const Credentials& who, PosixFile& from, std::string_view from_text, PosixFile& to,
                       std::string_view to_text, Wcc& from_wcc, Wcc& to_wcc, Victim* victim) {
  const auto from_name = Name::of(from_text);
  const auto to_name = Name::of(to_text);
  PlannedSync from_plan, to_plan;
  Outcome<> done;
  {
    Change from_change(*this, from, &from_wcc);
    // Within one directory there is one change, which both sides report.
    std::optional<Change> to_change;
    if (&from != &to) to_change.emplace(*this, to, &to_wcc);
    done = from_change.allowed(who);
    if (done && to_change) done = to_change->allowed(who);
    if (done && !from_name) done = base::fail(from_name.error());
    if (done && !to_name) done = base::fail(to_name.error());
    if (done) {
      from_plan = plan_sync(from);
      if (&from != &to) to_plan = plan_sync(to);
      const auto renamed = rename_within(who, from, *from_name, to, *to_name, victim);
      if (!renamed) {
        done = base::fail(renamed.error());
      } else if (!*renamed) {
        from_change.none();
        if (to_change) to_change->none();
      }
    }
  }
  if (&from == &to) to_wcc = from_wcc;
  if (!done) return done;
  if (auto synced = carry_out(to_plan); !synced) return synced;
  return carry_out(from_plan);
}

Outcome<bool> Tree::rename_within(const Credentials& who, PosixFile& from, const Name& from_name,
                                  PosixFile& to, const Name& to_name, Victim* expected) {
  // RFC 1813 3.3.14
  for (const Name* name : {&from_name, &to_name})
    if (name->is_dot() || name->is_dot_dot()) return base::fail(Error::inval);
  const auto victim = handle_before_removal(to, to_name);
  if (expected != nullptr && expected->handle != victim) {
    expected->other = true;
    return base::fail(Error::delay);
  }
  const auto moved = handle_before_removal(from, from_name);
  const auto victim_file = cached_victim(who, victim);
  if (!victim_file) return base::fail(victim_file.error());
  const FileRef moved_file = cached(moved);
  // Nothing happens to the directories if there is nothing to rename, or both names are of one object. All
  // are asked before anybody is waited for.
  const bool changes = moved && victim != moved;
  const std::array<Outcome<OwnChanges>, 4> free{ask_back(who, *victim_file, OwnChange::names),
                                                ask_back(who, moved_file, OwnChange::names),
                                                changes ? ask_back_entry(who, from, from_name) : OwnChanges(),
                                                changes ? ask_back_entry(who, to, to_name) : OwnChanges()};
  for (const Outcome<OwnChanges>& one : free)
    if (!one) return base::fail(one.error());
  const auto done = identity_.as(
      who, [&] { return outcome_of(::renameat(from.fd(), from_name.c_str(), to.fd(), to_name.c_str())); });
  if (!done) return base::fail(done.error());
  if (victim && victim == moved) return false;
  forget_if_gone(victim, who.peer);
  if (moved && transient_) transient_->place(*moved, to.handle(), to_name.view());
  return true;
}

}  // namespace braid::vfs::posix
