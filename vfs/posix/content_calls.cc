// The calls of a file system whose files may have contents.
#include <atomic>
#include <utility>

#include "vfs/posix/file_system.h"
#include "vfs/posix/stub.h"

namespace braid::vfs::posix {
namespace {

// Counts a call that is about to take a name from the file, as long as it lives.
class Removal {
 public:
  explicit Removal(const FileRef& file) : file_(file) {
    if (file_) ++node(file_).content()->removals;
  }
  ~Removal() {
    if (file_) --node(file_).content()->removals;
  }
  Removal(const Removal&) = delete;
  Removal& operator=(const Removal&) = delete;

 private:
  const FileRef file_;  // null: nobody counts
};

// Who is told to try again meets the file that was made.
base::Failure<Error> failed_after(bool created, Error error) {
  return base::fail(created ? Error(LateError(error)) : error);
}

// The size of what is there already is its content's matter.
void leave_size(CreateHow& how) {
  if (how.mode == CreateHow::Mode::unchecked) how.attributes.size.reset();
}

}  // namespace

VfsOp<> PosixFileSystem::settle(const FileRef& file, Attributes& now) {
  if (node(file).content() == nullptr) co_return;
  const bool has_content = co_await contents_.settle(node(file));
  if (has_content)
    now = co_await placement_.run(Call::getattr, [this, &file] { return tree_.getattr(node(file)); });
}

VfsOp<Attributes> PosixFileSystem::getattr_settled(const FileRef& file) {
  (void)co_await contents_.settle(node(file));
  co_return co_await placement_.run(Call::getattr, [this, &file] { return tree_.getattr(node(file)); });
}

VfsOp<Found> PosixFileSystem::lookup_settled(const Credentials& who, const FileRef& directory,
                                             std::string_view name) {
  Found found = co_await placement_.run(
      Call::lookup, [this, &who, &directory, name] { return tree_.lookup(who, node(directory), name); });
  const base::Result<void, Error> settled = co_await settle(found.file, found.attributes).as_result();
  if (!settled) co_await base::fail(settled.error() == Error::stale ? Error::noent : settled.error());
  co_return std::move(found);
}

VfsOp<std::uint32_t> PosixFileSystem::access_settled(const Credentials& who, const FileRef& file,
                                                     std::uint32_t wanted, std::optional<Attributes>& now) {
  (void)co_await contents_.settle(node(file));
  co_return co_await placement_.run(Call::permission, [this, &who, &file, wanted, &now] {
    return tree_.access(who, node(file), wanted, now);
  });
}

VfsOp<> PosixFileSystem::setattr_with_content(const Credentials& who, const FileRef& file,
                                              const SetAttributes& set, std::optional<Time> guard, Wcc* wcc) {
  LentFile lent(*this, tree_, who, file);
  co_await lent.set_with_content(who, set, guard, wcc);
}

VfsOp<> PosixFileSystem::finish_create(const Credentials& who, FileIo& io, MadeContent content,
                                       std::optional<std::uint64_t> size, Attributes& attributes) {
  const FileRef file = io.file();
  if (content != MadeContent::as_it_is) {
    PosixFile& made = node(file);
    auto use = content == MadeContent::fresh ? contents_.use_new(made) : contents_.use(made);
    const ContentSlot::Use known = co_await std::move(use);
  }
  if (!size) {
    co_await settle(file, attributes);
    co_return;
  }
  SetAttributes set;
  set.size = size;
  co_await io.set_with_content(who, set, std::nullopt, nullptr);
  attributes = co_await getattr_settled(file);
}

VfsOp<Found> PosixFileSystem::create_with_content(const Credentials& who, const FileRef& directory,
                                                  std::string_view name, const CreateHow& how, Wcc& wcc) {
  CreateHow made(how);
  leave_size(made);
  bool created = false;
  Found found = co_await change([this, &who, &directory, name, &made, &wcc, &created] {
    return tree_.create(who, node(directory), name, made, wcc, created);
  });
  if (node(found.file).content() == nullptr) co_return std::move(found);
  const std::optional<std::uint64_t> wanted = how.attributes.size;
  const bool resizes = wanted && !made.attributes.size && !(created && *wanted == 0);
  LentFile lent(*this, tree_, who, found.file);
  const auto finished =
      co_await finish_create(who, lent, created ? MadeContent::fresh : MadeContent::as_it_is,
                             resizes ? wanted : std::nullopt, found.attributes)
          .as_result();
  if (!finished) co_await failed_after(created, finished.error());
  co_return std::move(found);
}

// A file whose content is not to be had is not opened.
VfsOp<OpenFileRef> PosixFileSystem::open_with_content(const Credentials& who, const FileRef& file,
                                                      OpenAccess access, OpenRule rule) {
  {
    const ContentSlot::Use known = co_await contents_.use(node(file));
  }
  co_return co_await placement_.run(
      Call::open, [this, &who, &file, access, rule] { return tree_.open(who, file, access, rule); });
}

VfsOp<OpenCreated> PosixFileSystem::open_create_with_content(const Credentials& who, const FileRef& directory,
                                                             std::string_view name, OpenAccess access,
                                                             const CreateHow& how, Wcc& wcc) {
  CreateHow made(how);
  leave_size(made);
  OpenCreated out = co_await change([this, &who, &directory, name, access, &made, &wcc] {
    return tree_.open_create(who, node(directory), name, access, made, wcc);
  });
  // The repetition of an exclusive create finds a file that has been there.
  const bool fresh = out.created && how.mode != CreateHow::Mode::exclusive;
  const std::optional<std::uint64_t> wanted = how.attributes.size;
  const bool resizes = wanted && !made.attributes.size && (out.created ? *wanted != 0 : *wanted == 0);
  LentFile lent(*this, tree_, who, out.file);
  FileIo& io = includes(access, OpenAccess::write) ? static_cast<FileIo&>(*out.open) : lent;
  const auto finished = co_await finish_create(who, io, fresh ? MadeContent::fresh : MadeContent::known,
                                               resizes ? wanted : std::nullopt, out.attributes)
                            .as_result();
  if (!finished) co_await failed_after(out.created, finished.error());
  if (resizes) out.truncated = !out.created;
  co_return std::move(out);
}

template <class F>
VfsOp<> PosixFileSystem::with_victim(const Credentials& who, const FileRef& directory, std::string_view name,
                                     F work) {
  constexpr int attempts_max = 8;
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    Tree::Victim victim = co_await placement_.run(
        Call::lookup, [this, &who, &directory, name] { return tree_.victim_of(who, node(directory), name); });
    const Removal removal(victim.file);
    if (victim.file) co_await contents_.removing(node(victim.file));
    const base::Result<void, Error> done = co_await change([&] { return work(&victim); }).as_result();
    if (victim.other) continue;
    co_await base::Result<void, Error>(done);
    co_return;
  }
  co_await base::fail(Error::delay);
}

