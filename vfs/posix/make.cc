// MKDIR, SYMLINK and MKNOD.
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <climits>

#include "vfs/posix/tree.h"

namespace braid::vfs::posix {
namespace {

mode_t format_of(FileType type) {
  switch (type) {
    case FileType::fifo:
      return S_IFIFO;
    case FileType::socket:
      return S_IFSOCK;
    case FileType::block_device:
      return S_IFBLK;
    case FileType::character_device:
      return S_IFCHR;
    default:
      return 0;
  }
}

}  // namespace

// Opens what was just made; noent when it was replaced by something of another type before that.
Late<Found> Tree::new_object(PosixFile& directory, const Name& name, FileType type, base::UniqueFd spare) {
  auto fd = open_made(std::move(spare), [&] { return open_path(directory.fd(), name.c_str()); });
  if (!fd) return base::fail(fd.error());
  auto made = adopt(directory, name, std::move(*fd), Opened::path);
  if (made && made->attributes.type != type) return late(Error::noent);
  return made;
}

template <class F>
Outcome<Found> Tree::make(const Credentials& who, PosixFile& directory, std::string_view text, FileType type,
                          const SetAttributes& set, Wcc& wcc, F make_it) {
  Found out;
  PlannedSync plan;
  {
    const Change change(*this, directory, &wcc);
    if (auto allowed = change.allowed(who); !allowed) return base::fail(allowed.error());
    const auto name = Name::of(text);
    if (!name) return base::fail(name.error());
    if (name->is_dot() || name->is_dot_dot()) return base::fail(Error::exist);
    const auto free = ask_back_to_add(who, directory, *name);
    if (!free) return base::fail(free.error());
    auto spare = with_room([&] { return spares_.take(root_.fd.get()); });
    if (!spare) return base::fail(spare.error());
    plan = plan_sync(directory);
    const auto done = identity_.as(who, [&] { return outcome_of(make_it(name->c_str())); });
    if (!done) {
      spares_.give_back(std::move(*spare));
      return base::fail(done.error());
    }
    auto made = new_object(directory, *name, type, std::move(*spare));
    if (!made) return base::fail(made.error());
    out = std::move(*made);
    const FileData data(*this, static_cast<PosixFile&>(*out.file), who);
    if (auto set_rest = apply_initial(who, out, set, data); !set_rest) return base::fail(set_rest.error());
  }
  if (auto done = sync_new(plan, static_cast<PosixFile&>(*out.file)); !done) return base::fail(done.error());
  return out;
}

Outcome<Found> Tree::mkdir(const Credentials& who, PosixFile& directory, std::string_view name,
                           const SetAttributes& set, Wcc& wcc) {
  SetAttributes rest = set;
  rest.size.reset();
  const mode_t mode = initial_mode(directory, set);
  return make(who, directory, name, FileType::directory, rest, wcc,
              [&](const char* path) { return ::mkdirat(directory.fd(), path, mode); });
}

Outcome<Found> Tree::symlink(const Credentials& who, PosixFile& directory, std::string_view name,
                             std::string_view target, const SetAttributes& set, Wcc& wcc) {
  SetAttributes rest = set;
  rest.size.reset();
  // An unusable target is an error of the call itself, found with the name's.
  const std::string text(target.substr(0, PATH_MAX));
  return make(who, directory, name, FileType::symlink, rest, wcc, [&](const char* path) {
    if (target.find('\0') != target.npos) {
      errno = EINVAL;
      return -1;
    }
    return ::symlinkat(text.c_str(), directory.fd(), path);
  });
}

Outcome<Found> Tree::mknod(const Credentials& who, PosixFile& directory, std::string_view name,
                           const SpecialFile& special, const SetAttributes& set, Wcc& wcc) {
  SetAttributes rest = set;
  rest.size.reset();
  const mode_t mode = format_of(special.type) | initial_mode(directory, set);
  const dev_t device = makedev(special.device.major, special.device.minor);
  return make(who, directory, name, special.type, rest, wcc, [&](const char* path) {
    if (format_of(special.type) == 0) {
      errno = EINVAL;
      return -1;
    }
    return ::mknodat(directory.fd(), path, mode, device);
  });
}

}  // namespace braid::vfs::posix
