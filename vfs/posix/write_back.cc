#include "vfs/posix/write_back.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/siphash.h"

namespace braid::vfs::posix {

WriteBack::WriteBack()
    : first_verifier_(base::random_sip_key()[0]),
      whole_(std::make_unique<FileSyncs>(*this, nullptr, FileSyncs::Inode{})) {}

Verifier WriteBack::verifier() const {
  const std::uint64_t value = first_verifier_ + losses_.load(std::memory_order_acquire);
  Verifier out;
  std::memcpy(out.bytes.data(), &value, sizeof value);
  return out;
}

std::shared_ptr<FileSyncs> WriteBack::file(std::uint64_t device, std::uint64_t inode) {
  const Inode name{device, inode};
  const std::scoped_lock lock(mutex_);
  std::weak_ptr<FileSyncs>& known = files_[name];
  auto out = known.lock();
  if (out == nullptr) {
    out = std::make_shared<FileSyncs>(*this, shared_from_this(), name);
    known = out;
  }
  return out;
}

// Another may have taken the place already.
void WriteBack::forget(const Inode& inode) {
  const std::scoped_lock lock(mutex_);
  const auto found = files_.find(inode);
  if (found != files_.end() && found->second.expired()) files_.erase(found);
}

std::shared_ptr<WriteBack> WriteBacks::of(std::uint64_t filesystem) {
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<WriteBack>& found = all_[filesystem];
  if (found == nullptr) found = std::make_shared<WriteBack>();
  return found;
}

FileSyncs::~FileSyncs() {
  if (owner_ != nullptr) owner_->forget(inode_);
}

std::uint64_t FileSyncs::announce() {
  under_way_.push_back(++last_ticket_);
  return last_ticket_;
}

// The verifier has changed before anybody who waited for this call goes on.
void FileSyncs::leave(std::uint64_t ticket, bool failed) {
  if (failed) {
    back_.lost();
    failures_.fetch_add(1, std::memory_order_acq_rel);
  }
  std::erase(under_way_, ticket);
  left_.notify_all();
}

void FileSyncs::wait_for_earlier(Lock& lock) {
  left_.wait(lock, [&, last = last_ticket_] { return under_way_.empty() || under_way_.front() > last; });
}

FileSyncs::Synced FileSyncs::sync(How how, int fd, std::uint64_t since) {
  Synced out;
  Lock lock(mutex_);
  const std::uint64_t mine = ++wanted_;
  while (covered_ < mine) {
    if (leading_) {
      left_.wait(lock);
      continue;
    }
    leading_ = true;
    const std::uint64_t covers = wanted_;
    const std::uint64_t ticket = announce();
    lock.unlock();
    const int failure = (how == How::fsync ? ::fsync(fd) : ::syncfs(fd)) == 0 ? 0 : errno;
    lock.lock();
    leave(ticket, failure != 0);
    wait_for_earlier(lock);
    out.failure = failure;
    leading_ = false;
    covered_ = covers;
    left_.notify_all();
  }
  out.overtaken = out.failure == 0 && failures() != since;
  return out;
}

FileSyncs::Hearing::Hearing(FileSyncs& file)
    : file_(file), since_(file.failures()), ticket_([&] {
        const std::scoped_lock lock(file.mutex_);
        return file.announce();
      }()) {}

FileSyncs::Hearing::~Hearing() {
  if (!ended_) leave(false);
}

void FileSyncs::Hearing::leave(bool failed) {
  ended_ = true;
  const std::scoped_lock lock(file_.mutex_);
  file_.leave(ticket_, failed);
}

bool FileSyncs::Hearing::end(bool failed) {
  ended_ = true;
  Lock lock(file_.mutex_);
  file_.leave(ticket_, failed);
  if (!failed) file_.wait_for_earlier(lock);
  return file_.failures() == since_;
}

}  // namespace braid::vfs::posix