VfsOp<> PosixFileSystem::remove_with_content(const Credentials& who, const FileRef& directory,
                                             std::string_view name, Wcc& wcc) {
  wcc = {};
  const auto remove = [&](Tree::Victim* victim) {
    return tree_.remove(who, node(directory), name, wcc, victim);
  };
  base::Result<void, Error> done = co_await with_victim(who, directory, name, remove).as_result();
  // Nothing was begun.
  if (!done && !wcc.after)
    co_await change([this, &directory, &wcc] { return tree_.look_around(node(directory), wcc); });
  co_await std::move(done);
}

VfsOp<> PosixFileSystem::rename_with_content(const Credentials& who, const FileRef& from_directory,
                                             std::string_view from_name, const FileRef& to_directory,
                                             std::string_view to_name, Wcc& from_wcc, Wcc& to_wcc) {
  from_wcc = {};
  to_wcc = {};
  const auto rename = [&](Tree::Victim* victim) {
    return tree_.rename(who, node(from_directory), from_name, node(to_directory), to_name, from_wcc, to_wcc,
                        victim);
  };
  base::Result<void, Error> done = co_await with_victim(who, to_directory, to_name, rename).as_result();
  if (!done && !from_wcc.after)
    co_await change([this, &from_directory, &to_directory, &from_wcc, &to_wcc] {
      (void)tree_.look_around(node(from_directory), from_wcc);
      return tree_.look_around(node(to_directory), to_wcc);
    });
  co_await std::move(done);
}

VfsOp<FileSystemStatus> PosixFileSystem::status_with_contents(const FileRef& file) {
  FileSystemStatus now =
      co_await placement_.run(Call::status, [this, &file] { return tree_.status(node(file)); });
  co_await contents_.adjust(now);
  co_return now;
}

VfsOp<ContentRef> PosixFileSystem::content(const FileRef& file) {
  if (node(file).content() == nullptr) return base::fail(Error::notsupp);
  return contents_.content(node(file));
}

VfsOp<ContentRef> PosixFileSystem::exchange(const FileRef& file, ContentRef next) {
  if (node(file).content() == nullptr) return base::fail(Error::notsupp);
  return contents_.exchange(node(file), std::move(next));
}

VfsOp<ContentRef> PosixFileSystem::place(const FileRef& file, ContentSource& source, PlacementHint hint) {
  if (node(file).content() == nullptr || !contents_.has(source)) return base::fail(Error::notsupp);
  return contents_.place(node(file), source, hint);
}

VfsOp<std::unique_ptr<Stub>> PosixFileSystem::stub(const FileRef& file, ContentSource& source) {
  if (node(file).content() == nullptr || !contents_.has(source)) return base::fail(Error::notsupp);
  return std::unique_ptr<Stub>(std::make_unique<PosixStub>(*this, file, source));
}

}  // namespace braid::vfs::posix
