// System calls that fail on demand: the linker puts these in the place of the C library's (CMakeLists.txt),
// for the test's own calls, too.
#pragma once

#include <cstdint>
#include <functional>

namespace braid::vfs::test {

enum class SystemCall : std::uint8_t {
  fsync,
  fdatasync,
  syncfs,
  sync_file_range,
  pwritev2,
  splice,
  open,
  openat,
  open_by_handle_at,
  statx,
  ftruncate,
  fallocate,
  renameat,
  unlinkat,
  mkdirat,
  symlinkat,
  linkat,
  mknodat,
  setxattr,
  getxattr,
  pwrite,
  copy_file_range
};
constexpr std::size_t system_calls = 22;

constexpr unsigned every = 0;  // in place of a number of calls

struct SystemFault {
  SystemCall call = SystemCall::fsync;
  int error = 0;      // the errno; 0: it only takes longer
  unsigned nth = 1;   // which call from now on, or `every` one of them
  bool done = false;  // the call is made, and fails all the same
  std::function<void()> before{};
};

// For the length of an object. One at a time; calls of any thread are met.
class SystemFaults {
 public:
  SystemFaults();
  ~SystemFaults();
  SystemFaults(const SystemFaults&) = delete;
  SystemFaults& operator=(const SystemFaults&) = delete;

  void add(SystemFault fault);
  void clear();
  // What fstatfs(2) says of every file system, in f_type.
  void pretend(std::int64_t magic);
  // ioctl(2) with this request is ENOTTY, as on a kernel that does not have it.
  void refuse_ioctl(unsigned long request);
  // Since the object was made or cleared.
  [[nodiscard]] unsigned calls(SystemCall call) const;
};

}  // namespace braid::vfs::test
