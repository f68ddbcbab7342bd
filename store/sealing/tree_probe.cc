#include "store/sealing/tree_probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "store/medium/posix_medium.h"
#include "store/recipes/record.h"

namespace braid::store {
namespace {

constexpr std::uint64_t probed_block = 64 * base::KiB;

// A punched hole of ext4 can come back with the bytes of another file after a crash, if data is not ordered.
bool is_writeback(int directory) {
  struct stat status{};
  if (::fstat(directory, &status) != 0) return false;
  const std::string device = fmt::format("{}:{}", major(status.st_dev), minor(status.st_dev));
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string id, parent, number;
    words >> id >> parent >> number;
    if (number == device && line.find("data=writeback") != std::string::npos) return true;
  }
  return false;
}

// 64 KiB, a hole of 64 KiB, 64 KiB.
base::Result<bool> keeps_holes(File& file) {
  base::Result<void> done = file.write(0, base::Bytes(3 * probed_block, std::byte{1}));
  if (done) done = file.punch(probed_block, probed_block);
  if (!done) return base::fail(done.error());
  const auto first = file.next_data(0);
  if (!first) return base::fail(first.error());
  const auto second = file.next_data(probed_block);
  if (!second) return base::fail(second.error());
  return *first == Extent{0, probed_block} && *second == Extent{2 * probed_block, 3 * probed_block};
}

}  // namespace

std::string why_not_sealable(int directory) {
  if (is_writeback(directory)) return "it is mounted with data=writeback";
  const base::UniqueFd fd(::openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd) return fmt::format("no file can be made there: {}", base::message_of(base::last_errno()));
  const auto medium = open_posix_medium("/");
  if (!medium) return base::message_of(medium.error());
  const auto file = (*medium)->file_of(fd.get());
  if (const auto handle = file->handle(); !handle) return "it has no file handles";
  if (const auto set = file->set_attribute(record_name, base::Bytes(record_bytes)); !set)
    return fmt::format("it keeps no attributes trusted.*: {}", base::message_of(set.error()));
  if (const auto set = file->set_hint(true); !set)
    return fmt::format("it has no flag nodump: {}", base::message_of(set.error()));
  if (const auto lease = FileLease::take(fd.get()); !lease)
    return fmt::format("it has no leases: {}", base::message_of(lease.error()));
  const auto holes = keeps_holes(*file);
  if (!holes) return fmt::format("no holes can be made in its files: {}", base::message_of(holes.error()));
  return *holes ? "" : "it does not tell where the holes of its files are";
}

}  // namespace braid::store
