// A file system that fails on demand: for tests of what stands above the seam.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "vfs/file_system.h"

namespace braid::vfs {

enum class Operation : std::uint8_t {
  resolve,
  getattr,
  setattr,
  lookup,
  access,
  readlink,
  read,
  write,
  commit,
  create,
  mkdir,
  symlink,
  mknod,
  remove,
  rmdir,
  rename,
  link,
  readdir,
  status,
  limits,
  open,
  open_create,
  set,
  lock,
  test_lock,
  unlock,
  lease,
  lease_directory,
  seek,
  allocate,
  deallocate,
  clone,
  copy,
  advise,
  get_xattr,
  set_xattr,
  list_xattrs,
  remove_xattr,
  get_acl,
  set_acl
};
constexpr std::size_t operations = 40;

struct Fault {
  Operation operation = Operation::getattr;
  std::uint64_t skip = 0;        // calls that are let through first
  std::uint64_t times = 1;       // calls that meet the fault
  std::optional<Error> error{};  // what they answer; none: they only take longer
  bool after_effect = false;     // the error comes after the work was done, as from a failing fsync
  base::Duration delay{};        // before anything else; needs a reactor on the calling thread
};

// Hands every call to `inner` unless a fault applies, those of files that were opened here, too. Belongs to a
// shared_ptr. Thread-safe.
class FaultyFileSystem final : public FileSystem, public std::enable_shared_from_this<FaultyFileSystem> {
 public:
  explicit FaultyFileSystem(std::shared_ptr<FileSystem> inner) : inner_(std::move(inner)) {}

  // Faults of one operation apply one after the other, in the order they were added.
  void inject(const Fault& fault);
  // Calls of an operation so far.
  [[nodiscard]] std::uint64_t calls(Operation operation) const;

  [[nodiscard]] FileRef root() const override { return inner_->root(); }
  VfsOp<FileRef> resolve(base::BytesView handle) override;
  VfsOp<Attributes> getattr(const FileRef& file) override;
  VfsOp<> setattr(const Credentials& who, const FileRef& file, const SetAttributes& set,
                  std::optional<Time> guard, Wcc* wcc) override;
  VfsOp<Found> lookup(const Credentials& who, const FileRef& directory, std::string_view name) override;
  VfsOp<std::uint32_t> access(const Credentials& who, const FileRef& file, std::uint32_t wanted,
                              std::optional<Attributes>& now) override;
  VfsOp<io::Payload> readlink(const Credentials& who, const FileRef& link) override;
  Borrowed borrow(const Credentials& who, const FileRef& file) override;
  // As if only a few more files could be opened.
  void be_short_of_opens() { short_of_opens_ = true; }
  [[nodiscard]] bool few_opens_left() const override { return short_of_opens_ || inner_->few_opens_left(); }
  void be_short_of_locks() { short_of_locks_ = true; }
  [[nodiscard]] bool few_locks_left() const override { return short_of_locks_ || inner_->few_locks_left(); }
  VfsOp<Found> create(const Credentials& who, const FileRef& directory, std::string_view name,
                      const CreateHow& how, Wcc& wcc) override;
  VfsOp<Found> mkdir(const Credentials& who, const FileRef& directory, std::string_view name,
                     const SetAttributes& set, Wcc& wcc) override;
  VfsOp<Found> symlink(const Credentials& who, const FileRef& directory, std::string_view name,
                       std::string_view target, const SetAttributes& set, Wcc& wcc) override;
  VfsOp<Found> mknod(const Credentials& who, const FileRef& directory, std::string_view name,
                     const SpecialFile& special, const SetAttributes& set, Wcc& wcc) override;
  VfsOp<> remove(const Credentials& who, const FileRef& directory, std::string_view name, Wcc& wcc) override;
  VfsOp<> rmdir(const Credentials& who, const FileRef& directory, std::string_view name, Wcc& wcc) override;
  VfsOp<> rename(const Credentials& who, const FileRef& from_directory, std::string_view from_name,
                 const FileRef& to_directory, std::string_view to_name, Wcc& from_wcc, Wcc& to_wcc) override;
  VfsOp<> link(const Credentials& who, const FileRef& file, const FileRef& directory, std::string_view name,
               Wcc& wcc) override;
  VfsOp<bool> readdir(const Credentials& who, const FileRef& directory, const ReadDirectoryRequest& request,
                      const EntrySink& sink) override;
  VfsOp<FileSystemStatus> status(const FileRef& file) override;
  VfsOp<FileSystemLimits> limits(const FileRef& file) override;

