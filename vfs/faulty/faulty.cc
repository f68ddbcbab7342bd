#include "vfs/faulty/faulty.h"

#include <type_traits>
#include <utility>

#include "io/reactor.h"
#include "vfs/content_slot.h"

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

class FaultyFileSystem::Opened final : public OpenFile {
 public:
  Opened(std::shared_ptr<FaultyFileSystem> home, OpenFileRef inner)
      : home_(std::move(home)), inner_(std::move(inner)) {}
  [[nodiscard]] const OpenFileRef& inner() const { return inner_; }
  [[nodiscard]] FileRef file() const override { return inner_->file(); }
  [[nodiscard]] OpenAccess access() const override { return inner_->access(); }
  [[nodiscard]] std::shared_ptr<FileSystem> file_system() const override { return home_; }
  [[nodiscard]] Verifier write_verifier() const override { return inner_->write_verifier(); }
  [[nodiscard]] bool has_descriptor() const override { return inner_->has_descriptor(); }
  base::Result<Descriptor, Error> descriptor() override { return inner_->descriptor(); }
  [[nodiscard]] bool may_have_content() const override { return inner_->may_have_content(); }
  VfsOp<ContentHold> hold_content() override { return inner_->hold_content(); }

  VfsOp<ReadResult> read(std::uint64_t offset, std::uint32_t count, ReadMemory memory) override {
    return home_->guarded(Operation::read,
                          [this, offset, count, memory] { return inner_->read(offset, count, memory); });
  }
  VfsOp<WriteResult> write(const Credentials& who, std::uint64_t offset, const io::Payload& data,
                           Stability stability, Wcc* wcc) override {
    return home_->guarded(Operation::write, [this, &who, offset, &data, stability, wcc] {
      return inner_->write(who, offset, data, stability, wcc);
    });
  }
  VfsOp<Verifier> commit(const Credentials& who, std::uint64_t offset, std::uint32_t count,
                         Wcc* wcc) override {
    return home_->guarded(Operation::commit, [this, &who, offset, count, wcc] {
      return inner_->commit(who, offset, count, wcc);
    });
  }
  VfsOp<> set(const Credentials& who, const SetAttributes& set, Wcc* wcc) override {
    return home_->guarded(Operation::set, [this, &who, &set, wcc] { return inner_->set(who, set, wcc); });
  }
  VfsOp<SeekResult> seek(std::uint64_t offset, SeekTo what, std::uint64_t until) override {
    return home_->guarded(Operation::seek,
                          [this, offset, what, until] { return inner_->seek(offset, what, until); });
  }
  VfsOp<> allocate(const Credentials& who, std::uint64_t offset, std::uint64_t length) override {
    return home_->guarded(Operation::allocate,
                          [this, &who, offset, length] { return inner_->allocate(who, offset, length); });
  }
  VfsOp<> deallocate(const Credentials& who, std::uint64_t offset, std::uint64_t length) override {
    return home_->guarded(Operation::deallocate,
                          [this, &who, offset, length] { return inner_->deallocate(who, offset, length); });
  }
  VfsOp<> clone_from(const Credentials& who, OpenFile& from, std::uint64_t from_offset,
                     std::uint64_t to_offset, std::uint64_t length) override {
    return home_->guarded(Operation::clone, [this, &who, &from, from_offset, to_offset, length] {
      return inner_->clone_from(who, from, from_offset, to_offset, length);
    });
  }
  VfsOp<std::uint64_t> copy_from(const Credentials& who, OpenFile& from, std::uint64_t from_offset,
                                 std::uint64_t to_offset, std::uint64_t length) override {
    return home_->guarded(Operation::copy, [this, &who, &from, from_offset, to_offset, length] {
      return inner_->copy_from(who, from, from_offset, to_offset, length);
    });
  }
  VfsOp<> advise(std::uint64_t offset, std::uint64_t length, Advice advice) override {
    return home_->guarded(Operation::advise,
                          [this, offset, length, advice] { return inner_->advise(offset, length, advice); });
  }

 private:
  const std::shared_ptr<FaultyFileSystem> home_;
  const OpenFileRef inner_;
};

// Borrows the inner file in each call.
class FaultyFileSystem::Lent final : public OpenFile {
 public:
  Lent(FaultyFileSystem& home, const Credentials& who, const FileRef& file)
      : home_(home), who_(who), file_(file) {}
  [[nodiscard]] FileRef file() const override { return file_; }
  [[nodiscard]] OpenAccess access() const override { return OpenAccess::both; }
  [[nodiscard]] Verifier write_verifier() const override {
    return home_.inner_->borrow(who_, file_)->write_verifier();
  }

