// The calls of NFSv4 beyond NFSv3: where each runs.
#include "vfs/posix/file_system.h"

namespace braid::vfs::posix {
namespace {

PosixOpenFile& opened(const OpenFileRef& open) { return static_cast<PosixOpenFile&>(*open); }

VfsOp<> others_first() {
  if (io::Reactor* const reactor = io::Reactor::current(); reactor != nullptr) co_await reactor->next_turn();
}

}  // namespace

VfsOp<OpenFileRef> PosixFileSystem::open(const Credentials& who, const FileRef& file, OpenAccess access,
                                         OpenRule rule) {
  if (node(file).content() != nullptr) [[unlikely]]
    return open_with_content(who, file, access, rule);
  return placement_.run(Call::open,
                        [this, &who, &file, access, rule] { return tree_.open(who, file, access, rule); });
}

VfsOp<OpenCreated> PosixFileSystem::open_create(const Credentials& who, const FileRef& directory,
                                                std::string_view name, OpenAccess access,
                                                const CreateHow& how, Wcc& wcc) {
  if (contents_.any()) [[unlikely]]
    return open_create_with_content(who, directory, name, access, how, wcc);
  return change([this, &who, &directory, name, access, &how, &wcc] {
    return tree_.open_create(who, node(directory), name, access, how, wcc);
  });
}

// The last description of a file without a name takes its blocks along.
VfsOp<> PosixFileSystem::close(OpenFileRef open) {
  return placement_.run(Call::close, [open = std::move(open)]() mutable -> Outcome<> {
    open.reset();
    return {};
  });
}

VfsOp<std::optional<LockConflict>> PosixFileSystem::lock(const OpenFileRef& open, LockOwnerId owner,
                                                         LockRange range, LockType type) {
  for (;;) {
    bool many_locks = false;
    auto attempt = co_await placement_.run(Call::lock, [this, &open, owner, range, type, &many_locks] {
      return tree_.lock(opened(open), owner, range, type, many_locks);
    });
    if (many_locks || !attempt) co_await others_first();
    if (attempt) co_return attempt->conflict;
  }
}

VfsOp<std::optional<LockConflict>> PosixFileSystem::test_lock(const FileRef& file, LockOwnerId owner,
                                                              LockRange range, LockType type) {
  return placement_.run(Call::lock, [this, &file, owner, range, type] {
    return tree_.test_lock(node(file), owner, range, type);
  });
}

VfsOp<> PosixFileSystem::unlock(const FileRef& file, LockOwnerId owner, LockRange range) {
  std::optional<LockTable::Freed> freed;
  bool many_locks = false;
  const auto part = [this, &file, owner, range, &freed, &many_locks] {
    return tree_.unlock(node(file), owner, range, freed, many_locks);
  };
  for (;;) {
    const bool done = co_await placement_.run(Call::lock, part);
    if (many_locks || !done) co_await others_first();
    if (done) co_return;
  }
}

VfsOp<LeaseRef> PosixFileSystem::lease(const OpenFileRef& open, LeaseType type, LeaseHolder holder,
                                       LeaseBreak broken) {
  return placement_.run(
      Call::lock, [this, &open, type, holder, broken = std::move(broken)]() mutable -> Outcome<LeaseRef> {
        // Elsewhere other machines change files, and nobody here is told.
        if (!tree_.base().traits.local) return base::fail(Error::notsupp);
        PosixFile& file = opened(open).node();
        if (tree_.cache().few_to_keep()) return base::fail(Error::delay);
        PosixLease::Kept kept{FileRef(&file), tree_.cache().keep_open_file()};
        if (auto all = tree_.share_all(file); !all) return base::fail(all.error());
        if (type == LeaseType::write) tree_.settle(file);
        return PosixLease::take(tree_.leases(), std::static_pointer_cast<PosixOpenFile>(open),
                                std::move(kept), type,
                                std::make_shared<LeaseNotice>(holder, std::move(broken)));
      });
}

VfsOp<LeaseRef> PosixFileSystem::lease_directory(const FileRef& directory, LeaseHolder holder,
                                                 LeaseBreak broken) {
  return placement_.run(
      Call::lock, [this, &directory, holder, broken = std::move(broken)]() mutable -> Outcome<LeaseRef> {
        if (!tree_.base().traits.local) return base::fail(Error::notsupp);
        return tree_.lease_directory(directory, std::make_shared<LeaseNotice>(holder, std::move(broken)));
      });
}

VfsOp<io::Payload> PosixFileSystem::get_xattr(const Credentials& who, const FileRef& file,
                                              std::string_view name) {
  auto slab = slabs_->acquire(io::SlabSize::small);
  if (!slab) return base::fail(error_of(base::number_of(slab.error())));
  return placement_.run(
      Call::getattr, [this, &who, &file, name, slab = std::move(*slab)]() -> Outcome<io::Payload> {
        const auto size = tree_.get_xattr(who, node(file), name, {slab.data(), io::small_slab_bytes});
        if (!size) return base::fail(size.error());
        return io::Payload(io::SlabRange{slab, 0, static_cast<std::uint32_t>(*size)});
      });
}

VfsOp<> PosixFileSystem::set_xattr(const Credentials& who, const FileRef& file, std::string_view name,
                                   base::BytesView value, XattrMode mode, Wcc& wcc) {
  return change([this, &who, &file, name, value, mode, &wcc] {
    return tree_.set_xattr(who, node(file), name, value, mode, wcc);
  });
}

VfsOp<bool> PosixFileSystem::list_xattrs(const Credentials& who, const FileRef& file, std::uint64_t cookie,
                                         const XattrSink& sink) {
  return placement_.run(Call::getattr, [this, &who, &file, cookie, &sink] {
    return tree_.list_xattrs(who, node(file), cookie, sink);
  });
}

VfsOp<> PosixFileSystem::remove_xattr(const Credentials& who, const FileRef& file, std::string_view name,
                                      Wcc& wcc) {
  return change([this, &who, &file, name, &wcc] { return tree_.remove_xattr(who, node(file), name, wcc); });
}

VfsOp<PosixAcl> PosixFileSystem::get_acl(const FileRef& file) {
  return placement_.run(Call::getattr, [this, &file] { return tree_.get_acl(node(file)); });
}

VfsOp<> PosixFileSystem::set_acl(const Credentials& who, const FileRef& file, const SetAcl& set, Wcc* wcc) {
  return change([this, &who, &file, &set, wcc] { return tree_.set_acl(who, node(file), set, wcc); });
}

}  // namespace braid::vfs::posix
