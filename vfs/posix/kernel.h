// The system calls that the POSIX file system is made of, with their errors as values.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "vfs/types.h"
#include "vfs/wire_handle.h"

namespace braid::vfs::posix {

template <class T = void>
using Outcome = base::Result<T, Error>;

// The failure of the system call that just returned -1.
inline base::Failure<Error> failed_call() { return base::fail(error_of(errno)); }
inline Outcome<> outcome_of(long returned) {
  if (returned < 0) return failed_call();
  return {};
}

// A name with the NUL that system calls want.
class Name {
 public:
  // inval: empty, or with '/' or NUL inside; nametoolong: more than NAME_MAX bytes.
  static Outcome<Name> of(std::string_view text);
  [[nodiscard]] const char* c_str() const { return text_.data(); }
  [[nodiscard]] std::string_view view() const { return {text_.data(), size_}; }
  [[nodiscard]] bool is_dot() const { return view() == "."; }
  [[nodiscard]] bool is_dot_dot() const { return view() == ".."; }

 private:
  std::array<char, 256> text_;
  std::size_t size_ = 0;
};

// The largest offset that the kernel takes, and the largest end of a file.
inline constexpr std::uint64_t offset_max = std::numeric_limits<off_t>::max();

using Stat = struct ::statx;

// Of the object behind a descriptor.
Outcome<Stat> stat_of(int fd);
// Of the object behind a name; never of what a link or a mount point leads to.
Outcome<Stat> stat_at(int directory, const char* name);
FileType type_of(const Stat& stat);
Attributes attributes_of(const Stat& stat, std::uint64_t fsid);
Time ctime_of(const Stat& stat);
// Since 1970.
constexpr std::uint64_t nanoseconds_of(const Time& time) {
  return static_cast<std::uint64_t>(time.seconds) * 1'000'000'000 + time.nanoseconds;
}
std::uint64_t device_of(const Stat& stat);

// What name_to_handle_at(2) gives, if it fits a wire handle.
struct KernelHandle {
  std::uint16_t type = 0;
  std::uint8_t size = 0;
  std::array<std::byte, HandleCodec::body_bytes_max> bytes;

  [[nodiscard]] base::BytesView view() const { return {bytes.data(), size}; }
};
// Of directory/name, or of the descriptor itself when the name is empty. notsupp: this file system has no
// handles, or only larger ones.
Outcome<KernelHandle> kernel_handle(int directory, const char* name);
// Opens by handle on the file system that `mount` (not O_PATH) is on; stale: gone.
Outcome<base::UniqueFd> open_kernel_handle(int mount, std::uint16_t type, base::BytesView bytes, int flags);

// Opens directory/name as O_PATH without following a link.
Outcome<base::UniqueFd> open_path(int directory, const char* name);
// The same, refused where another mount begins.
Outcome<base::UniqueFd> open_path_beneath(int directory, const char* name);
// Whether the calling thread may do `rights` (R_OK | W_OK | X_OK) with the object behind the descriptor: its
// file-system identity is asked, as for any other call.
Outcome<> may(int fd, int rights);
// chmod of the object behind any descriptor, O_PATH too. `descriptors` is /proc/self/fd, for older kernels.
Outcome<> change_mode(int fd, std::uint32_t mode, int descriptors);

// The same of a call about extended attributes.
base::Failure<Error> failed_xattr_call();

// A name for what is behind a descriptor of this process, for calls that take nothing else.
std::string path_of(int fd);
// True if the directory hands an ACL on to what is made in it.
bool has_default_acl(int directory);

// True if every page of [offset, offset + count) is in memory (cachestat(2), Linux 6.5); false if the kernel
// cannot tell.
bool in_page_cache(int fd, std::uint64_t offset, std::size_t count);

}  // namespace braid::vfs::posix
