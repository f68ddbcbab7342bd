// Names of a MemoryFileSystem: what finds, makes, moves and removes them.
#include <cstring>
#include <utility>

#include "vfs/memory/file.h"
#include "vfs/memory/file_system.h"

namespace braid::vfs::memory {

MemoryFileSystem::Outcome<Node*> MemoryFileSystem::directory_at(const FileRef& file) {
  auto at = node(file);
  if (at && (*at)->attributes.type != FileType::directory) return base::fail(Error::notdir);
  return at;
}

VfsOp<Found> MemoryFileSystem::lookup(const Credentials& who, const FileRef& directory,
                                      std::string_view name) {
  const Call call{.operation = "lookup", .who = &who, .name = name};
  co_await hooks_.before(call);
  (void)co_await directory_at(directory);
  const auto id = storage_.find(id_of(directory), name);
  if (!id) co_await base::fail(Error::noent);
  co_return co_await found(*id);
}

VfsOp<io::Payload> MemoryFileSystem::readlink(const Credentials& who, const FileRef& link) {
  const Call call{.operation = "readlink", .who = &who};
  co_await hooks_.before(call);
  const Node& at = *co_await node(link);
  if (at.attributes.type != FileType::symlink) co_await base::fail(Error::inval);
  auto range = cursor_.carve(at.content.size());
  if (!range) co_await base::fail(Error::delay);
  std::memcpy(range->writable().data(), at.content.data(), at.content.size());
  co_return io::Payload(std::move(*range));
}

MemoryFileSystem::Outcome<std::uint64_t> MemoryFileSystem::make(const Call& call, const FileRef& directory,
                                                                FileType type, const SetAttributes& set,
                                                                Wcc& wcc) {
  const auto parent = directory_at(directory);
  if (!parent) return base::fail(parent.error());
  if (storage_.find(id_of(directory), call.name)) return base::fail(Error::exist);
  if (too_big(set)) return base::fail(Error::fbig);
  const std::uint64_t id = storage_.add(id_of(directory), call.name, type);
  Node& made = storage_.node(id);
  made.attributes.uid = call.who->uid;
  made.attributes.gid = call.who->gid;
  Storage::apply(set, made.attributes.ctime, made);
  made.attributes.mode &= ~set.umask.value_or(0);
  storage_.touch(**parent);
  hooks_.changed(call);
  wcc.after = (*parent)->attributes;
  return id;
}

MemoryFileSystem::Outcome<MemoryFileSystem::Made> MemoryFileSystem::find_or_make(const Call& call,
                                                                                 const FileRef& directory,
                                                                                 const CreateHow& how,
                                                                                 Wcc& wcc) {
  const auto parent = directory_at(directory);
  if (!parent) return base::fail(parent.error());
  if (const auto old = storage_.find(id_of(directory), call.name)) {
    const bool same = is_exclusive(how) && storage_.node(*old).created_by == how.verifier;
    if (how.mode != CreateHow::Mode::unchecked && !same) return base::fail(Error::exist);
    if (too_big(how.attributes)) return base::fail(Error::fbig);
    return Made{*old, same};
  }
  const auto made = make(call, directory, FileType::regular, how.attributes, wcc);
  if (!made) return base::fail(made.error());
  storage_.node(*made).created_by = how.verifier;
  return Made{*made, true};
}

VfsOp<Found> MemoryFileSystem::create(const Credentials& who, const FileRef& directory, std::string_view name,
                                      const CreateHow& how, Wcc& wcc) {
  const Call call{.operation = "create", .who = &who, .changes = true, .name = name};
  show(directory, &wcc);
  co_await hooks_.before(call);
  show(directory, &wcc);
  const Made made = co_await find_or_make(call, directory, how, wcc);
  if (storage_.node(made.id).attributes.type != FileType::regular) co_await base::fail(Error::exist);
  if (!made.created) {
    co_await change(who, file_of(made.id), how.attributes);
    hooks_.changed(call);
  }
  co_return co_await found(made.id);
}

VfsOp<Found> MemoryFileSystem::mkdir(const Credentials& who, const FileRef& directory, std::string_view name,
                                     const SetAttributes& set, Wcc& wcc) {
  const Call call{.operation = "mkdir", .who = &who, .changes = true, .name = name};
  show(directory, &wcc);
  co_await hooks_.before(call);
  show(directory, &wcc);
  const std::uint64_t id = co_await make(call, directory, FileType::directory, set, wcc);
  co_return co_await found(id);
}

VfsOp<Found> MemoryFileSystem::symlink(const Credentials& who, const FileRef& directory,
                                       std::string_view name, std::string_view target,
                                       const SetAttributes& set, Wcc& wcc) {
  const Call call{.operation = "symlink", .who = &who, .changes = true, .name = name};
  show(directory, &wcc);
  co_await hooks_.before(call);
  show(directory, &wcc);
  const std::uint64_t id = co_await make(call, directory, FileType::symlink, set, wcc);
  Node& link = storage_.node(id);
  link.content = target;
  link.attributes.size = target.size();
  co_return co_await found(id);
}

VfsOp<Found> MemoryFileSystem::mknod(const Credentials& who, const FileRef& directory, std::string_view name,
                                     const SpecialFile& special, const SetAttributes& set, Wcc& wcc) {
  const Call call{.operation = "mknod", .who = &who, .changes = true, .name = name};
  show(directory, &wcc);
  co_await hooks_.before(call);
  show(directory, &wcc);
  const std::uint64_t id = co_await make(call, directory, special.type, set, wcc);
  storage_.node(id).attributes.rdev = special.device;
  co_return co_await found(id);
}

MemoryFileSystem::Outcome<> MemoryFileSystem::unlink(const Call& call, const FileRef& directory,
                                                     bool want_directory, Wcc& wcc) {
  const auto parent = directory_at(directory);
  if (!parent) return base::fail(parent.error());
  const auto id = storage_.find(id_of(directory), call.name);
  if (!id) return base::fail(Error::noent);
  const Node& named = storage_.node(*id);
  const bool is_directory = named.attributes.type == FileType::directory;
  if (is_directory != want_directory) return base::fail(want_directory ? Error::notdir : Error::isdir);
  if (is_directory && named.entries.size() > 2) return base::fail(Error::notempty);
  storage_.drop(**parent, call.name, *id);
  forget(*id);
  storage_.touch(**parent);
  hooks_.changed(call);
  wcc.after = (*parent)->attributes;
  return {};
}

VfsOp<> MemoryFileSystem::remove(const Credentials& who, const FileRef& directory, std::string_view name,
                                 Wcc& wcc) {
  const Call call{.operation = "remove", .who = &who, .changes = true, .name = name};
  show(directory, &wcc);
  co_await hooks_.before(call);
  co_await announce_removal(directory, name);
  show(directory, &wcc);
  co_await unlink(call, directory, false, wcc);
}

VfsOp<> MemoryFileSystem::rmdir(const Credentials& who, const FileRef& directory, std::string_view name,
                                Wcc& wcc) {
  const Call call{.operation = "rmdir", .who = &who, .changes = true, .name = name};
  show(directory, &wcc);
  co_await hooks_.before(call);
  show(directory, &wcc);
  co_await unlink(call, directory, true, wcc);
}

bool MemoryFileSystem::lies_in(std::uint64_t directory, std::uint64_t ancestor) {
  for (; directory != ancestor; directory = storage_.node(directory).parent)
    if (directory == Storage::root_id) return false;
  return true;
}

MemoryFileSystem::Outcome<> MemoryFileSystem::may_replace(const Node& old, const Node& moved) {
  const bool is_directory = old.attributes.type == FileType::directory;
  if (is_directory != (moved.attributes.type == FileType::directory))
    return base::fail(is_directory ? Error::isdir : Error::notdir);
  if (is_directory && old.entries.size() > 2) return base::fail(Error::notempty);
  return {};
}

MemoryFileSystem::Outcome<> MemoryFileSystem::move(const Call& call, const FileRef& from_directory,
                                                   const FileRef& to_directory) {
  const auto from = directory_at(from_directory);
  if (!from) return base::fail(from.error());
  const auto to = directory_at(to_directory);
  if (!to) return base::fail(to.error());
  const auto id = storage_.find(id_of(from_directory), call.name);
  if (!id) return base::fail(Error::noent);
  const auto old = storage_.find(id_of(to_directory), call.to_name);
  if (old == id) return {};  // POSIX rename(): two names of one file stay
  Node& moved = storage_.node(*id);
  const bool is_directory = moved.attributes.type == FileType::directory;
  if (is_directory && lies_in(id_of(to_directory), *id)) return base::fail(Error::inval);
  if (old) {
    const auto replaceable = may_replace(storage_.node(*old), moved);
    if (!replaceable) return replaceable;
    storage_.drop(**to, call.to_name, *old);
    forget(*old);
  }
  storage_.enter(**to, call.to_name, *id);
  storage_.erase(id_of(from_directory), call.name);
  --moved.attributes.nlink;
  if (is_directory) {
    moved.parent = id_of(to_directory);
    moved.entries[1].fileid = moved.parent;
  }
  storage_.touch(**from);
  if (*from != *to) storage_.touch(**to);
  hooks_.changed(call);
  return {};
}

VfsOp<> MemoryFileSystem::rename(const Credentials& who, const FileRef& from_directory,
                                 std::string_view from_name, const FileRef& to_directory,
                                 std::string_view to_name, Wcc& from_wcc, Wcc& to_wcc) {
  const Call call{.operation = "rename", .who = &who, .changes = true, .name = from_name, .to_name = to_name};
  show(from_directory, &from_wcc);
  show(to_directory, &to_wcc);
  co_await hooks_.before(call);
  co_await announce_removal(to_directory, to_name);
  show(from_directory, &from_wcc);
  show(to_directory, &to_wcc);
  co_await move(call, from_directory, to_directory);
  from_wcc.after = storage_.node(id_of(from_directory)).attributes;
  to_wcc.after = storage_.node(id_of(to_directory)).attributes;
}

VfsOp<> MemoryFileSystem::link(const Credentials& who, const FileRef& file, const FileRef& directory,
                               std::string_view name, Wcc& wcc) {
  const Call call{.operation = "link", .who = &who, .changes = true, .name = name};
  show(directory, &wcc);
  co_await hooks_.before(call);
  show(directory, &wcc);
  Node& parent = *co_await directory_at(directory);
  Node& target = *co_await node(file);
  if (target.attributes.type == FileType::directory) co_await base::fail(Error::isdir);
  if (target.attributes.nlink == 0) co_await base::fail(Error::stale);
  if (storage_.find(id_of(directory), name)) co_await base::fail(Error::exist);
  storage_.enter(parent, name, id_of(file));
  ++target.attributes.change;
  storage_.touch(parent);
  hooks_.changed(call);
  wcc.after = parent.attributes;
}

VfsOp<bool> MemoryFileSystem::readdir(const Credentials& who, const FileRef& directory,
                                      const ReadDirectoryRequest& request, const EntrySink& sink) {
  const Call call{.operation = "readdir", .who = &who};
  co_await hooks_.before(call);
  const Node& at = *co_await directory_at(directory);
  if (request.cookie > at.last_cookie) co_await base::fail(Error::bad_cookie);
  for (const Entry& entry : at.entries) {
    if (entry.cookie <= request.cookie) continue;
    DirectoryEntry shown{entry.fileid, entry.cookie, entry.name, {}, {}};
    if (request.plus && !traits_.entries_without_attributes) {
      shown.handle = storage_.handle_of(entry.fileid);
      shown.attributes = storage_.node(entry.fileid).attributes;
    }
    if (!sink(shown)) co_return false;
  }
  co_return true;
}

}  // namespace braid::vfs::memory
