// LINK.
#include <fmt/format.h>
#include <unistd.h>

#include "vfs/posix/tree.h"

namespace braid::vfs::posix {

Outcome<> Tree::link(const Credentials& who, PosixFile& file, PosixFile& directory, std::string_view text,
                     Wcc& wcc) {
  PlannedSync file_plan, directory_plan;
  {
    const Change change(*this, directory, &wcc);
    if (auto allowed = change.allowed(who); !allowed) return allowed;
    const auto name = Name::of(text);
    if (!name) return base::fail(name.error());
    if (name->is_dot() || name->is_dot_dot()) return base::fail(Error::exist);
    if (auto alive = live_attributes(file); !alive) return base::fail(alive.error());
    const auto free = ask_back(who, file, OwnChange::names);
    const auto entry_free = ask_back_to_add(who, directory, *name);
    if (!free) return base::fail(free.error());
    if (!entry_free) return base::fail(entry_free.error());
    file_plan = plan_sync(file);
    directory_plan = plan_sync(directory);
    // The link count and ctime of the file change too.
    const ChangeCounter::Look begun = file.changes().begin();
    const auto done = link_as(who, file, directory, *name);
    file.changes().changed();
    file.changes().end(begun);
    if (!done) return done;
  }
  if (auto done = carry_out(file_plan); !done) return done;
  return carry_out(directory_plan);
}

// Linking a descriptor is a privilege; linking what /proc/self/fd leads to is not, and is checked like any
// other link.
Outcome<> Tree::link_as(const Credentials& who, PosixFile& file, PosixFile& directory, const Name& name) {
  const auto link = [&] {
    if (!root_.descriptors)
      return outcome_of(::linkat(file.fd(), "", directory.fd(), name.c_str(), AT_EMPTY_PATH));
    return outcome_of(::linkat(root_.descriptors.get(), fmt::format("{}", file.fd()).c_str(), directory.fd(),
                               name.c_str(), AT_SYMLINK_FOLLOW));
  };
  const auto linked = identity_.as(who, link);
  if (linked || linked.error() != Error::perm) return linked;
  // fs.protected_hardlinks is about users of this host; those of a client have the policy of their own
  // kernel, and of the server they need the directory alone. An owner is not refused by it, so that is all
  // this adds.
  return identity_.as_owner(who, link);
}

}  // namespace braid::vfs::posix
