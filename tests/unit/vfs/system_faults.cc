#include "system_faults.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <list>
#include <mutex>
#include <optional>

namespace braid::vfs::test {
namespace {

struct Script {
  std::mutex mutex;
  bool on = false;
  std::list<SystemFault> faults;
  std::array<unsigned, system_calls> calls{};
  std::optional<std::int64_t> magic;
  std::optional<unsigned long> refused_ioctl;
};
Script script;

std::optional<SystemFault> next_fault(SystemCall call) {
  const std::scoped_lock lock(script.mutex);
  if (!script.on) return std::nullopt;
  ++script.calls[static_cast<std::size_t>(call)];
  std::optional<SystemFault> out;
  for (auto fault = script.faults.begin(); fault != script.faults.end();) {
    const auto at = fault++;
    if (at->call != call) continue;
    if (at->nth == every) {
      out = *at;
    } else if (--at->nth == 0) {
      out = std::move(*at);
      script.faults.erase(at);
    }
    if (out) break;
  }
  return out;
}

template <class F>
auto meet(SystemCall call, F real) -> decltype(real()) {
  const auto fault = next_fault(call);
  if (!fault) return real();
  if (fault->before) fault->before();
  if (fault->error == 0) return real();
  if (fault->done) (void)real();
  errno = fault->error;
  return -1;
}

// The mode of open(2), which is there only if something may be made.
mode_t mode_in(int flags, va_list list) {
  const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return makes ? va_arg(list, mode_t) : 0;
}

}  // namespace

SystemFaults::SystemFaults() {
  const std::scoped_lock lock(script.mutex);
  script.on = true;
}

SystemFaults::~SystemFaults() {
  clear();
  const std::scoped_lock lock(script.mutex);
  script.on = false;
  script.magic.reset();
  script.refused_ioctl.reset();
}

void SystemFaults::add(SystemFault fault) {
  const std::scoped_lock lock(script.mutex);
  script.faults.push_back(std::move(fault));
}

void SystemFaults::clear() {
  const std::scoped_lock lock(script.mutex);
  script.faults.clear();
  script.calls = {};
}

void SystemFaults::pretend(std::int64_t magic) {
  const std::scoped_lock lock(script.mutex);
  script.magic = magic;
}

void SystemFaults::refuse_ioctl(unsigned long request) {
  const std::scoped_lock lock(script.mutex);
  script.refused_ioctl = request;
}

unsigned SystemFaults::calls(SystemCall call) const {
  const std::scoped_lock lock(script.mutex);
  return script.calls[static_cast<std::size_t>(call)];
}

}  // namespace braid::vfs::test

using braid::vfs::test::meet;
using braid::vfs::test::mode_in;
using braid::vfs::test::SystemCall;

// NOLINTBEGIN(bugprone-reserved-identifier): the names that the linker's --wrap makes.
extern "C" {
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd) {
  return meet(SystemCall::fsync, [=] { return __real_fsync(fd); });
}

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd) {
  return meet(SystemCall::fdatasync, [=] { return __real_fdatasync(fd); });
}

int __real_syncfs(int fd);
int __wrap_syncfs(int fd);
int __wrap_syncfs(int fd) {
  return meet(SystemCall::syncfs, [=] { return __real_syncfs(fd); });
}

int __real_sync_file_range(int fd, off64_t offset, off64_t bytes, unsigned flags);
int __wrap_sync_file_range(int fd, off64_t offset, off64_t bytes, unsigned flags);
int __wrap_sync_file_range(int fd, off64_t offset, off64_t bytes, unsigned flags) {
  return meet(SystemCall::sync_file_range, [=] { return __real_sync_file_range(fd, offset, bytes, flags); });
}

ssize_t __real_pwritev2(int fd, const iovec* vectors, int count, off_t offset, int flags);
ssize_t __wrap_pwritev2(int fd, const iovec* vectors, int count, off_t offset, int flags);
ssize_t __wrap_pwritev2(int fd, const iovec* vectors, int count, off_t offset, int flags) {
  return meet(SystemCall::pwritev2, [=] { return __real_pwritev2(fd, vectors, count, offset, flags); });
}

ssize_t __real_splice(int in, loff_t* from, int out, loff_t* to, std::size_t bytes, unsigned flags);
ssize_t __wrap_splice(int in, loff_t* from, int out, loff_t* to, std::size_t bytes, unsigned flags);
ssize_t __wrap_splice(int in, loff_t* from, int out, loff_t* to, std::size_t bytes, unsigned flags) {
  return meet(SystemCall::splice, [=] { return __real_splice(in, from, out, to, bytes, flags); });
}

int __real_open(const char* path, int flags, ...);
int __wrap_open(const char* path, int flags, ...);
int __wrap_open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_in(flags, list);
  va_end(list);
  return meet(SystemCall::open, [=] { return __real_open(path, flags, mode); });
}

int __real_openat(int directory, const char* path, int flags, ...);
int __wrap_openat(int directory, const char* path, int flags, ...);
int __wrap_openat(int directory, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_in(flags, list);
  va_end(list);
  return meet(SystemCall::openat, [=] { return __real_openat(directory, path, flags, mode); });
}

int __real_open_by_handle_at(int mount, file_handle* handle, int flags);
int __wrap_open_by_handle_at(int mount, file_handle* handle, int flags);
int __wrap_open_by_handle_at(int mount, file_handle* handle, int flags) {
  return meet(SystemCall::open_by_handle_at, [=] { return __real_open_by_handle_at(mount, handle, flags); });
}

