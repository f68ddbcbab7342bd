#include "vfs/posix/file.h"

#include "vfs/posix/contents.h"

namespace braid::vfs::posix {

PosixFile::PosixFile(const FileIdentity& identity, base::UniqueFd fd, Opened opened, DescriptorSlot slot,
                     bool may_have_content)
    : identity_(identity),
      fd_(std::move(fd)),
      content_(may_have_content && identity.type == FileType::regular ? std::make_unique<FileContent>()
                                                                      : nullptr),
      opened_(opened),
      slot_(std::move(slot)) {}

Outcome<> PosixFile::upgrade(const base::UniqueFd& fresh, Opened opened) {
  std::scoped_lock lock(upgrading_);
  if (opened_.load(std::memory_order_relaxed) >= opened) return {};
  if (::dup3(fresh.get(), fd_.get(), O_CLOEXEC) < 0) return failed_call();
  opened_.store(opened, std::memory_order_release);
  return {};
}

void PosixFile::join(Holdings& held, OpenAccess access, base::UniqueFd& fresh, DescriptorSlot& slot) {
  SharedDescription& shared = held.shared[index_of(access)];
  ++shared.opens;
  if (shared.fd) return;
  shared.fd = std::move(fresh);
  shared.slot.emplace(std::move(slot));
  shared_fds_[index_of(access)].store(shared.fd.get(), std::memory_order_release);
}

SharedDescription PosixFile::leave(Holdings& held, OpenAccess access) {
  SharedDescription& shared = held.shared[index_of(access)];
  if (--shared.opens > 0) return {};
  shared_fds_[index_of(access)].store(-1, std::memory_order_release);
  return std::exchange(shared, SharedDescription{});
}

PosixFile::~PosixFile() { closing(fd_.get(), slot_); }

void PosixFile::closing(int fd, const DescriptorSlot& slot) {
  if (FileSyncs* const known = syncs_.load(std::memory_order_acquire); known != nullptr)
    known->closing(fd, slot);
}

FileSyncs& PosixFile::syncs(WriteBack& back) {
  if (FileSyncs* const known = syncs_.load(std::memory_order_acquire); known != nullptr) return *known;
  std::scoped_lock lock(upgrading_);
  if (syncs_held_ == nullptr) {
    syncs_held_ = back.file(identity_.device, identity_.fileid);
    syncs_.store(syncs_held_.get(), std::memory_order_release);
  }
  return *syncs_held_;
}

PosixFile::Leases PosixFile::leases(LeaseHolder holder) const {
  return holdings_.with([&](const std::unique_ptr<Holdings>& held) {
    Leases out;
    if (held == nullptr) return out;
    for (const std::shared_ptr<LeaseNotice>& lease : held->leases) {
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
