#include "tests/sim/machine.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace braid::sim {
namespace {
// Which machine a thread simulates is a property of the thread.
thread_local Machine* current_machine = nullptr;

// Of what was written since the last sync, `bytes` are there; what was synced and is as it was stays.
base::Bytes torn(const Disk::File& file, std::size_t bytes) {
  const auto [changed, was] = std::ranges::mismatch(file.content, file.synced);
  const auto kept = static_cast<std::size_t>(changed - file.content.begin());
  base::Bytes out = file.content;
  out.resize(std::max(bytes, kept));
  return out;
}

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

std::vector<std::string> Disk::names(const std::string& directory) const {
  std::vector<std::string> out;
  const auto look = [&](const std::string& path) {
    if (!path.starts_with(directory)) return;
    std::string name = path.substr(directory.size());
    if (!name.empty() && name.find('/') == std::string::npos) out.push_back(std::move(name));
  };
  for (const auto& [path, file] : now_) look(path);
  for (const std::string& path : directories_) look(path);
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
  out->directories_ = directories_;
  // A lying disk keeps nothing back for good luck.
  const std::size_t state = lies_ ? 0 : random.below(history_.size());
  for (const auto& [name, file] : history_[state]) {
    auto left = std::make_shared<File>();
    left->content = file->synced;
    if (!lies_ && file->content != file->synced && random.percent(50)) {
      left->content = torn(*file, random.below(file->content.size() + 1));
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
  mount(std::string(root));
}

Machine::~Machine() { current_machine = nullptr; }

Machine* Machine::current() { return current_machine; }

Machine::MountIndex Machine::mount(std::string path) {
  mounts_.push_back({std::move(path), std::make_shared<Disk>()});
  return mounts_.size() - 1;
}

std::shared_ptr<Disk> Machine::disk_of(std::string_view path, std::string& rest) const {
  const Mount* found = nullptr;
  for (const Mount& mount : mounts_) {
    const bool below =
        path.starts_with(mount.path) && (path.size() == mount.path.size() || path[mount.path.size()] == '/');
    if (below && (found == nullptr || mount.path.size() > found->path.size())) found = &mount;
  }
  if (found == nullptr) return nullptr;
  rest = path.substr(std::min(path.size(), found->path.size() + 1));
  return found->disk;
}

void Machine::crash(MountIndex at) { mounts_[at].disk = mounts_[at].disk->after_crash(crashes_); }

void Machine::crash_after(std::uint64_t changes, std::function<void()> then, MountIndex at) {
  fuse_ = changes;
  fuse_at_ = at;
  after_fuse_ = std::move(then);
}

bool Machine::alive(const Descriptor& descriptor) const {
  return std::ranges::any_of(mounts_, [&](const Mount& mount) { return mount.disk == descriptor.disk; });
}

bool Machine::may_change(const Descriptor& descriptor) {
  if (!alive(descriptor)) return false;
  if (fuse_ == 0 || descriptor.disk != disk(fuse_at_) || --fuse_ > 0) return true;
  crash(fuse_at_);
  std::exchange(after_fuse_, nullptr)();
  return false;
}

int Machine::open(const std::shared_ptr<Disk>& disk, Disk::FileRef file, std::string path) {
  descriptors_.emplace(next_fd_, Descriptor{disk, std::move(file), std::move(path)});
  return next_fd_++;
}

Machine::Descriptor* Machine::descriptor(int fd) {
  const auto found = descriptors_.find(fd);
  return found == descriptors_.end() ? nullptr : &found->second;
}

}  // namespace braid::sim