  VfsOp<ReadResult> read(std::uint64_t offset, std::uint32_t count, ReadMemory memory) override {
    return lend(Operation::read,
                [offset, count, memory](OpenFile& inner) { return inner.read(offset, count, memory); });
  }
  VfsOp<WriteResult> write(const Credentials& who, std::uint64_t offset, const io::Payload& data,
                           Stability stability, Wcc* wcc) override {
    return lend(Operation::write, [&who, offset, &data, stability, wcc](OpenFile& inner) {
      return inner.write(who, offset, data, stability, wcc);
    });
  }
  VfsOp<Verifier> commit(const Credentials& who, std::uint64_t offset, std::uint32_t count,
                         Wcc* wcc) override {
    return lend(Operation::commit, [&who, offset, count, wcc](OpenFile& inner) {
      return inner.commit(who, offset, count, wcc);
    });
  }
  VfsOp<> set(const Credentials& who, const SetAttributes& set, Wcc* wcc) override {
    return lend(Operation::set, [&who, &set, wcc](OpenFile& inner) { return inner.set(who, set, wcc); });
  }

 private:
  template <class F>
  static auto borrowing(const Lent& self, F use) -> std::invoke_result_t<F&, OpenFile&> {
    const Borrowed inner = self.home_.inner_->borrow(self.who_, self.file_);
    if constexpr (std::is_void_v<typename std::invoke_result_t<F&, OpenFile&>::value_type>)
      co_await use(*inner);
    else
      co_return co_await use(*inner);
  }
  template <class F>
  auto lend(Operation operation, F use) -> std::invoke_result_t<F&, OpenFile&> {
    return home_.guarded(operation, [this, use] { return borrowing(*this, use); });
  }

  FaultyFileSystem& home_;
  const Credentials& who_;
  const FileRef& file_;
};

VfsOp<FileRef> FaultyFileSystem::resolve(base::BytesView handle) {
  return guarded(Operation::resolve, [this, handle] { return inner_->resolve(handle); });
}

VfsOp<Attributes> FaultyFileSystem::getattr(const FileRef& file) {
  return guarded(Operation::getattr, [this, &file] { return inner_->getattr(file); });
}

VfsOp<> FaultyFileSystem::setattr(const Credentials& who, const FileRef& file, const SetAttributes& set,
                                  std::optional<Time> guard, Wcc* wcc) {
  return guarded(Operation::setattr, [this, &who, &file, &set, guard, wcc] {
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

Borrowed FaultyFileSystem::borrow(const Credentials& who, const FileRef& file) {
  return Borrowed(std::in_place_type<Lent>, *this, who, file);
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
  const OpenFileRef open = co_await guarded(
      Operation::open, [this, &who, &file, access, rule] { return inner_->open(who, file, access, rule); });
  co_return std::make_shared<Opened>(shared_from_this(), open);
}

VfsOp<OpenCreated> FaultyFileSystem::open_create(const Credentials& who, const FileRef& directory,
                                                 std::string_view name, OpenAccess access,
                                                 const CreateHow& how, Wcc& wcc) {
  OpenCreated made =
      co_await guarded(Operation::open_create, [this, &who, &directory, name, access, &how, &wcc] {
        return inner_->open_create(who, directory, name, access, how, wcc);
      });
  made.open = std::make_shared<Opened>(shared_from_this(), made.open);
  co_return made;
}

const OpenFileRef& FaultyFileSystem::inner_of(const OpenFileRef& open) const {
  if (open == nullptr || open->file_system().get() != this) return open;
  return static_cast<const Opened&>(*open).inner();
}

VfsOp<> FaultyFileSystem::close(OpenFileRef open) {
  OpenFileRef inner = inner_of(open);
  open.reset();
  return inner_->close(std::move(inner));
}

VfsOp<std::optional<LockConflict>> FaultyFileSystem::lock(const OpenFileRef& open, LockOwnerId owner,
                                                          LockRange range, LockType type) {
  return guarded(Operation::lock, [this, &open, owner, range, type] {
    return inner_->lock(inner_of(open), owner, range, type);
  });
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
    return inner_->lease(inner_of(open), type, holder, std::move(broken));
  });
}

VfsOp<LeaseRef> FaultyFileSystem::lease_directory(const FileRef& directory, LeaseHolder holder,
                                                  LeaseBreak broken) {
  return guarded(Operation::lease_directory,
                 [this, &directory, holder, broken = std::move(broken)]() mutable {
                   return inner_->lease_directory(directory, holder, std::move(broken));
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

VfsOp<> FaultyFileSystem::set_acl(const Credentials& who, const FileRef& file, const SetAcl& set, Wcc* wcc) {
  return guarded(Operation::set_acl,
                 [this, &who, &file, &set, wcc] { return inner_->set_acl(who, file, set, wcc); });
}

}  // namespace braid::vfs
