// CREATE.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <string>

#include "vfs/posix/contents.h"
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

constexpr std::uint32_t no_owner = 0xffffffff;  // to fchown(2)

Outcome<> mark(int fd, const Verifier& verifier) {
  const VerifierTimes marked(verifier);
  const timespec times[2] = {{marked.atime, 0}, {marked.mtime, 0}};
  return outcome_of(::futimens(fd, times));
}

// What an exclusively created file has from its first moment, besides the verifier.
struct Born {
  mode_t mode = 0;
  std::optional<std::uint32_t> uid, gid;
};

// The name appears with the verifier in place or not at all: after a kill in between, the repeated call would
// not be recognised. Nobody but the owner can use a file without a mode before the client has set one.
Outcome<base::UniqueFd> create_marked(int directory, const Name& name, const Verifier& verifier,
                                      const Born& born, int descriptors) {
  base::UniqueFd fd(::openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, born.mode));
  const bool nameless = static_cast<bool>(fd);
  if (!nameless) {
    // Not every file system has files without a name.
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) return failed_call();
    constexpr int flags = O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC;
    fd = base::UniqueFd(::openat(directory, name.c_str(), flags, born.mode));
    if (!fd) return failed_call();
  }
  // A file with a name is there already.
  const auto failed = [&](Error error) -> Outcome<base::UniqueFd> {
    if (nameless) return base::fail(error);
    return late(error);
  };
  if (born.uid || born.gid)
    if (::fchown(fd.get(), born.uid.value_or(no_owner), born.gid.value_or(no_owner)) != 0)
      return failed(error_of(errno));
  if (auto marked = mark(fd.get(), verifier); !marked) return failed(marked.error());
  if (!nameless) return fd;
  const std::string source = fmt::format("{}", fd.get());
  const auto linked =
      outcome_of(::linkat(descriptors, source.c_str(), directory, name.c_str(), AT_SYMLINK_FOLLOW));
  if (!linked) return base::fail(linked.error());
  return fd;
}

}  // namespace

Outcome<Found> Tree::create(const Credentials& who, PosixFile& directory, std::string_view text,
                            const CreateHow& how, Wcc& wcc, bool& created) {
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
    plan = plan_sync(directory);
    auto made = create_new(who, directory, *name, how);
    created = made.has_value();
    if (!made && made.error() == Error::exist) made = create_existing(who, directory, *name, how);
    if (!made) return base::fail(made.error());
    out = std::move(*made);
  }
  if (auto done = sync_new(plan, static_cast<PosixFile&>(*out.file)); !done) return base::fail(done.error());
  return out;
}

// The mode of something new in this directory (RFC 8275 6.2).
std::uint32_t Tree::initial_mode(const PosixFile& directory, const SetAttributes& set) const {
  const std::uint32_t mode = set.mode.value_or(0) & 07777U;
  const std::uint32_t masked = mode & ~set.umask.value_or(0);
  return masked == mode || has_default_acl(directory.fd()) ? mode : masked;
}

// The descriptor of a new file. exist: the name is taken.
Outcome<base::UniqueFd> Tree::create_descriptor(const Credentials& who, const PosixFile& directory,
                                                const Name& name, const CreateHow& how, int access) {
  const int flags = O_CREAT | O_EXCL | access | O_NOFOLLOW | O_CLOEXEC;
  const bool plain = how.mode == CreateHow::Mode::exclusive;
  const auto mode = plain ? mode_t{0} : initial_mode(directory, how.attributes);
  Born born{mode, std::nullopt, std::nullopt};
  if (!plain && identity_.is_superuser(who)) {
    born.uid = how.attributes.uid;
    born.gid = how.attributes.gid;
  }
  const auto create = [&]() -> Outcome<base::UniqueFd> {
    if (is_exclusive(how))
      return create_marked(directory.fd(), name, how.verifier, born, root_.descriptors.get());
    base::UniqueFd fd(::openat(directory.fd(), name.c_str(), flags, mode));
    if (!fd) return failed_call();
    return fd;
  };
  return with_room([&] { return identity_.as(who, create); });
}

// The descriptor that made the file becomes the one that its data goes through.
Outcome<Found> Tree::create_new(const Credentials& who, PosixFile& directory, const Name& name,
                                const CreateHow& how) {
  auto fd = create_descriptor(who, directory, name, how, O_RDWR);
  if (!fd) return base::fail(fd.error());
  auto made = adopt(directory, name, std::move(*fd), Opened::write);
  if (!made) return base::fail(made.error());
  if (is_exclusive(how)) return std::move(*made);
  SetAttributes rest = how.attributes;
  if (rest.size == 0) rest.size.reset();
  const FileData data(*this, static_cast<PosixFile&>(*made->file), who);
  if (auto done = apply_initial(who, *made, rest, data); !done) return base::fail(done.error());
  note_made(node(made->file), directory, made->attributes);
  return std::move(*made);
}

// Of the call that made this file.
bool Tree::is_repetition(const CreateHow& how, const Attributes& now) {
  return VerifierTimes(how.verifier).marks(now);
}

// RFC 1813 3.3.8: what an existing name means depends on the mode. (In detail as knfsd.)
Outcome<Found> Tree::create_existing(const Credentials& who, PosixFile& directory, const Name& name,
                                     const CreateHow& how) {
  if (how.mode == CreateHow::Mode::guarded) return base::fail(Error::exist);
  auto file = file_at(directory, name);
  if (!file) return base::fail(file.error() == Error::noent ? Error::delay : file.error());
  auto& existing = static_cast<PosixFile&>(**file);
  const auto now = live_attributes(existing);
  if (!now) return base::fail(now.error() == Error::stale ? Error::delay : now.error());
  if (is_exclusive(how)) {
    if (!is_repetition(how, *now)) return base::fail(Error::exist);
    return Found{std::move(*file), *now};
  }
  // Of the attributes only the size is for a file that exists, and only a regular one has a size to set.
  const bool truncates = existing.type() == FileType::regular && how.attributes.size;
  if (truncates)
    if (auto done = FileData(*this, existing, who).resize(who, *how.attributes.size, *now); !done)
      return base::fail(done.error());
  auto out = found(std::move(*file));
  if (!out && truncates) return late(out.error());
  return out;
}

// What the creating call could not set. Times of the server's clock are set already; giving away a new object
// is for user 0 alone, and others ask for their own ids. (As knfsd.)
Late<> Tree::apply_initial(const Credentials& who, Found& made, const SetAttributes& set,
                           const FileData& data) {
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
  auto& file = static_cast<PosixFile&>(*made.file);
  if (auto done = apply(who, file, rest, made.attributes, data); !done) return late(done.error());
  const auto now = live_attributes(file);
  if (!now) return late(now.error());
  made.attributes = *now;
  return {};
}

}  // namespace braid::vfs::posix
