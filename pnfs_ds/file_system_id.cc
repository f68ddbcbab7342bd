#include "pnfs_ds/file_system_id.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/bytes.h"
#include "base/unique_fd.h"
#include "hashing/blake3.h"
#include "vfs/posix/uuid.h"

namespace braid::pnfs_ds {

// A UUID alone is not enough: hosts are made as copies of others, with their disks. The device's number is
// that of a subvolume on btrfs, which has a UUID.
FileSystemId file_system_id(int directory) {
  FileSystemId out{};
  std::array<std::byte, 64> boot{};
  const base::UniqueFd file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  const ssize_t size = file ? ::read(file.get(), boot.data(), boot.size()) : -1;
  struct stat now{};
  if (size <= 0 || ::fstat(directory, &now) != 0) return out;
  hashing::Blake3 hash;
  hash.update(std::span(boot).first(static_cast<std::size_t>(size)));
  if (const auto uuid = vfs::posix::file_system_uuid(directory))
    hash.update(*uuid);
  else
    hash.update(std::as_bytes(std::span(&now.st_dev, 1)));
  const hashing::Digest digest = hash.digest();
  std::ranges::copy(std::span(digest.bytes).first(out.size()), out.begin());
  return out;
}

}  // namespace braid::pnfs_ds
