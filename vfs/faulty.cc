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
                                              std::uint32_t wanted) {
  return guarded(Operation::access,
                 [this, &who, &file, wanted] { return inner_->access(who, file, wanted); });
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

VfsOp<> FaultyFileSystem::commit(const Credentials& who, const FileRef& file, std::uint64_t offset,
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

}  // namespace braid::vfs
