// CREATE.
#include <sys/stat.h>

#include <cstring>

#include "vfs/posix/tree.h"

namespace braid::vfs::posix {
namespace {

// The verifier of an exclusive create, kept in the times of the file: every file system can store 31 bits of
// seconds, and the client sets the times afterwards anyway (RFC 1813 3.3.8). (As knfsd.)
struct VerifierTimes {
  std::int64_t atime = 0;
  std::int64_t mtime = 0;

  explicit VerifierTimes(const Verifier& verifier) {
    std::uint32_t words[2];
    static_assert(sizeof words == sizeof verifier.bytes);
    std::memcpy(words, verifier.bytes.data(), sizeof words);
    atime = words[0] & 0x7fffffffU;
    mtime = words[1] & 0x7fffffffU;
  }
  [[nodiscard]] bool marks(const Attributes& file) const {
    return file.type == FileType::regular && file.size == 0 && file.atime == Time{atime, 0} &&
           file.mtime == Time{mtime, 0};
  }
};

}  // namespace

Outcome<Found> Tree::create(const Credentials& who, PosixFile& directory, std::string_view text,
                            const CreateHow& how, Wcc& wcc) {
  FileRef file;
  {
    const Change change(*this, directory, wcc);
    if (auto allowed = change.allowed(); !allowed) return base::fail(allowed.error());
    const auto name = Name::of(text);
    if (!name) return base::fail(name.error());
    if (name->is_dot() || name->is_dot_dot()) return base::fail(Error::exist);
    auto made = create_new(who, directory, *name, how);
    if (!made && made.error() == Error::exist) made = create_existing(who, directory, *name, how);
    if (!made) return base::fail(made.error());
    file = std::move(*made);
  }
  if (auto done = sync_new(directory, static_cast<PosixFile&>(*file)); !done) return base::fail(done.error());
  return found(std::move(file));
}

Outcome<Found> Tree::found(FileRef file) {
  const auto attributes = live_attributes(static_cast<PosixFile&>(*file));
  if (!attributes) return base::fail(attributes.error());
  return Found{std::move(file), *attributes};
}

// The descriptor that made the file becomes the one that its data goes through. exist: the name is taken.
Outcome<FileRef> Tree::create_new(const Credentials& who, PosixFile& directory, const Name& name,
                                  const CreateHow& how) {
  constexpr int flags = O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC;
  const bool exclusive = how.mode == CreateHow::Mode::exclusive;
  // Nobody but the owner can use an exclusively created file before the client has set its mode.
  const mode_t mode = exclusive ? 0 : how.attributes.mode.value_or(0) & 07777U;
  const auto create = [&]() -> Outcome<base::UniqueFd> {
    base::UniqueFd fd(::openat(directory.fd(), name.c_str(), flags, mode));
    if (!fd) return failed_call();
    if (exclusive) {
      const VerifierTimes verifier(how.verifier);
      const timespec times[2] = {{verifier.atime, 0}, {verifier.mtime, 0}};
      if (::futimens(fd.get(), times) != 0) return failed_call();
    }
    return fd;
  };
  auto fd = with_room([&] { return identity_.as(who, create); });
  if (!fd) return base::fail(fd.error());
  auto file = adopt(directory, name, std::move(*fd), Opened::write);
  if (!file || exclusive) return file;
  SetAttributes rest = how.attributes;
  if (rest.size == 0) rest.size.reset();
  if (auto done = apply_initial(who, static_cast<PosixFile&>(**file), rest); !done)
    return base::fail(done.error());
  return file;
}

// RFC 1813 3.3.8: what an existing name means depends on the mode. (In detail as knfsd.)
Outcome<FileRef> Tree::create_existing(const Credentials& who, PosixFile& directory, const Name& name,
                                       const CreateHow& how) {
  if (how.mode == CreateHow::Mode::guarded) return base::fail(Error::exist);
  auto file = file_at(directory, name);
  if (!file) return base::fail(file.error() == Error::noent ? Error::delay : file.error());
  auto& existing = static_cast<PosixFile&>(**file);
  const auto now = live_attributes(existing);
  if (!now) return base::fail(now.error() == Error::stale ? Error::delay : now.error());
  if (how.mode == CreateHow::Mode::exclusive) {
    // A repetition of the call that made the file.
    if (!VerifierTimes(how.verifier).marks(*now)) return base::fail(Error::exist);
    return file;
  }
  // Of the attributes only the size is for a file that exists, and only a regular one has a size to set.
  if (existing.type() == FileType::regular && how.attributes.size)
    if (auto done = truncate(who, existing, *how.attributes.size, *now); !done)
      return base::fail(done.error());
  return file;
}

// What the creating call could not set. Times of the server's clock are set already; giving away a new object
// is for user 0 alone, and others ask for their own ids. (As knfsd.)
Outcome<> Tree::apply_initial(const Credentials& who, PosixFile& file, const SetAttributes& set) {
  SetAttributes rest = set;
  rest.mode.reset();
  if (!identity_.is_superuser(who)) {
    rest.uid.reset();
    rest.gid.reset();
  }
  if (rest.atime.how == SetTime::How::server) rest.atime.how = SetTime::How::leave;
  if (rest.mtime.how == SetTime::How::server) rest.mtime.how = SetTime::How::leave;
  if (!rest.uid && !rest.gid && !rest.size && rest.atime.how == SetTime::How::leave &&
      rest.mtime.how == SetTime::How::leave)
    return {};
  const auto now = live_attributes(file);
  if (!now) return base::fail(now.error());
  return apply(who, file, rest, *now);
}

}  // namespace braid::vfs::posix
