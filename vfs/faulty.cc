#include "vfs/faulty.h"

#include <type_traits>

#include "io/reactor.h"

namespace braid::vfs {

void FaultyFileSystem::inject(const Fault& fault) {
  script_.with(
      [&](Script& script) { script.faults[static_cast<std::size_t>(fault.operation)].push_back(fault); });
}

std::uint64_t FaultyFileSystem::calls(Operation operation) const {
  return script_.with(
      [&](const Script& script) { return script.calls[static_cast<std::size_t>(operation)]; });
}

std::optional<Fault> FaultyFileSystem::next_fault(Operation operation) {
  const auto index = static_cast<std::size_t>(operation);
  return script_.with([&](Script& script) -> std::optional<Fault> {
    ++script.calls[index];
    std::vector<Fault>& faults = script.faults[index];
    if (faults.empty()) return std::nullopt;
    Fault& first = faults.front();
    if (first.skip > 0) {
      --first.skip;
      return std::nullopt;
    }
    const Fault fault = first;
    if (--first.times == 0) faults.erase(faults.begin());
    return fault;
  });
}

template <class F>
auto FaultyFileSystem::faulty(Fault fault, F call) -> std::invoke_result_t<F&> {
  if (io::Reactor* const reactor = io::Reactor::current();
      reactor != nullptr && fault.delay > base::Duration::zero())
    (void)co_await reactor->sleep(fault.delay).as_result();
  if (fault.error && !fault.after_effect) co_await base::fail(*fault.error);
  using T = typename std::invoke_result_t<F&>::value_type;
  if constexpr (std::is_void_v<T>) {
    co_await call();
    if (fault.error) co_await base::fail(*fault.error);
  } else {
    T value = co_await call();
    if (fault.error) co_await base::fail(*fault.error);
    co_return value;
  }
}

template <class F>
auto FaultyFileSystem::guarded(Operation operation, F call) -> std::invoke_result_t<F&> {
  const auto fault = next_fault(operation);
  if (!fault) return call();
  return faulty(*fault, std::move(call));
}

VfsOp<FileRef> FaultyFileSystem::resolve(base::BytesView handle) {
  return guarded(Operation::resolve, [this, handle] { return inner_->resolve(handle); });
}

VfsOp<Attributes> FaultyFileSystem::getattr(const FileRef& file) {
  return guarded(Operation::getattr, [this, &file] { return inner_->getattr(file); });
}

VfsOp<> FaultyFileSystem::setattr(const Credentials& who, const FileRef& file, const SetAttributes& set,
                                  const std::optional<Time>& guard, Wcc& wcc) {
  return guarded(Operation::setattr, [this, &who, &file, &set, &guard, &wcc] {
    return inner_->setattr(who, file, set, guard, wcc);
  });
}

VfsOp<Found> FaultyFileSystem::lookup(const Credentials& who, const FileRef& directory,
                                      std::string_view name) {
  return guarded(Operation::lookup,
                 [this, &who, &directory, name] { return inner_->lookup(who, directory, name); });
}

VfsOp<std::uint32_t> FaultyFileSystem::access(const Credentials& who, const FileRef& file,
                                              std::uint32_t wanted, std::optional<Attributes>& now) {
  return guarded(Operation::access,
                 [this, &who, &file, wanted, &now] { return inner_->access(who, file, wanted, now); });
}

VfsOp<io::Payload> FaultyFileSystem::readlink(const Credentials& who, const FileRef& link) {
  return guarded(Operation::readlink, [this, &who, &link] { return inner_->readlink(who, link); });
}

VfsOp<ReadResult> FaultyFileSystem::read(const Credentials& who, const FileRef& file, std::uint64_t offset,
                                         std::uint32_t count, ReadMemory memory) {
  return guarded(Operation::read, [this, &who, &file, offset, count, memory] {
    return inner_->read(who, file, offset, count, memory);
  });
}

VfsOp<WriteResult> FaultyFileSystem::write(const Credentials& who, const FileRef& file, std::uint64_t offset,
                                           const io::Payload& data, Stability stability, Wcc& wcc) {
  return guarded(Operation::write, [this, &who, &file, offset, &data, stability, &wcc] {
    return inner_->write(who, file, offset, data, stability, wcc);
  });
}

VfsOp<Verifier> FaultyFileSystem::commit(const Credentials& who, const FileRef& file, std::uint64_t offset,
                                 std::uint32_t count, Wcc& wcc) {
  return guarded(Operation::commit, [this, &who, &file, offset, count, &wcc] {
    return inner_->commit(who, file, offset, count, wcc);
  });
}

VfsOp<Found> FaultyFileSystem::create(const Credentials& who, const FileRef& directory, std::string_view name,
                                      const CreateHow& how, Wcc& wcc) {
  return guarded(Operation::create, [this, &who, &directory, name, &how, &wcc] {
    return inner_->create(who, directory, name, how, wcc);
  });
}

VfsOp<Found> FaultyFileSystem::mkdir(const Credentials& who, const FileRef& directory, std::string_view name,
                                     const SetAttributes& set, Wcc& wcc) {
  return guarded(Operation::mkdir, [this, &who, &directory, name, &set, &wcc] {
    return inner_->mkdir(who, directory, name, set, wcc);
  });
}

VfsOp<Found> FaultyFileSystem::symlink(const Credentials& who, const FileRef& directory,
                                       std::string_view name, std::string_view target,
                                       const SetAttributes& set, Wcc& wcc) {
  return guarded(Operation::symlink, [this, &who, &directory, name, target, &set, &wcc] {
    return inner_->symlink(who, directory, name, target, set, wcc);
  });
}

VfsOp<Found> FaultyFileSystem::mknod(const Credentials& who, const FileRef& directory, std::string_view name,
                                     const SpecialFile& special, const SetAttributes& set, Wcc& wcc) {
  return guarded(Operation::mknod, [this, &who, &directory, name, &special, &set, &wcc] {
    return inner_->mknod(who, directory, name, special, set, wcc);
  });
}

VfsOp<> FaultyFileSystem::remove(const Credentials& who, const FileRef& directory, std::string_view name,
                                 Wcc& wcc) {
  return guarded(Operation::remove,
                 [this, &who, &directory, name, &wcc] { return inner_->remove(who, directory, name, wcc); });
}

VfsOp<> FaultyFileSystem::rmdir(const Credentials& who, const FileRef& directory, std::string_view name,
                                Wcc& wcc) {
  return guarded(Operation::rmdir,
                 [this, &who, &directory, name, &wcc] { return inner_->rmdir(who, directory, name, wcc); });
}

VfsOp<> FaultyFileSystem::rename(const Credentials& who, const FileRef& from_directory,
                                 std::string_view from_name, const FileRef& to_directory,
                                 std::string_view to_name, Wcc& from_wcc, Wcc& to_wcc) {
  return guarded(Operation::rename, [this, &who, &from_directory, from_name, &to_directory, to_name,
                                     &from_wcc, &to_wcc] {
    return inner_->rename(who, from_directory, from_name, to_directory, to_name, from_wcc, to_wcc);
  });
}

VfsOp<> FaultyFileSystem::link(const Credentials& who, const FileRef& file, const FileRef& directory,
                               std::string_view name, Wcc& wcc) {
  return guarded(Operation::link, [this, &who, &file, &directory, name, &wcc] {
    return inner_->link(who, file, directory, name, wcc);
  });
}

VfsOp<bool> FaultyFileSystem::readdir(const Credentials& who, const FileRef& directory,
                                      const ReadDirectoryRequest& request, const EntrySink& sink) {
  return guarded(Operation::readdir, [this, &who, &directory, &request, &sink] {
    return inner_->readdir(who, directory, request, sink);
  });
}

VfsOp<FileSystemStatus> FaultyFileSystem::status(const FileRef& file) {
  return guarded(Operation::status, [this, &file] { return inner_->status(file); });
}

VfsOp<FileSystemLimits> FaultyFileSystem::limits(const FileRef& file) {
  return guarded(Operation::limits, [this, &file] { return inner_->limits(file); });
}

VfsOp<OpenFileRef> FaultyFileSystem::open(const Credentials& who, const FileRef& file, OpenAccess access,
                                          OpenRule rule) {
  return guarded(Operation::open,
                 [this, &who, &file, access, rule] { return inner_->open(who, file, access, rule); });
}

VfsOp<OpenCreated> FaultyFileSystem::open_create(const Credentials& who, const FileRef& directory,
                                                 std::string_view name, OpenAccess access,
                                                 const CreateHow& how, Wcc& wcc) {
  return guarded(Operation::open_create, [this, &who, &directory, name, access, &how, &wcc] {
    return inner_->open_create(who, directory, name, access, how, wcc);
  });
}

VfsOp<ReadResult> FaultyFileSystem::read_open(const OpenFileRef& open, std::uint64_t offset,
                                              std::uint32_t count, ReadMemory memory) {
  return guarded(Operation::read_open, [this, &open, offset, count, memory] {
    return inner_->read_open(open, offset, count, memory);
  });
}

VfsOp<WriteResult> FaultyFileSystem::write_open(const Credentials& who, const OpenFileRef& open,
                                                std::uint64_t offset, const io::Payload& data,
                                                Stability stability) {
  return guarded(Operation::write_open, [this, &who, &open, offset, &data, stability] {
    return inner_->write_open(who, open, offset, data, stability);
  });
}

VfsOp<> FaultyFileSystem::setattr_open(const Credentials& who, const OpenFileRef& open,
                                       const SetAttributes& set, Wcc& wcc) {
  return guarded(Operation::setattr_open,
                 [this, &who, &open, &set, &wcc] { return inner_->setattr_open(who, open, set, wcc); });
}

VfsOp<std::optional<LockConflict>> FaultyFileSystem::lock(const OpenFileRef& open, LockOwnerId owner,
                                                          LockRange range, LockType type) {
  return guarded(Operation::lock,
                 [this, &open, owner, range, type] { return inner_->lock(open, owner, range, type); });
}

VfsOp<std::optional<LockConflict>> FaultyFileSystem::test_lock(const FileRef& file, LockOwnerId owner,
                                                               LockRange range, LockType type) {
  return guarded(Operation::test_lock,
                 [this, &file, owner, range, type] { return inner_->test_lock(file, owner, range, type); });
}

VfsOp<> FaultyFileSystem::unlock(const FileRef& file, LockOwnerId owner, LockRange range) {
  return guarded(Operation::unlock,
                 [this, &file, owner, range] { return inner_->unlock(file, owner, range); });
}

VfsOp<LeaseRef> FaultyFileSystem::lease(const OpenFileRef& open, LeaseType type, LeaseHolder holder,
                                        LeaseBreak broken) {
  return guarded(Operation::lease, [this, &open, type, holder, broken = std::move(broken)]() mutable {
    return inner_->lease(open, type, holder, std::move(broken));
  });
}

VfsOp<LeaseRef> FaultyFileSystem::lease_directory(const FileRef& directory, LeaseHolder holder,
                                                  LeaseBreak broken) {
  return guarded(Operation::lease_directory,
                 [this, &directory, holder, broken = std::move(broken)]() mutable {
                   return inner_->lease_directory(directory, holder, std::move(broken));
                 });
}

VfsOp<SeekResult> FaultyFileSystem::seek(const OpenFileRef& open, std::uint64_t offset, SeekTo what) {
  return guarded(Operation::seek, [this, &open, offset, what] { return inner_->seek(open, offset, what); });
}

VfsOp<> FaultyFileSystem::allocate(const Credentials& who, const OpenFileRef& open, std::uint64_t offset,
                                   std::uint64_t length) {
  return guarded(Operation::allocate,
                 [this, &who, &open, offset, length] { return inner_->allocate(who, open, offset, length); });
}

VfsOp<> FaultyFileSystem::deallocate(const Credentials& who, const OpenFileRef& open, std::uint64_t offset,
                                     std::uint64_t length) {
  return guarded(Operation::deallocate, [this, &who, &open, offset, length] {
    return inner_->deallocate(who, open, offset, length);
  });
}

VfsOp<> FaultyFileSystem::clone(const Credentials& who, const OpenFileRef& from, std::uint64_t from_offset,
                                const OpenFileRef& to, std::uint64_t to_offset, std::uint64_t length) {
  return guarded(Operation::clone, [this, &who, &from, from_offset, &to, to_offset, length] {
    return inner_->clone(who, from, from_offset, to, to_offset, length);
  });
}

VfsOp<std::uint64_t> FaultyFileSystem::copy(const Credentials& who, const OpenFileRef& from,
                                            std::uint64_t from_offset, const OpenFileRef& to,
                                            std::uint64_t to_offset, std::uint64_t length) {
  return guarded(Operation::copy, [this, &who, &from, from_offset, &to, to_offset, length] {
    return inner_->copy(who, from, from_offset, to, to_offset, length);
  });
}

VfsOp<> FaultyFileSystem::advise(const OpenFileRef& open, std::uint64_t offset, std::uint64_t length,
                                 Advice advice) {
  return guarded(Operation::advise, [this, &open, offset, length, advice] {
    return inner_->advise(open, offset, length, advice);
  });
}

VfsOp<io::Payload> FaultyFileSystem::get_xattr(const Credentials& who, const FileRef& file,
                                               std::string_view name) {
  return guarded(Operation::get_xattr,
                 [this, &who, &file, name] { return inner_->get_xattr(who, file, name); });
}

VfsOp<> FaultyFileSystem::set_xattr(const Credentials& who, const FileRef& file, std::string_view name,
                                    base::BytesView value, XattrMode mode, Wcc& wcc) {
  return guarded(Operation::set_xattr, [this, &who, &file, name, value, mode, &wcc] {
    return inner_->set_xattr(who, file, name, value, mode, wcc);
  });
}

VfsOp<bool> FaultyFileSystem::list_xattrs(const Credentials& who, const FileRef& file, std::uint64_t cookie,
                                          const XattrSink& sink) {
  return guarded(Operation::list_xattrs,
                 [this, &who, &file, cookie, &sink] { return inner_->list_xattrs(who, file, cookie, sink); });
}

VfsOp<> FaultyFileSystem::remove_xattr(const Credentials& who, const FileRef& file, std::string_view name,
                                       Wcc& wcc) {
  return guarded(Operation::remove_xattr,
                 [this, &who, &file, name, &wcc] { return inner_->remove_xattr(who, file, name, wcc); });
}

VfsOp<PosixAcl> FaultyFileSystem::get_acl(const FileRef& file) {
  return guarded(Operation::get_acl, [this, &file] { return inner_->get_acl(file); });
}

VfsOp<> FaultyFileSystem::set_acl(const Credentials& who, const FileRef& file, const SetAcl& set, Wcc& wcc) {
  return guarded(Operation::set_acl,
                 [this, &who, &file, &set, &wcc] { return inner_->set_acl(who, file, set, wcc); });
}

}  // namespace braid::vfs
