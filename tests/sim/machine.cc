#include "tests/sim/machine.h"

#include <utility>

#include "base/assert.h"

namespace braid::sim {
namespace {
// Which machine a thread simulates is a property of the thread.
thread_local Machine* current_machine = nullptr;
}  // namespace

Disk::FileRef Disk::find(const std::string& name) const {
  const auto found = now_.find(name);
  return found == now_.end() ? nullptr : found->second;
}

Disk::FileRef Disk::create(const std::string& name) {
  auto file = std::make_shared<File>();
  now_[name] = file;
  history_.push_back(now_);
  return file;
}

bool Disk::rename(const std::string& from, const std::string& to) {
  const auto found = now_.find(from);
  if (found == now_.end()) return false;
  FileRef file = std::move(found->second);
  now_.erase(found);
  now_[to] = std::move(file);
  history_.push_back(now_);
  return true;
}

bool Disk::remove(const std::string& name) {
  if (keeps_all_) return true;
  if (now_.erase(name) == 0) return false;
  history_.push_back(now_);
  return true;
}

std::vector<std::string> Disk::names() const {
  std::vector<std::string> out;
  for (const auto& [name, file] : now_) out.push_back(name);
  return out;
}

void Disk::sync_file(File& file) {
  if (!lies_) file.synced = file.content;
}

void Disk::sync_directory() {
  if (!lies_) history_ = {now_};
}

std::unique_ptr<Disk> Disk::after_crash(Random& random) const {
  auto out = std::make_unique<Disk>();
  out->lies_ = lies_;
  out->keeps_all_ = keeps_all_;
  // A lying disk keeps nothing back for good luck.
  const std::size_t state = lies_ ? 0 : random.below(history_.size());
  for (const auto& [name, file] : history_[state]) {
    auto left = std::make_shared<File>();
    left->content = file->synced;
    if (!lies_ && file->content != file->synced && random.percent(50)) {
      left->content = file->content;
      left->content.resize(random.below(file->content.size() + 1));
    }
    left->synced = left->content;
    out->now_[name] = std::move(left);
  }
  out->history_ = {out->now_};
  return out;
}

Machine::Machine(Scheduler& its_scheduler, const Random& random)
    : scheduler(its_scheduler), entropy(random.fork(1)), delays(random.fork(2)), crashes_(random.fork(3)) {
  base::check(current_machine == nullptr, "one machine per thread");
  current_machine = this;
}

Machine::~Machine() { current_machine = nullptr; }

Machine* Machine::current() { return current_machine; }

void Machine::crash() { disk_ = disk_->after_crash(crashes_); }

void Machine::crash_after(std::uint64_t changes, std::function<void()> then) {
  fuse_ = changes;
  after_fuse_ = std::move(then);
}

bool Machine::may_change(const Descriptor& descriptor) {
  if (!alive(descriptor)) return false;
  if (fuse_ == 0 || --fuse_ > 0) return true;
  crash();
  std::exchange(after_fuse_, nullptr)();
  return false;
}

int Machine::open(Disk::FileRef file) {
  descriptors_.emplace(next_fd_, Descriptor{disk_, std::move(file), 0});
  return next_fd_++;
}

Machine::Descriptor* Machine::descriptor(int fd) {
  const auto found = descriptors_.find(fd);
  return found == descriptors_.end() ? nullptr : &found->second;
}

}  // namespace braid::sim
