#include "vfs/posix/file_system.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/assert.h"
#include "vfs/sealed.h"

namespace braid::vfs::posix {
namespace {

TreeOptions tree_options(const PosixOptions& options) {
  TreeOptions out = options.tree;
  out.cache.contents = !options.sources.empty();
  out.refuses_sealed =
      std::ranges::find(options.sources, sealed_record, &ContentSource::record) == options.sources.end();
  return out;
}

}  // namespace

PosixFileSystem::PosixFileSystem(ExportRoot root, const PosixOptions& options, const base::Clock& clock)
    : clock_(clock),
      slabs_(options.slabs),
      directory_(options.directory),
      tree_(std::move(root), tree_options(options), clock),
      placement_(options.placement.value_or(tree_.base().traits.policy), options.pool,
                 options.tree.export_path, clock),
      contents_(*this, options.sources) {}

base::Result<std::shared_ptr<PosixFileSystem>> PosixFileSystem::open(const PosixOptions& options,
                                                                     const base::Clock& clock) {
  base::check(options.slabs != nullptr, "READLINK needs memory");
  auto root = open_export_root(options.directory, options.tree.root);
  if (!root) return base::fail(root.error());
  std::shared_ptr<PosixFileSystem> out(new PosixFileSystem(std::move(*root), options, clock));
  if (auto started = out->tree_.start(out); !started) return base::fail(started.error());
  out->sweep();
  return out;
}

std::string PosixFileSystem::restricted() const {
  std::string text;
  if (!tree_.identity().switching())
    text += fmt::format(
        "Every client acts with the rights of user {}: only root can take the callers' identities. ",
        ::geteuid());
  if (const std::string& because = tree_.base().transient_because; !because.empty())
    text += fmt::format("File handles last only as long as this process: {}. ", because);
  if (!text.empty()) text.pop_back();
  return text;
}

// Device and inode number are nobody else's as long as the directory is open.
bool PosixFileSystem::in_place() const {
  Stat stat{};
  return ::statx(AT_FDCWD, directory_.c_str(), AT_STATX_DONT_SYNC, STATX_INO, &stat) == 0 &&
         device_of(stat) == tree_.base().device && stat.stx_ino == tree_.base().inode;
}

// A handle in the cache costs no system call; others are opened.
VfsOp<FileRef> PosixFileSystem::resolve(base::BytesView handle) {
  auto file = tree_.find(handle);
  if (!file || *file) return file;
  return placement_.run(Call::open, [this, handle] { return tree_.resolve(handle); });
}

VfsOp<Attributes> PosixFileSystem::getattr(const FileRef& file) {
  if (!is_settled(node(file))) [[unlikely]]
    return getattr_settled(file);
  return placement_.run(Call::getattr, [this, &file] { return tree_.getattr(node(file)); });
}

VfsOp<> PosixFileSystem::setattr(const Credentials& who, const FileRef& file, const SetAttributes& set,
                                 std::optional<Time> guard, Wcc* wcc) {
  if (set.size && node(file).content() != nullptr) [[unlikely]]
    return setattr_with_content(who, file, set, guard, wcc);
  return change([this, &who, &file, &set, guard, wcc] {
    return tree_.setattr(who, FileData(tree_, node(file), who), set, guard, wcc);
  });
}

VfsOp<Found> PosixFileSystem::lookup(const Credentials& who, const FileRef& directory,
                                     std::string_view name) {
  if (contents_.any()) [[unlikely]]
    return lookup_settled(who, directory, name);
  return placement_.run(Call::lookup,
                        [this, &who, &directory, name] { return tree_.lookup(who, node(directory), name); });
}

VfsOp<std::uint32_t> PosixFileSystem::access(const Credentials& who, const FileRef& file,
                                             std::uint32_t wanted, std::optional<Attributes>& now) {
  if (!now && !is_settled(node(file))) [[unlikely]]
    return access_settled(who, file, wanted, now);
  return placement_.run(Call::permission, [this, &who, &file, wanted, &now] {
    return tree_.access(who, node(file), wanted, now);
  });
}

Borrowed PosixFileSystem::borrow(const Credentials& who, const FileRef& file) {
  return Borrowed(std::in_place_type<LentFile>, *this, tree_, who, file);
}

VfsOp<Found> PosixFileSystem::create(const Credentials& who, const FileRef& directory, std::string_view name,
                                     const CreateHow& how, Wcc& wcc) {
  if (contents_.any()) [[unlikely]]
    return create_with_content(who, directory, name, how, wcc);
  return change([this, &who, &directory, name, &how, &wcc] {
    bool created = false;
    return tree_.create(who, node(directory), name, how, wcc, created);
  });
}

VfsOp<Found> PosixFileSystem::mkdir(const Credentials& who, const FileRef& directory, std::string_view name,
                                    const SetAttributes& set, Wcc& wcc) {
  return change([this, &who, &directory, name, &set, &wcc] {
    return tree_.mkdir(who, node(directory), name, set, wcc);
  });
}

VfsOp<Found> PosixFileSystem::symlink(const Credentials& who, const FileRef& directory, std::string_view name,
                                      std::string_view target, const SetAttributes& set, Wcc& wcc) {
  return change([this, &who, &directory, name, target, &set, &wcc] {
    return tree_.symlink(who, node(directory), name, target, set, wcc);
  });
}

VfsOp<Found> PosixFileSystem::mknod(const Credentials& who, const FileRef& directory, std::string_view name,
                                    const SpecialFile& special, const SetAttributes& set, Wcc& wcc) {
  return change([this, &who, &directory, name, &special, &set, &wcc] {
    return tree_.mknod(who, node(directory), name, special, set, wcc);
  });
}

VfsOp<> PosixFileSystem::remove(const Credentials& who, const FileRef& directory, std::string_view name,
                                Wcc& wcc) {
  if (contents_.want_removals()) [[unlikely]]
    return remove_with_content(who, directory, name, wcc);
  return change(
      [this, &who, &directory, name, &wcc] { return tree_.remove(who, node(directory), name, wcc); });
}

VfsOp<> PosixFileSystem::rmdir(const Credentials& who, const FileRef& directory, std::string_view name,
                               Wcc& wcc) {
  return change(
      [this, &who, &directory, name, &wcc] { return tree_.rmdir(who, node(directory), name, wcc); });
}

VfsOp<> PosixFileSystem::rename(const Credentials& who, const FileRef& from_directory,
                                std::string_view from_name, const FileRef& to_directory,
                                std::string_view to_name, Wcc& from_wcc, Wcc& to_wcc) {
  if (contents_.want_removals()) [[unlikely]]
    return rename_with_content(who, from_directory, from_name, to_directory, to_name, from_wcc, to_wcc);
  return change([this, &who, &from_directory, from_name, &to_directory, to_name, &from_wcc, &to_wcc] {
    return tree_.rename(who, node(from_directory), from_name, node(to_directory), to_name, from_wcc, to_wcc);
  });
}

VfsOp<> PosixFileSystem::link(const Credentials& who, const FileRef& file, const FileRef& directory,
                              std::string_view name, Wcc& wcc) {
  return change([this, &who, &file, &directory, name, &wcc] {
    return tree_.link(who, node(file), node(directory), name, wcc);
  });
}

VfsOp<bool> PosixFileSystem::readdir(const Credentials& who, const FileRef& directory,
                                     const ReadDirectoryRequest& request, const EntrySink& sink) {
  // Hundreds of entries are not to hold up whatever else the reactor serves.
  if (node(directory).lists_long() && io::Reactor::current() != nullptr)
    return list_in_turn(who, directory, request, sink);
  return placement_.run(Call::directory, [this, &who, &directory, &request, &sink] {
    ListingCall call{who, request, sink};
    tree_.readdir(node(directory), call);
    return call.outcome;
  });
}

VfsOp<bool> PosixFileSystem::list_in_turn(const Credentials& who, const FileRef& directory,
                                          const ReadDirectoryRequest& request, const EntrySink& sink) {
  PosixFile& file = node(directory);
  ListingTurns& turns = *file.hold([](Holdings& held) { return &held.kept().listings; });
  ListingCall call{who, request, sink};
  const bool leads = co_await turns.turn(call);
  if (leads) {
    const auto walk = [&]() -> Outcome<> {
      tree_.readdir(file, call);
      return {};
    };
    // Refused, it leaves the outcomes as they were: delay.
    (void)co_await placement_.run_long(Call::directory, walk).as_result();
    turns.done(call);
  }
  co_return co_await std::move(call.outcome);
}

VfsOp<FileSystemStatus> PosixFileSystem::status(const FileRef& file) {
  if (contents_.any()) [[unlikely]]
    return status_with_contents(file);
  return placement_.run(Call::status, [this, &file] { return tree_.status(node(file)); });
}

VfsOp<FileSystemLimits> PosixFileSystem::limits(const FileRef& file) {
  return placement_.run(Call::status, [this, &file] {
    auto limits = tree_.limits(node(file));
    if (limits) contents_.limit(*limits);
    return limits;
  });
}

}  // namespace braid::vfs::posix
