// The system calls of state directories and of entropy, as the linker's --wrap sends them here: on the disks
// of the simulated machine. Paths and descriptors that are not its own go to the real calls.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/machine.h"

namespace {

using braid::sim::Disk;
using braid::sim::Machine;

bool simulated(const char* path) { return std::string_view(path).starts_with(Machine::root); }

int failed(int number) {
  errno = number;
  return -1;
}

Machine::Descriptor* ours(int fd) {
  if (fd < Machine::first_fd || Machine::current() == nullptr) return nullptr;
  return Machine::current()->descriptor(fd);
}

// The file of this path, as open() and openat() want it; null: errno says why.
Disk::FileRef find_or_make(Disk& disk, const std::string& path, int flags) {
  Disk::FileRef file = disk.find(path);
  if (!file && (flags & O_CREAT) == 0) {
    errno = ENOENT;
    return nullptr;
  }
  if (file && (flags & O_EXCL) != 0) {
    errno = EEXIST;
    return nullptr;
  }
  if (!file) file = disk.create(path);
  if ((flags & O_TRUNC) != 0) file->content.clear();
  return file;
}

int status_of(const Disk& disk, const Disk::File* file, const std::string& path, struct stat* out) {
  *out = {};
  if (file != nullptr) {
    out->st_mode = S_IFREG | S_IRUSR | S_IWUSR;
    out->st_size = static_cast<off_t>(file->content.size());
    return 0;
  }
  if (!disk.is_directory(path)) return failed(ENOENT);
  out->st_mode = S_IFDIR | S_IRWXU;
  return 0;
}

// An open directory being listed.
struct Listing {
  std::vector<std::string> names;
  std::size_t next = 0;
  dirent entry{};
};

mode_t mode_of(int flags, std::va_list arguments) {
  return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names.
extern "C" {

int __real_mkdir(const char* path, mode_t mode);
int __real_open(const char* path, int flags, ...);
int __real_openat(int directory, const char* path, int flags, ...);
int __real_flock(int fd, int operation);
int __real_fsync(int fd);
int __real_futimens(int fd, const timespec* times);
int __real_renameat(int from_directory, const char* from, int to_directory, const char* to);
int __real_unlinkat(int directory, const char* path, int flags);
ssize_t __real_read(int fd, void* to, size_t count);
ssize_t __real_write(int fd, const void* from, size_t count);
int __real_close(int fd);
DIR* __real_fdopendir(int fd);
dirent* __real_readdir(DIR* directory);
int __real_closedir(DIR* directory);
int __real_mkdirat(int directory, const char* path, mode_t mode);
int __real_fstat(int fd, struct stat* out);
int __real_fstatat(int directory, const char* path, struct stat* out, int flags);
int __real_fdatasync(int fd);
int __real_ftruncate(int fd, off_t bytes);
ssize_t __real_pread(int fd, void* to, size_t count, off_t at);
ssize_t __real_pwrite(int fd, const void* from, size_t count, off_t at);
ssize_t __real_getrandom(void* to, size_t count, unsigned flags);

int __wrap_mkdir(const char* path, mode_t mode) { return simulated(path) ? 0 : __real_mkdir(path, mode); }

int __wrap_mkdirat(int directory, const char* path, mode_t mode) {
  const Machine::Descriptor* const at = ours(directory);
  if (at == nullptr) return __real_mkdirat(directory, path, mode);
  if (!Machine::current()->may_change(*at)) return failed(EIO);
  return at->disk->make_directory(at->path + path) ? 0 : failed(EEXIST);
}

// What is opened by a whole path is a directory, unless there is a file.
int __wrap_open(const char* path, int flags, ...) {
  if (simulated(path)) {
    std::string rest;
    const std::shared_ptr<Disk> disk = Machine::current()->disk_of(path, rest);
    if (Disk::FileRef file = disk->find(rest)) return Machine::current()->open(disk, std::move(file));
    return Machine::current()->open(disk, nullptr, rest.empty() ? rest : rest + "/");
  }
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return __real_open(path, flags, mode);
}

int __wrap_openat(int directory, const char* path, int flags, ...) {
  Machine::Descriptor* const at = ours(directory);
  if (at == nullptr) {
    std::va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return __real_openat(directory, path, flags, mode);
  }
  Machine& machine = *Machine::current();
  if (!machine.alive(*at)) return failed(EIO);
  const std::shared_ptr<Disk> disk = at->disk;
  if (std::string_view(path) == ".") return machine.open(disk, nullptr, at->path);
  std::string whole = at->path + path;
  if (disk->is_directory(whole)) return machine.open(disk, nullptr, std::move(whole) + "/");
  Disk::FileRef file = find_or_make(*disk, whole, flags);
  return file ? machine.open(disk, std::move(file)) : -1;
}

int __wrap_flock(int fd, int operation) { return ours(fd) != nullptr ? 0 : __real_flock(fd, operation); }

// No delegation is reclaimed here, so nobody asks for the time.
int __wrap_futimens(int fd, const timespec* times) {
  return ours(fd) != nullptr ? 0 : __real_futimens(fd, times);
}

int __wrap_fsync(int fd) {
  const Machine::Descriptor* const at = ours(fd);
  if (at == nullptr) return __real_fsync(fd);
  Machine& machine = *Machine::current();
  if (!machine.may_change(*at)) return failed(EIO);
  if (at->file)
    at->disk->sync_file(*at->file);
  else
    at->disk->sync_directory();
  return 0;
}

int __wrap_fdatasync(int fd) { return ours(fd) != nullptr ? __wrap_fsync(fd) : __real_fdatasync(fd); }

int __wrap_fstat(int fd, struct stat* out) {
  const Machine::Descriptor* const at = ours(fd);
  return at == nullptr ? __real_fstat(fd, out) : status_of(*at->disk, at->file.get(), at->path, out);
}

int __wrap_fstatat(int directory, const char* path, struct stat* out, int flags) {
  const Machine::Descriptor* const at = ours(directory);
  if (at == nullptr) return __real_fstatat(directory, path, out, flags);
  const std::string whole = at->path + path;
  return status_of(*at->disk, at->disk->find(whole).get(), whole, out);
}

int __wrap_ftruncate(int fd, off_t bytes) {
  const Machine::Descriptor* const at = ours(fd);
  if (at == nullptr) return __real_ftruncate(fd, bytes);
  if (!Machine::current()->may_change(*at)) return failed(EIO);
  at->file->content.resize(static_cast<std::size_t>(bytes));
  return 0;
}

ssize_t __wrap_pread(int fd, void* to, size_t count, off_t at) {
  const Machine::Descriptor* const from = ours(fd);
  if (from == nullptr) return __real_pread(fd, to, count, at);
  if (!Machine::current()->alive(*from)) return failed(EIO);
  const auto& content = from->file->content;
  const auto begin = std::min(static_cast<std::size_t>(at), content.size());
  const std::size_t here = std::min(count, content.size() - begin);
  if (here > 0) std::memcpy(to, content.data() + begin, here);
  return static_cast<ssize_t>(here);
}

ssize_t __wrap_pwrite(int fd, const void* from, size_t count, off_t at) {
  const Machine::Descriptor* const to = ours(fd);
  if (to == nullptr) return __real_pwrite(fd, from, count, at);
  if (!Machine::current()->may_change(*to)) return failed(EIO);
  auto& content = to->file->content;
  const auto begin = static_cast<std::size_t>(at);
  if (content.size() < begin + count) content.resize(begin + count);
  if (count > 0) std::memcpy(content.data() + begin, from, count);
  return static_cast<ssize_t>(count);
}

int __wrap_renameat(int from_directory, const char* from, int to_directory, const char* to) {
  const Machine::Descriptor* const at = ours(from_directory);
  if (at == nullptr) return __real_renameat(from_directory, from, to_directory, to);
  if (!Machine::current()->may_change(*at)) return failed(EIO);
  return at->disk->rename(at->path + from, at->path + to) ? 0 : failed(ENOENT);
}

int __wrap_unlinkat(int directory, const char* path, int flags) {
  const Machine::Descriptor* const at = ours(directory);
  if (at == nullptr) return __real_unlinkat(directory, path, flags);
  if (!Machine::current()->may_change(*at)) return failed(EIO);
  return at->disk->remove(at->path + path) ? 0 : failed(ENOENT);
}

ssize_t __wrap_read(int fd, void* to, size_t count) {
  Machine::Descriptor* const at = ours(fd);
  if (at == nullptr) return __real_read(fd, to, count);
  if (!Machine::current()->alive(*at)) return failed(EIO);
  const auto& content = at->file->content;
  const std::size_t here = std::min(count, content.size() - std::min(at->offset, content.size()));
  if (here > 0) std::memcpy(to, content.data() + at->offset, here);
  at->offset += here;
  return static_cast<ssize_t>(here);
}

ssize_t __wrap_write(int fd, const void* from, size_t count) {
  Machine::Descriptor* const at = ours(fd);
  if (at == nullptr) return __real_write(fd, from, count);
  if (!Machine::current()->may_change(*at)) return failed(EIO);
  const auto* const bytes = static_cast<const std::byte*>(from);
  at->file->content.insert(at->file->content.end(), bytes, bytes + count);
  return static_cast<ssize_t>(count);
}

int __wrap_close(int fd) {
  if (ours(fd) == nullptr) return __real_close(fd);
  Machine::current()->close(fd);
  return 0;
}

DIR* __wrap_fdopendir(int fd) {
  const Machine::Descriptor* const at = ours(fd);
  if (at == nullptr) return __real_fdopendir(fd);
  auto* const listing = new Listing{.names = at->disk->names(at->path)};
  Machine::current()->close(fd);
  return reinterpret_cast<DIR*>(listing);
}

// Nobody in a simulation lists a real directory.
dirent* __wrap_readdir(DIR* directory) {
  auto* const listing = reinterpret_cast<Listing*>(directory);
  if (listing->next == listing->names.size()) return nullptr;
  const std::string& name = listing->names[listing->next++];
  name.copy(listing->entry.d_name, sizeof listing->entry.d_name - 1);
  listing->entry.d_name[name.size()] = '\0';
  return &listing->entry;
}

int __wrap_closedir(DIR* directory) {
  delete reinterpret_cast<Listing*>(directory);
  return 0;
}

ssize_t __wrap_getrandom(void* to, size_t count, unsigned flags) {
  Machine* const machine = Machine::current();
  if (machine == nullptr) return __real_getrandom(to, count, flags);
  for (std::size_t done = 0; done < count; done += sizeof(std::uint64_t)) {
    const std::uint64_t word = machine->entropy.next();
    std::memcpy(static_cast<std::byte*>(to) + done, &word, std::min(sizeof word, count - done));
  }
  return static_cast<ssize_t>(count);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
