// OPEN of NFSv4: files held open, created or found.
#include <unistd.h>

#include "vfs/posix/contents.h"
#include "vfs/posix/tree.h"

namespace braid::vfs::posix {
namespace {

Rights rights_of(OpenAccess access) {
  return (includes(access, OpenAccess::read) ? R_OK : 0U) | (includes(access, OpenAccess::write) ? W_OK : 0U);
}

}  // namespace

// O_NONBLOCK: a lease of somebody makes open(2) fail with EAGAIN, after asking for it, in place of waiting.
int Tree::open_flags(OpenAccess access) {
  constexpr int flags = O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  switch (access) {
    case OpenAccess::read:
      return O_RDONLY | flags;
    case OpenAccess::write:
      return O_WRONLY | flags;
    case OpenAccess::both:
      return O_RDWR | flags;
  }
  return O_RDONLY | flags;
}

// Who is told to try again would do so until some client closes a file, which may be never.
Outcome<DescriptorSlot> Tree::room_for_open(const PosixFile* file, OpenAccess access) {
  if (file != nullptr && file->shared_fd(access) >= 0) return cache_.one_more();
  auto slot = cache_.reserve_for_open();
  if (!slot) return base::fail(Error::too_many_open_files);
  return std::move(*slot);
}

Outcome<OpenFileRef> Tree::open(const Credentials& who, const FileRef& file, OpenAccess access,
                                OpenRule rule) {
  auto& node = static_cast<PosixFile&>(*file);
  if (auto regular = require_regular(node); !regular) return base::fail(regular.error());
  const bool reads_only = options_.read_only || who.read_only;
  if (reads_only && includes(access, OpenAccess::write)) return base::fail(Error::rofs);
  const auto now = live_attributes(node);
  if (!now) return base::fail(now.error());
  auto slot = room_for_open(&node, access);
  if (!slot) return base::fail(slot.error());
  // Also where it is only to be shared: the kernel decides about rights and leases.
  auto fd = with_room([&] { return open_for(who, node, access, rule, *now); });
  if (!fd) return base::fail(fd.error());
  if (auto own = refuse_sealed(node, fd->get()); !own) return base::fail(own.error());
  return PosixOpenFile::make(owner_.lock(), file, access, std::move(*fd), std::move(*slot));
}

Outcome<base::UniqueFd> Tree::open_for(const Credentials& who, PosixFile& file, OpenAccess access,
                                       OpenRule rule, const Attributes& now) {
  const int flags = open_flags(access);
  Outcome<base::UniqueFd> fd = base::fail(Error::acces);
  if (root_.descriptors)
    fd = identity_.as(who, [&] { return open_descriptor(file.fd(), flags); });
  else if (permit(who, file, rights_of(access), now))
    fd = open_again(file, flags);
  if (fd || fd.error() != Error::acces) return fd;
  const bool owner = rule == OpenRule::owner_override && identity_.acting_uid(who) == now.uid;
  // RFC 8881 18.16.4: who may execute a file opens it for reading.
  if (owner || (access == OpenAccess::read && permit(who, file, X_OK, now))) return open_again(file, flags);
  return fd;
}

Outcome<OpenCreated> Tree::open_create(const Credentials& who, PosixFile& directory, std::string_view text,
                                       OpenAccess access, const CreateHow& how, Wcc& wcc) {
  OpenCreated out;
  PlannedSync plan;
  {
    const Change change(*this, directory, &wcc);
    if (auto allowed = change.allowed(who); !allowed) return base::fail(allowed.error());
    const auto name = Name::of(text);
    if (!name) return base::fail(name.error());
    if (name->is_dot() || name->is_dot_dot()) return base::fail(Error::exist);
    const auto free = ask_back_to_add(who, directory, *name);
    if (!free) return base::fail(free.error());
    plan = plan_sync(directory);
    auto opened = open_new(who, directory, *name, access, how);
    if (!opened && opened.error() == Error::exist) opened = open_existing(who, directory, *name, access, how);
    if (!opened) return base::fail(opened.error());
    out = std::move(*opened);
  }
  PosixFile& file = node(out.file);
  Late<> done;
  if (out.created)
    done = sync_new(plan, file);
  else if (out.truncated)
    done = carry_out(plan_sync(file));
  if (!done) return base::fail(done.error());
  return out;
}

// The object itself keeps a descriptor without access, so that closing the open closes the file.
Outcome<OpenCreated> Tree::open_new(const Credentials& who, PosixFile& directory, const Name& name,
                                    OpenAccess access, const CreateHow& how) {
  // Before there is a file that would be left behind.
  auto slot = room_for_open(nullptr, access);
  if (!slot) return base::fail(slot.error());
  auto spare = with_room([&] { return spares_.take(root_.fd.get()); });
  if (!spare) return base::fail(spare.error());
  auto fd = create_descriptor(who, directory, name, how, open_flags(access));
  if (!fd) {
    spares_.give_back(std::move(*spare));
    return base::fail(fd.error());
  }
  auto path = open_made(std::move(*spare), [&] { return open_descriptor(fd->get(), O_PATH | O_CLOEXEC); });
  if (!path) return base::fail(path.error());
  auto made = adopt(directory, name, std::move(*path), Opened::path);
  if (!made) return base::fail(made.error());
  auto open = PosixOpenFile::make(owner_.lock(), made->file, access, std::move(*fd), std::move(*slot));
  if (!is_exclusive(how)) {
    SetAttributes rest = how.attributes;
    if (rest.size == 0) rest.size.reset();
    const bool writable = includes(access, OpenAccess::write);
    const FileData data = writable ? open->data() : FileData(*this, open->node(), who);
    if (auto done = apply_initial(who, *made, rest, data); !done) return base::fail(done.error());
  }
  note_made(open->node(), directory, made->attributes);
  return OpenCreated{.open = std::move(open),
                     .file = std::move(made->file),
                     .attributes = made->attributes,
                     .created = true,
                     .truncated = false};
}

// RFC 8881 18.16.3: what an existing name means depends on the mode.
Outcome<OpenCreated> Tree::open_existing(const Credentials& who, PosixFile& directory, const Name& name,
                                         OpenAccess access, const CreateHow& how) {
  if (how.mode == CreateHow::Mode::guarded) return base::fail(Error::exist);
  auto file = file_at(directory, name);
  if (!file) return base::fail(file.error() == Error::noent ? Error::delay : file.error());
  auto& existing = static_cast<PosixFile&>(**file);
  OpenCreated out;
  OpenRule rule = OpenRule::caller;
  if (is_exclusive(how)) {
    const auto now = live_attributes(existing);
    if (!now) return base::fail(now.error() == Error::stale ? Error::delay : now.error());
    if (!is_repetition(how, *now)) return base::fail(Error::exist);
    out.created = true;
    rule = OpenRule::owner_override;
  }
  auto open = this->open(who, *file, access, rule);
  if (!open) return base::fail(open.error() == Error::stale ? Error::delay : open.error());
  out.open = std::move(*open);
  out.file = std::move(*file);
  if (!is_exclusive(how) && how.attributes.size == 0) {
    const auto now = live_attributes(existing);
    if (!now) return base::fail(now.error());
    const bool writable = includes(access, OpenAccess::write);
    const FileData data =
        writable ? static_cast<const PosixOpenFile&>(*out.open).data() : FileData(*this, existing, who);
    if (auto done = data.resize(who, 0, *now); !done) return base::fail(done.error());
    existing.changes().changed();
    out.truncated = true;
  }
  const auto now = live_attributes(existing);
  if (!now && out.truncated) return late(now.error());
  if (!now) return base::fail(now.error());
  out.attributes = *now;
  return out;
}

}  // namespace braid::vfs::posix
