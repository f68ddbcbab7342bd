#include "vfs/posix/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <climits>

#include "vfs/posix/contents.h"

namespace braid::vfs::posix {

PosixFile::PosixFile(const FileIdentity& identity, base::UniqueFd fd, Opened opened, DescriptorSlot slot,
                     bool may_have_content)
    : fd_(fd.release()),
      opened_(opened),
      content_(may_have_content && identity.type == FileType::regular ? std::make_unique<FileContent>()
                                                                      : nullptr),
      identity_(identity),
      slot_(std::move(slot)) {}

Outcome<> PosixFile::upgrade(const base::UniqueFd& fresh, Opened opened) {
  return hold([&](Holdings& /*held*/) -> Outcome<> {
    if (opened_.load(std::memory_order_relaxed) >= opened) return {};
    if (::dup3(fresh.get(), fd(), O_CLOEXEC) < 0) return failed_call();
    opened_.store(opened, std::memory_order_release);
    return {};
  });
}

void PosixFile::join(Holdings& held, OpenAccess access, base::UniqueFd& fresh, DescriptorSlot& slot) {
  ++held.sharing[index_of(access)];
  share(held, access, fresh, slot);
}

void PosixFile::share(Holdings& held, OpenAccess access, base::UniqueFd& fresh, DescriptorSlot& slot) {
  if (held.shared == nullptr) held.shared = std::make_unique<SharedDescriptions>();
  SharedDescription& shared = (*held.shared)[index_of(access)];
  if (shared.fd) return;
  shared.fd = std::move(fresh);
  shared.slot.emplace(std::move(slot));
  shared_fds_[index_of(access)].store(shared.fd.get(), std::memory_order_release);
}

SharedDescription PosixFile::leave(Holdings& held, OpenAccess access) {
  if (--held.sharing[index_of(access)] > 0 || held.shared == nullptr) return {};
  shared_fds_[index_of(access)].store(-1, std::memory_order_release);
  SharedDescription last = std::exchange((*held.shared)[index_of(access)], SharedDescription{});
  if (held.opens.empty()) held.shared.reset();
  return last;
}

std::optional<std::string> PosixFile::path() const {
  std::array<char, PATH_MAX> text;
  const ssize_t length = ::readlink(fmt::format("/proc/self/fd/{}", fd()).c_str(), text.data(), text.size());
  if (length <= 0) return std::nullopt;
  return std::string(text.data(), static_cast<std::size_t>(length));
}

PosixFile::~PosixFile() {
  const base::UniqueFd last(fd());
  if (last) closing(last.get(), *slot_);
}

GivenBack::~GivenBack() {
  if (syncs_ == nullptr) return;
  if (shared_ != nullptr)
    for (const SharedDescription& shared : *shared_)
      if (shared.fd) syncs_->closing(shared.fd.get(), *shared.slot);
  syncs_->closing(own_.fd.get(), *own_.slot);
}

// Who gets a FileRef by an open looks at the standing after that; here it is the other way round, so one of
// the two sees the other. As long as nobody has one nothing here is used; try_with(), since who has the lock
// of another file's holdings may wait for this shard.
bool PosixFile::park(const FileRef& only, GivenBack& out) {
  const auto now = stat_of(fd());
  if (!now || now->stx_nlink == 0) return false;
  standing_.store(Standing::parking, std::memory_order_seq_cst);
  bool parks = false;
  const auto take = [&](Holdings& held) {
    if (held.stays()) return;
    parks = true;
    for (std::atomic<int>& fd : shared_fds_) fd.store(-1, std::memory_order_release);
    out.shared_ = std::move(held.shared);
    held.few.reset();
  };
  if (only.unique()) holdings_.try_with(take);
  if (parks) give_up(out);
  standing_.store(parks ? Standing::parked : Standing::open, std::memory_order_seq_cst);
  return parks;
}

bool PosixFile::close_for_data(const FileRef& only) {
  const base::UniqueFd path(::open(path_of(fd()).c_str(), O_PATH | O_CLOEXEC));
  if (!path) return false;
  standing_.store(Standing::parking, std::memory_order_seq_cst);
  bool closed = false;
  const auto close = [&](Holdings& /*held*/) {
    if (::dup3(path.get(), fd(), O_CLOEXEC) < 0) return;
    opened_.store(Opened::path, std::memory_order_release);
    closed = true;
  };
  if (only.unique()) holdings_.try_with(close);
  standing_.store(Standing::open, std::memory_order_seq_cst);
  return closed;
}

void PosixFile::give_up(GivenBack& out) {
  out.own_.fd = base::UniqueFd(fd_.exchange(-1));
  out.own_.slot = std::exchange(slot_, std::nullopt);
  out.syncs_ = std::exchange(syncs_held_, nullptr);
  syncs_.store(nullptr, std::memory_order_release);
  opened_.store(Opened::path, std::memory_order_release);
  seen_.with([](Seen& seen) { seen.grants.reset(); });
}

void PosixFile::unpark(PosixFile& fresh) {
  slot_ = std::exchange(fresh.slot_, std::nullopt);
  opened_.store(fresh.opened(), std::memory_order_release);
  fd_.store(fresh.fd_.exchange(-1), std::memory_order_release);
  standing_.store(Standing::open, std::memory_order_seq_cst);
}

void PosixFile::closing(int fd, const DescriptorSlot& slot) {
  if (FileSyncs* const known = syncs_.load(std::memory_order_acquire); known != nullptr)
    known->closing(fd, slot);
}

FileSyncs& PosixFile::syncs(WriteBack& back) {
  if (FileSyncs* const known = syncs_.load(std::memory_order_acquire); known != nullptr) return *known;
  return *hold([&](Holdings& /*held*/) {
    if (syncs_held_ == nullptr) {
      syncs_held_ = back.file(identity_.device, identity_.fileid);
      syncs_.store(syncs_held_.get(), std::memory_order_release);
    }
    return syncs_held_.get();
  });
}

Rights PosixFile::granted(std::uint64_t who, Rights rights, const Attributes& now,
                          base::TimePoint time) const {
  return seen_.with([&](const Seen& seen) {
    return seen.grants == nullptr ? Rights{0} : seen.grants->held(who, rights, now, time);
  });
}

void PosixFile::grant(std::uint64_t who, Rights rights, const Attributes& now, base::TimePoint time,
                      base::WallTime wall) {
  seen_.with([&](Seen& seen) {
    if (seen.grants == nullptr) seen.grants = std::make_unique<Grants>();
    seen.grants->remember(who, rights, now, time, wall);
  });
}

PosixFile::Leases PosixFile::leases(LeaseHolder holder) const {
  return holdings_.with([&](const Holdings& held) {
    Leases out;
    if (!held.leased()) return out;
    for (const std::shared_ptr<LeaseNotice>& lease : held.few->leases) {
      if (lease->holder != holder || holder == LeaseHolder{})
        out.others.push_back(lease);
      else
        out.own = lease;
    }
    return out;
  });
}

Outcome<> require_regular(const PosixFile& file) {
  if (file.type() == FileType::directory) return base::fail(Error::isdir);
  if (file.type() != FileType::regular) return base::fail(Error::inval);
  return {};
}

}  // namespace braid::vfs::posix