  VfsOp<OpenFileRef> open(const Credentials& who, const FileRef& file, OpenAccess access,
                          OpenRule rule) override;
  VfsOp<OpenCreated> open_create(const Credentials& who, const FileRef& directory, std::string_view name,
                                 OpenAccess access, const CreateHow& how, Wcc& wcc) override;
  // A close has no failure to inject.
  VfsOp<> close(OpenFileRef open) override;
  VfsOp<std::optional<LockConflict>> lock(const OpenFileRef& open, LockOwnerId owner, LockRange range,
                                          LockType type) override;
  VfsOp<std::optional<LockConflict>> test_lock(const FileRef& file, LockOwnerId owner, LockRange range,
                                               LockType type) override;
  VfsOp<> unlock(const FileRef& file, LockOwnerId owner, LockRange range) override;
  VfsOp<LeaseRef> lease(const OpenFileRef& open, LeaseType type, LeaseHolder holder,
                        LeaseBreak broken) override;
  VfsOp<LeaseRef> lease_directory(const FileRef& directory, LeaseHolder holder, LeaseBreak broken) override;
  VfsOp<io::Payload> get_xattr(const Credentials& who, const FileRef& file, std::string_view name) override;
  VfsOp<> set_xattr(const Credentials& who, const FileRef& file, std::string_view name, base::BytesView value,
                    XattrMode mode, Wcc& wcc) override;
  VfsOp<bool> list_xattrs(const Credentials& who, const FileRef& file, std::uint64_t cookie,
                          const XattrSink& sink) override;
  VfsOp<> remove_xattr(const Credentials& who, const FileRef& file, std::string_view name, Wcc& wcc) override;
  VfsOp<PosixAcl> get_acl(const FileRef& file) override;
  VfsOp<> set_acl(const Credentials& who, const FileRef& file, const SetAcl& set, Wcc* wcc) override;
  // No faults: whoever moves contents is no client.
  VfsOp<ContentRef> content(const FileRef& file) override { return inner_->content(file); }
  VfsOp<ContentRef> exchange(const FileRef& file, ContentRef next) override {
    return inner_->exchange(file, std::move(next));
  }
  VfsOp<ContentRef> place(const FileRef& file, ContentSource& source, PlacementHint hint) override {
    return inner_->place(file, source, hint);
  }
  VfsOp<std::unique_ptr<Stub>> stub(const FileRef& file, ContentSource& source) override {
    return inner_->stub(file, source);
  }
  [[nodiscard]] bool takes_pipes() const override { return inner_->takes_pipes(); }

 private:
  struct Script {
    std::array<std::vector<Fault>, operations> faults;
    std::array<std::uint64_t, operations> calls{};
  };
  class Opened;
  class Lent;
  // What was opened before this file system took the place of `inner` is the inner one's already.
  [[nodiscard]] const OpenFileRef& inner_of(const OpenFileRef& open) const;
  std::optional<Fault> next_fault(Operation operation);
  template <class F>
  auto guarded(Operation operation, F call) -> std::invoke_result_t<F&>;
  template <class F>
  static auto faulty(Fault fault, F call) -> std::invoke_result_t<F&>;

  const std::shared_ptr<FileSystem> inner_;
  std::atomic<bool> short_of_opens_{false};
  std::atomic<bool> short_of_locks_{false};
  base::Guarded<Script> script_;
};

}  // namespace braid::vfs
