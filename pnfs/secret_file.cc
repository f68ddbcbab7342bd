#include "pnfs/secret_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/result.h"
#include "base/unique_fd.h"

namespace braid::pnfs {

std::expected<ClusterSecret, std::string> read_secret(const std::string& file) {
  constexpr std::size_t bytes_min = ClusterSecret::bytes_min, bytes_max = ClusterSecret::bytes_max;
  constexpr unsigned mode_wanted = 0600, mode_bits = 07777;
  const auto trouble = [&] {
    return std::unexpected(
        fmt::format("the secret {} cannot be read: {}", file, base::message_of(base::last_errno())));
  };
  const base::UniqueFd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat now{};
  if (!opened || ::fstat(opened.get(), &now) != 0) return trouble();
  if (!S_ISREG(now.st_mode)) return std::unexpected(fmt::format("the secret {} is no file", file));
  if ((now.st_mode & mode_bits) != mode_wanted)
    return std::unexpected(
        fmt::format("the secret {} has mode {:04o}, and others may get at it: chmod 600 {}", file,
                    now.st_mode & mode_bits, file));
  base::Bytes bytes(bytes_max + 1);
  const ssize_t got = ::read(opened.get(), bytes.data(), bytes.size());
  if (got < 0) return trouble();
  bytes.resize(static_cast<std::size_t>(got));
  const auto secret = ClusterSecret::from(bytes);
  if (!secret)
    return std::unexpected(fmt::format(
        "the secret {} has {} bytes; it must have {} to {}: head -c 32 /dev/urandom > {}", file,
        bytes.size() > bytes_max ? fmt::format("more than {}", bytes_max) : std::to_string(bytes.size()),
        bytes_min, bytes_max, file));
  return *secret;
}

}  // namespace braid::pnfs