int __real_statx(int directory, const char* path, int flags, unsigned mask, struct statx* out);
int __wrap_statx(int directory, const char* path, int flags, unsigned mask, struct statx* out);
int __wrap_statx(int directory, const char* path, int flags, unsigned mask, struct statx* out) {
  return meet(SystemCall::statx, [=] { return __real_statx(directory, path, flags, mask, out); });
}

int __real_ftruncate(int fd, off_t bytes);
int __wrap_ftruncate(int fd, off_t bytes);
int __wrap_ftruncate(int fd, off_t bytes) {
  return meet(SystemCall::ftruncate, [=] { return __real_ftruncate(fd, bytes); });
}

int __real_fallocate(int fd, int mode, off_t offset, off_t bytes);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t bytes);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t bytes) {
  return meet(SystemCall::fallocate, [=] { return __real_fallocate(fd, mode, offset, bytes); });
}

int __real_renameat(int from, const char* from_name, int to, const char* to_name);
int __wrap_renameat(int from, const char* from_name, int to, const char* to_name);
int __wrap_renameat(int from, const char* from_name, int to, const char* to_name) {
  return meet(SystemCall::renameat, [=] { return __real_renameat(from, from_name, to, to_name); });
}

int __real_unlinkat(int directory, const char* name, int flags);
int __wrap_unlinkat(int directory, const char* name, int flags);
int __wrap_unlinkat(int directory, const char* name, int flags) {
  return meet(SystemCall::unlinkat, [=] { return __real_unlinkat(directory, name, flags); });
}

int __real_mkdirat(int directory, const char* name, mode_t mode);
int __wrap_mkdirat(int directory, const char* name, mode_t mode);
int __wrap_mkdirat(int directory, const char* name, mode_t mode) {
  return meet(SystemCall::mkdirat, [=] { return __real_mkdirat(directory, name, mode); });
}

int __real_symlinkat(const char* target, int directory, const char* name);
int __wrap_symlinkat(const char* target, int directory, const char* name);
int __wrap_symlinkat(const char* target, int directory, const char* name) {
  return meet(SystemCall::symlinkat, [=] { return __real_symlinkat(target, directory, name); });
}

int __real_linkat(int from, const char* from_name, int to, const char* to_name, int flags);
int __wrap_linkat(int from, const char* from_name, int to, const char* to_name, int flags);
int __wrap_linkat(int from, const char* from_name, int to, const char* to_name, int flags) {
  return meet(SystemCall::linkat, [=] { return __real_linkat(from, from_name, to, to_name, flags); });
}

int __real_mknodat(int directory, const char* name, mode_t mode, dev_t device);
int __wrap_mknodat(int directory, const char* name, mode_t mode, dev_t device);
int __wrap_mknodat(int directory, const char* name, mode_t mode, dev_t device) {
  return meet(SystemCall::mknodat, [=] { return __real_mknodat(directory, name, mode, device); });
}

ssize_t __real_getxattr(const char* path, const char* name, void* value, std::size_t bytes);
ssize_t __wrap_getxattr(const char* path, const char* name, void* value, std::size_t bytes);
ssize_t __wrap_getxattr(const char* path, const char* name, void* value, std::size_t bytes) {
  return meet(SystemCall::getxattr, [=] { return __real_getxattr(path, name, value, bytes); });
}

int __real_setxattr(const char* path, const char* name, const void* value, std::size_t bytes, int flags);
int __wrap_setxattr(const char* path, const char* name, const void* value, std::size_t bytes, int flags);
int __wrap_setxattr(const char* path, const char* name, const void* value, std::size_t bytes, int flags) {
  return meet(SystemCall::setxattr, [=] { return __real_setxattr(path, name, value, bytes, flags); });
}

ssize_t __real_pwrite(int fd, const void* bytes, std::size_t count, off_t offset);
ssize_t __wrap_pwrite(int fd, const void* bytes, std::size_t count, off_t offset);
ssize_t __wrap_pwrite(int fd, const void* bytes, std::size_t count, off_t offset) {
  return meet(SystemCall::pwrite, [=] { return __real_pwrite(fd, bytes, count, offset); });
}

ssize_t __real_copy_file_range(int in, off64_t* from, int out, off64_t* to, std::size_t bytes,
                               unsigned flags);
ssize_t __wrap_copy_file_range(int in, off64_t* from, int out, off64_t* to, std::size_t bytes,
                               unsigned flags);
ssize_t __wrap_copy_file_range(int in, off64_t* from, int out, off64_t* to, std::size_t bytes,
                               unsigned flags) {
  return meet(SystemCall::copy_file_range,
              [=] { return __real_copy_file_range(in, from, out, to, bytes, flags); });
}

// Variadic in the C library; the third argument lies where it does for these.
int __real_ioctl(int fd, unsigned long request, void* argument);
int __wrap_ioctl(int fd, unsigned long request, void* argument);
int __wrap_ioctl(int fd, unsigned long request, void* argument) {
  {
    const std::scoped_lock lock(braid::vfs::test::script.mutex);
    if (braid::vfs::test::script.refused_ioctl == request) {
      errno = ENOTTY;
      return -1;
    }
  }
  return __real_ioctl(fd, request, argument);
}

int __real_fstatfs(int fd, struct statfs* out);
int __wrap_fstatfs(int fd, struct statfs* out);
int __wrap_fstatfs(int fd, struct statfs* out) {
  const int done = __real_fstatfs(fd, out);
  const std::scoped_lock lock(braid::vfs::test::script.mutex);
  if (done == 0 && braid::vfs::test::script.magic) out->f_type = *braid::vfs::test::script.magic;
  return done;
}
}
// NOLINTEND(bugprone-reserved-identifier)
