#include "vfs/posix/stub.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>
#include <utility>

#include "vfs/posix/contents.h"
#include "vfs/posix/file_system.h"

namespace braid::vfs::posix {
namespace {

Outcome<std::optional<Stub::Inherited>> attribute_of(int directory, const std::string& name) {
  Stub::Inherited out;
  out.value.resize(Stub::inherited_bytes_max);
  const ssize_t size =
      ::getxattr(path_of(directory).c_str(), name.c_str(), out.value.data(), out.value.size());
  if (size < 0 && (errno == ENODATA || errno == EOPNOTSUPP)) return std::nullopt;
  if (size < 0 && errno != ERANGE) return failed_xattr_call();
  out.value.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  const auto stat = stat_of(directory);
  if (!stat) return base::fail(stat.error());
  out.fileid = stat->stx_ino;
  return out;
}

// Through a descriptor of the data, if there is one: a path costs twice as much.
Outcome<> set_record(PosixFile& file, const std::string& name, std::optional<base::BytesView> record) {
  const bool has_data = file.opened() != Opened::path;
  const auto open = has_data ? nullptr : file.any_open();
  int fd = -1;
  if (has_data) fd = file.fd();
  if (open != nullptr) fd = open->fd();
  const std::string path = fd < 0 ? path_of(file.fd()) : std::string();
  int done = 0;
  if (record)
    done = fd < 0 ? ::setxattr(path.c_str(), name.c_str(), record->data(), record->size(), 0)
                  : ::fsetxattr(fd, name.c_str(), record->data(), record->size(), 0);
  else
    done = fd < 0 ? ::removexattr(path.c_str(), name.c_str()) : ::fremovexattr(fd, name.c_str());
  if (done != 0 && (record || errno != ENODATA)) return failed_xattr_call();
  return {};
}

// False: there is no memory now.
bool append_copy(io::Payload& to, base::BytesView bytes, io::SlabPool& slabs) {
  while (!bytes.empty()) {
    const std::size_t piece = std::min(bytes.size(), io::large_slab_bytes);
    auto slab = slabs.acquire(piece <= io::small_slab_bytes ? io::SlabSize::small : io::SlabSize::large);
    if (!slab) return false;
    const io::SlabRange range{std::move(*slab), 0, static_cast<std::uint32_t>(piece)};
    std::ranges::copy(bytes.first(piece), range.writable().begin());
    to.append(range);
    bytes = bytes.subspan(piece);
  }
  return true;
}

}  // namespace

Outcome<std::optional<base::Bytes>> record_of(const PosixFile& file, std::string_view name) {
  constexpr std::size_t usual_record_bytes = 512;
  const std::string path = path_of(file.fd()), attribute(name);
  std::array<std::byte, usual_record_bytes> usual{};
  base::Bytes bytes;
  ssize_t size = ::getxattr(path.c_str(), attribute.c_str(), usual.data(), usual.size());
  if (size >= 0) {
    bytes.assign(usual.begin(), usual.begin() + size);
  } else if (errno == ERANGE) {
    bytes.resize(Stub::record_bytes_max);
    size = ::getxattr(path.c_str(), attribute.c_str(), bytes.data(), bytes.size());
  }
  if (size < 0 && (errno == ENODATA || errno == EOPNOTSUPP)) return std::nullopt;
  if (size < 0) return failed_xattr_call();
  bytes.resize(static_cast<std::size_t>(size));
  return bytes;
}

VfsOp<int> PosixStub::descriptor(OpenAccess access) {
  if (open_ != nullptr && !open_->lent() && includes(open_->access(), access)) return VfsOp<int>(open_->fd());
  const Opened wanted = includes(access, OpenAccess::write) ? Opened::write : Opened::read;
  // One more would be in the way of a client's lease.
  if (file_.opened() < wanted) {
    std::shared_ptr<PosixOpenFile>& lent = lent_[index_of(access)];
    if (lent == nullptr) lent = file_.any_open(access);
    if (lent != nullptr) return VfsOp<int>(lent->fd());
  }
  return fs_.placement().run(Call::open,
                             [this, wanted] { return fs_.tree().data_descriptor(file_, wanted); });
}

VfsOp<Attributes> PosixStub::attributes() {
  return fs_.placement().run(Call::getattr, [this]() -> Outcome<Attributes> {
    const auto stat = stat_of(file_.fd());
    if (!stat) return base::fail(stat.error());
    ctime_ = ctime_of(*stat);
    return attributes_of(*stat, file_.identity().fsid);
  });
}

VfsOp<std::optional<base::Bytes>> PosixStub::record() {
  return fs_.placement().run(Call::getattr, [this] { return record_of(file_, source_.record()); });
}

VfsOp<> PosixStub::put_record(base::BytesView record) {
  if (record.size() > record_bytes_max) return base::fail(Error::xattr2big);
  return fs_.placement().run_blocking(
      Call::sync, [this, record] { return fs_.tree().put_record(file_, source_.record(), record); });
}

VfsOp<> PosixStub::erase_record() {
  return fs_.placement().run_blocking(
      Call::sync, [this] { return fs_.tree().put_record(file_, source_.record(), std::nullopt); });
}

VfsOp<> PosixStub::put_size_and_times(const SetAttributes& set) {
  return fs_.placement().run(Call::change,
                             [this, &set] { return fs_.tree().put_size_and_times(file_, set); });
}

VfsOp<std::optional<Stub::Inherited>> PosixStub::inherited(std::string_view attribute) {
  return fs_.placement().run(Call::getattr,
                             [this, attribute] { return fs_.tree().inherited(file_, attribute, ctime_); });
}

// The kernel keeps the name by which a descriptor was opened up to date, across renames. In the private copy
// of the mount it begins at the export's root. Who opened the file by its handle, when the kernel had no name
// of it in memory, has "/".
Outcome<std::string> Tree::path_in_export(const PosixFile& file) const {
  std::array<char, PATH_MAX> buffer{};
  const ssize_t length = ::readlink(path_of(file.fd()).c_str(), buffer.data(), buffer.size());
  if (length < 0 && errno != ENAMETOOLONG) return failed_call();
  if (length <= 1 || !root_.tree || buffer.front() != '/') return std::string();
  return std::string(buffer.data(), static_cast<std::size_t>(length));
}

Outcome<std::optional<Stub::Inherited>> Tree::inherited(const PosixFile& file, std::string_view attribute,
                                                        std::optional<Time> ctime) {
  const FileContent& content = *file.content();
  const std::uint64_t directory = content.made_in.load(std::memory_order_acquire);
  const bool there =
      directory != 0 && ctime && nanoseconds_of(*ctime) == content.made_at.load(std::memory_order_relaxed);
  if (there)
    if (auto known = inherited_.find({file.identity().device, directory}, attribute))
      return std::move(*known);
  const auto path = path_in_export(file);
  if (!path) return base::fail(path.error());
  return look_up_for(file, *path, attribute);
}

// A directory that is moved after it was watched ends what is remembered; before that, the path is another
// one afterwards.
Outcome<std::optional<Stub::Inherited>> Tree::look_up_for(const PosixFile& file, const std::string& path,
                                                          std::string_view attribute) {
  const std::string name(attribute);
  const std::optional<std::uint64_t> since = inherited_.begin();
  bool watched = since.has_value();
  std::optional<InheritedMemo::Directory> nearest;
  Outcome<std::optional<Stub::Inherited>> found = std::nullopt;
  for (std::string left = path; found && !*found && !left.empty();) {
    left.resize(left.rfind('/'));
    const auto directory =
        left.empty() ? open_path(root_.fd.get(), ".") : open_path_beneath(root_.fd.get(), left.c_str() + 1);
    if (!directory && directory.error() == Error::delay) return base::fail(directory.error());
    // It was moved away in this moment.
    watched = watched && directory && inherited_.watch(directory->get());
    if (!directory) continue;
    if (watched && !nearest) {
      const auto stat = stat_of(directory->get());
      if (stat) nearest = {device_of(*stat), stat->stx_ino};
      if (stat)
        if (auto known = inherited_.find(*nearest, attribute)) return std::move(*known);
    }
    found = attribute_of(directory->get(), name);
  }
  if (!found || !watched || !nearest) return found;
  const auto again = path_in_export(file);
  if (again && *again == path) inherited_.keep(*since, *nearest, attribute, *found);
  return found;
}

VfsOp<> PosixStub::sync() {
  return fs_.placement().run_blocking(Call::sync, [this] { return fs_.tree().sync_stub(file_); });
}

VfsOp<> PosixStub::drop_privileges() {
  const bool any =
      co_await fs_.placement().run(Call::getattr, [this] { return fs_.tree().has_privileges(file_); });
  if (any)
    co_await fs_.placement().run_blocking(Call::sync, [this] { return fs_.tree().drop_privileges(file_); });
}

FileData PosixStub::data_of(const Credentials& who) const {
  return open_ != nullptr ? *open_ : FileData(fs_.tree(), file_, who);
}

Stub::Kept PosixStub::keep() {
  std::shared_ptr<PosixFileSystem> owner = fs_.tree().owner();
  return owner == nullptr ? Kept{} : Kept{.file_system = std::move(owner), .file = FileRef(&file_)};
}

Verifier PosixStub::own_verifier() const { return fs_.tree().write_verifier(); }

void PosixStub::lost() { fs_.tree().write_back().lost(); }

// The count of what is written includes the edges: what of it is the caller's.
Outcome<WriteResult> PosixStub::write_own(const Credentials& who, int fd, std::uint64_t offset,
                                          const io::Payload& data, const Edges& edges, Stability stability) {
  const FileData own = data_of(who);
  if (edges.before.empty() && edges.after.empty()) return own.write_through(who, fd, offset, data, stability);
  io::Payload all;
  bool copied = append_copy(all, edges.before, fs_.slabs());
  all.append(data);
  copied = copied && append_copy(all, edges.after, fs_.slabs());
  if (!copied) return base::fail(Error::delay);
  const std::uint64_t begin = offset - edges.before.size();
  auto written = data.empty() ? own.put_through(who, fd, begin, all, stability)
                              : own.write_through(who, fd, begin, all, stability);
  if (!written) return written;
  const std::uint64_t count = written->count, before = edges.before.size();
  if (count < before || (count == before && data.size() > 0)) return base::fail(Error::nospc);
  written->count = static_cast<std::uint32_t>(std::min<std::uint64_t>(count - before, data.size()));
  return written;
}

Outcome<Verifier> PosixStub::commit_own(bool record) {
  return open_ == nullptr ? base::fail(Error::notsupp) : open_->commit_own(record);
}

Outcome<> PosixStub::resize_own(const Credentials& who, int fd, std::uint64_t size) {
  return data_of(who).resize_through(who, fd, size);
}

Outcome<> PosixStub::space_own(const Credentials& who, int fd, std::uint64_t offset, std::uint64_t length,
                               bool hole) {
  return data_of(who).space_through(who, fd, offset, length, hole ? FileData::hole : 0);
}

PosixStub::~PosixStub() { PosixStub::show_changes(); }

void PosixStub::show_changes() {
  if (const std::uint64_t frozen = leave_frozen(); frozen != 0) file_.content()->frozen.end(frozen);
  hiding_.reset();
}

Outcome<> PosixStub::sync_own() { return fs_.tree().sync_stub(file_); }

VfsOp<Writers> PosixStub::writers(bool restless) {
  // Before the look: who changes it after that tells the source.
  file_.content()->changing.store(false);
  looked_ = file_.changes().look();
  opens_.reset();
  return fs_.placement().run(Call::open,
                             [this, restless] { return fs_.tree().writers(file_, restless, opens_); });
}

Outcome<> PosixStub::hide_changes() {
  const ChangeCounter::Look seen = file_.changes().look();
  const auto shown = fs_.tree().observe(file_);
  if (!shown) return base::fail(shown.error());
  const auto stat = stat_of(file_.fd());
  if (!stat) return base::fail(stat.error());
  hiding_.emplace();
  hiding_->before = *stat;
  hiding_->shown = *shown;
  hiding_->seen = seen;
  hiding_->own.emplace(fs_.tree().quietly(file_));
  hiding_->frozen = file_.content()->frozen.begin(*shown, seen);
  return {};
}

// Later changes within the same tick of the clock are told apart by the stamp, which has seen this state.
Outcome<std::optional<HiddenChanges>> PosixStub::hidden() {
  if (!hiding_) return std::nullopt;
  hiding_->own.reset();
  const std::uint32_t counted = file_.changes().changes();
  const auto stat = stat_of(file_.fd());
  if (!stat) return base::fail(stat.error());
  const Stat& before = hiding_->before;
  const std::uint64_t changes = file_.stamp(nanoseconds_of(posix::ctime_of(*stat)), counted);
  const bool alone = file_.changes().still_alone(hiding_->seen);
  const bool same = stat->stx_mode == before.stx_mode && stat->stx_nlink == before.stx_nlink &&
                    stat->stx_uid == before.stx_uid && stat->stx_gid == before.stx_gid &&
                    stat->stx_size == before.stx_size && stat->stx_mtime.tv_sec == before.stx_mtime.tv_sec &&
                    stat->stx_mtime.tv_nsec == before.stx_mtime.tv_nsec;
  if (!alone || !same) return std::nullopt;
  return HiddenChanges{.after = nanoseconds_of(posix::ctime_of(before)),
                       .until = changes,
                       .mtime = hiding_->shown.mtime,
                       .ctime = hiding_->shown.ctime,
                       .change = hiding_->shown.change};
}

Outcome<> PosixStub::punch_own(std::uint64_t offset, std::uint64_t length) {
  return fs_.tree().punch(file_, offset, length);
}

// All who have a lease on the file have it on the same watch.
OwnChanges Tree::quietly(const PosixFile& file) {
  PosixFile::Leases leases = file.leases(LeaseHolder{});
  if (leases.others.empty()) return {};
  return {leases_, std::move(leases.others.front()), OwnChange::stub, file.fd()};
}

Outcome<> Tree::put_record(PosixFile& file, std::string_view name, std::optional<base::BytesView> record) {
  const PlannedSync plan = root_.traits.in_memory ? PlannedSync{} : planned(file);
  {
    const OwnChanges own = quietly(file);
    const auto done = set_record(file, std::string(name), record);
    if (!done) return done;
  }
  return carry_out(plan);
}

// Through whatever is open for writing already: to open the file once more would break its leases. Only a
// read lease leaves nothing open; the kernel does not see it meanwhile.
Outcome<> Tree::through_writer(PosixFile& file, const std::function<Outcome<>(int fd)>& work) {
  if (file.opened() == Opened::write) return work(file.fd());
  if (const auto open = file.any_open(OpenAccess::write)) return work(open->fd());
  const auto open_for_it = [&]() -> Outcome<> {
    const auto fd = open_again(file, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    return fd ? work(fd->get()) : base::fail(fd.error());
  };
  const PosixFile::Leases leases = file.leases(LeaseHolder{});
  return leases.others.empty() ? open_for_it() : leases_.without(leases.others, open_for_it);
}

Outcome<> Tree::put_size(PosixFile& file, std::uint64_t size) {
  if (size > offset_max) return base::fail(Error::fbig);
  const auto truncate = [size](int fd) { return outcome_of(::ftruncate(fd, static_cast<off_t>(size))); };
  // What writes next has it open then, unless it comes through an open.
  if (file.leases(LeaseHolder{}).others.empty() && file.any_open(OpenAccess::write) == nullptr) {
    const auto fd = data_descriptor(file, Opened::write);
    return fd ? truncate(*fd) : base::fail(fd.error());
  }
  return through_writer(file, truncate);
}

Outcome<> Tree::punch(PosixFile& file, std::uint64_t offset, std::uint64_t length) {
  return through_writer(file, [offset, length](int fd) {
    return outcome_of(::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                                  static_cast<off_t>(length)));
  });
}

bool Tree::is_only(int fd, std::optional<OpenWatch>& opens) {
  // From before it is known that nobody else has it open.
  auto watch = OpenWatch::begin(fd);
  if (!watch || !leases_.is_only(fd)) return false;
  opens = std::move(*watch);
  return true;
}

// A read lease is not to be had while anybody has the file open for writing. It is given back at once; the
// signal of who comes in this moment is one that is ignored. An open that cannot read would not be the only
// descriptor for long: whoever asks wants to read the file.
Outcome<Writers> Tree::writers(PosixFile& file, bool restless, std::optional<OpenWatch>& opens) {
  if (const auto open = file.any_open(OpenAccess::both)) {
    if (is_only(open->fd(), opens)) return Writers::clients;
    if (file.opened() == Opened::read) cache_.close_for_data(file.handle());
    return Writers::others;
  }
  if (file.any_open(OpenAccess::write) != nullptr) return Writers::others;
  if (file.opened() == Opened::write)
    return restless && is_only(file.fd(), opens) ? Writers::clients : Writers::others;
  const auto fd = data_descriptor(file, Opened::read);
  if (!fd && fd.error() == Error::delay) return Writers::others;
  if (!fd) return base::fail(fd.error());
  if (::fcntl(*fd, F_SETSIG, SIGURG) != 0) return Writers::none;
  if (::fcntl(*fd, F_SETLEASE, F_RDLCK) != 0) return errno == EAGAIN ? Writers::others : Writers::none;
  (void)::fcntl(*fd, F_SETLEASE, F_UNLCK);
  return Writers::none;
}

Outcome<> Tree::put_size_and_times(PosixFile& file, const SetAttributes& set) {
  const OwnChanges own = quietly(file);
  Outcome<> done;
  if (set.size) done = put_size(file, *set.size);
  if (done) done = put_times(file, set);
  file.changes().changed();
  return done;
}

Outcome<> Tree::sync_stub(PosixFile& file) {
  return root_.traits.in_memory ? Outcome<>() : Outcome<>(carry_out(planned(file)));
}

Outcome<> Tree::drop_capabilities(const PosixFile& file) {
  if (::removexattr(path_of(file.fd()).c_str(), "security.capability") == 0) return {};
  const bool none = errno == ENODATA || errno == EOPNOTSUPP;
  return none ? Outcome<>() : failed_xattr_call();
}

Outcome<bool> Tree::has_privileges(PosixFile& file) {
  const auto now = observe(file);
  if (!now) return base::fail(now.error());
  if (without_set_id(now->mode) != now->mode) return true;
  return ::getxattr(path_of(file.fd()).c_str(), "security.capability", nullptr, 0) > 0;
}

Outcome<> Tree::drop_privileges(PosixFile& file) {
  const auto now = observe(file);
  if (!now) return base::fail(now.error());
  const std::uint32_t kept = without_set_id(now->mode);
  {
    const OwnChanges own = quietly(file);
    Outcome<> done;
    if (kept != now->mode) done = change_mode(file.fd(), kept, root_.descriptors.get());
    if (done) done = drop_capabilities(file);
    file.changes().changed();
    if (!done) return done;
  }
  return sync_stub(file);
}

}  // namespace braid::vfs::posix
