#include "vfs/posix/write_back.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "base/siphash.h"

namespace braid::vfs::posix {

WriteBack::WriteBack()
    : first_verifier_(base::random_sip_key()[0]),
      whole_(std::make_unique<FileSyncs>(losses_, std::weak_ptr<WriteBack>(), FileSyncs::Inode{})) {}

Verifier WriteBack::verifier() const {
  const std::uint64_t value = first_verifier_ + losses_->load(std::memory_order_acquire);
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
    out = std::make_shared<FileSyncs>(losses_, weak_from_this(), name);
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

void WriteBack::keep(const Inode& inode, std::shared_ptr<FileSyncs> file) {
  const std::scoped_lock lock(mutex_);
  kept_[inode] = std::move(file);
  kept_count_ = kept_.size();
}

std::shared_ptr<FileSyncs> WriteBack::let_go(const Inode& inode) {
  const std::scoped_lock lock(mutex_);
  const auto found = kept_.find(inode);
  if (found == kept_.end()) return nullptr;
  std::shared_ptr<FileSyncs> out = std::move(found->second);
  kept_.erase(found);
  kept_count_ = kept_.size();
  return out;
}

std::vector<std::shared_ptr<FileSyncs>> WriteBack::kept_files() {
  std::vector<std::shared_ptr<FileSyncs>> files;
  const std::scoped_lock lock(mutex_);
  files.reserve(kept_.size());
  for (const auto& [inode, file] : kept_) files.push_back(file);
  return files;
}

void WriteBack::forget_removed() {
  if (kept() == 0) return;
  for (const std::shared_ptr<FileSyncs>& file : kept_files()) file->release_if_removed();
}

void WriteBack::let_go_kept() {
  for (const std::shared_ptr<FileSyncs>& file : kept_files()) file->sync_and_release();
}

std::shared_ptr<WriteBack> WriteBacks::of(std::uint64_t filesystem) {
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<WriteBack>& found = all_[filesystem];
  if (found == nullptr) found = std::make_shared<WriteBack>();
  return found;
}

std::vector<std::shared_ptr<WriteBack>> WriteBacks::unserved() {
  std::vector<std::shared_ptr<WriteBack>> out;
  const std::scoped_lock lock(mutex_);
  for (const auto& [filesystem, one] : all_)
    if (one->kept() > 0 && one.use_count() == 1) out.push_back(one);
  return out;
}

FileSyncs::~FileSyncs() {
  if (const auto back = back_.lock()) back->forget(inode_);
}

void FileSyncs::note_loss() { losses_->fetch_add(1, std::memory_order_acq_rel); }

std::uint64_t FileSyncs::announce() {
  under_way_.push_back(++last_ticket_);
  return last_ticket_;
}

// The verifier has changed before anybody who waited for this call goes on.
void FileSyncs::leave(std::uint64_t ticket, bool failed, bool loss) {
  if (failed) {
    if (loss) note_loss();
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
    leave(ticket, failure != 0, true);
    wait_for_earlier(lock);
    out.failure = failure;
    out.led = true;
    leading_ = false;
    covered_ = covers;
    left_.notify_all();
  }
  out.overtaken = out.failure == 0 && failures() != since;
  out.called = true;
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
  file_.leave(ticket_, failed, !file_.clean());
}

bool FileSyncs::Hearing::end(bool failed) {
  ended_ = true;
  Lock lock(file_.mutex_);
  file_.leave(ticket_, failed, !file_.clean());
  if (!failed) file_.wait_for_earlier(lock);
  return file_.failures() == since_;
}

FileSyncs::UnsyncedWrite::UnsyncedWrite(FileSyncs& file, int fd) : file_(file) {
  const std::scoped_lock lock(file_.mutex_);
  if (file_.witness_ < 0) file_.witness_ = fd;
  ++file_.begun_;
  file_.writing_.fetch_add(1, std::memory_order_relaxed);
}

// Who finds no write under way finds the bytes of all of them in the page cache. Who finds this one yet takes
// it for one that goes on.
FileSyncs::UnsyncedWrite::~UnsyncedWrite() { file_.writing_.fetch_sub(1, std::memory_order_release); }

bool FileSyncs::kept() const {
  const std::scoped_lock lock(mutex_);
  return kept_.has_value();
}

// What an errseq_t holds for this description, without any input or output: of a range without pages.
// Under the lock, so whoever loses an error to this call learns of it when he gets the lock.
void FileSyncs::ask(int fd) {
  constexpr off64_t nowhere = std::numeric_limits<off64_t>::max() - 1;
  if (::sync_file_range(fd, nowhere, 1, SYNC_FILE_RANGE_WAIT_BEFORE) == 0) return;
  note_loss();
  failures_.fetch_add(1, std::memory_order_acq_rel);
}

FileSyncs::Released FileSyncs::release() {
  synced_ = begun_;
  witness_ = -1;
  if (!kept_) return {};
  Released out{std::exchange(kept_, std::nullopt), nullptr};
  if (const auto back = back_.lock()) out.file = back->let_go(inode_);
  return out;
}

Outcome<FileSyncs::Synced> FileSyncs::commit(int held) {
  Released released;
  base::UniqueFd copy;
  Lock lock(mutex_);
  if (clean()) return Synced{};
  int through = witness_;
  if (witness_ != held) {
    // Another description of the same kind would not do; this is the same one, whatever its owner does.
    copy = base::UniqueFd(::fcntl(witness_, F_DUPFD_CLOEXEC, 0));
    if (!copy) return failed_call();
    through = copy.get();
  }
  const std::uint64_t covers = begun_;
  const bool quiet = nobody_writes();
  const std::uint64_t since = failures();
  lock.unlock();
  Synced done = sync(How::fsync, through, since);
  lock.lock();
  if (!done.led) {
    ask(through);
    done.overtaken = failures() != since;
  }
  if (done.failure != 0 || done.overtaken || !quiet) return done;
  synced_ = std::max(synced_, covers);
  if (clean()) released = release();
  lock.unlock();
  return done;
}

// Without another description the bytes are synced now. When that fails, or does not cover all of them, the
// verifier has changed, and there is nothing left to hear of.
void FileSyncs::sync_before_closing(Lock& lock, int fd) {
  const std::uint64_t covers = begun_;
  const bool quiet = nobody_writes();
  const std::uint64_t since = failures();
  lock.unlock();
  const Synced done = sync(How::fsync, fd, since);
  lock.lock();
  if (!done.led) ask(fd);
  if (!quiet || begun_ != covers) note_loss();
}

void FileSyncs::closing(int fd, const DescriptorSlot& slot) {
  Released released;
  const auto back = back_.lock();
  Lock lock(mutex_);
  if (witness_ != fd) return;
  struct stat now{};
  const bool removed = ::fstat(fd, &now) == 0 && now.st_nlink == 0;
  // Without a file system there is nobody who could commit any more.
  if ((removed && nobody_writes()) || back == nullptr) {
    released = release();
    return;
  }
  base::UniqueFd stand_in;
  if (back->kept() < WriteBack::kept_max && slot.room_beside(back->kept()))
    stand_in = base::UniqueFd(::open(path_of(fd).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!stand_in) {
    sync_before_closing(lock, fd);
    if (witness_ == fd) released = release();
    return;
  }
  ask(fd);
  witness_ = stand_in.get();
  kept_ = Kept{std::move(stand_in), slot.beside()};
  back->keep(inode_, shared_from_this());
}

void FileSyncs::sync_and_release() {
  Released released;
  base::UniqueFd copy;
  Lock lock(mutex_);
  if (!kept_) return;
  // Whoever commits meanwhile closes the other one.
  copy = base::UniqueFd(::fcntl(kept_->fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return;
  sync_before_closing(lock, copy.get());
  if (kept_ && witness_ == kept_->fd.get()) released = release();
  lock.unlock();
}

FileSyncs::Released FileSyncs::release_if_removed() {
  const std::scoped_lock lock(mutex_);
  struct stat now{};
  if (!kept_ || !nobody_writes() || ::fstat(kept_->fd.get(), &now) != 0 || now.st_nlink != 0) return {};
  return release();
}

}  // namespace braid::vfs::posix
