// Logs of a pNFS cluster: whatever is in the file, it is opened or refused; what was opened can be added to,
// and is then what it was with the addition. Input: the file behind its header; the first byte says how long
// the first batch really is, so that some are whole.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/assert.h"
#include "pnfs/record_log.h"

namespace {

using namespace braid;

// Of this process, in memory where there is such a directory; gone with the process.
class Directory {
 public:
  Directory() {
    if (::mkdtemp(name_.data()) == nullptr) {
      name_ = "/tmp/fuzz_pnfs_log_XXXXXX";
      base::check(::mkdtemp(name_.data()) != nullptr, "there is a place for files");
    }
    fd_ = base::UniqueFd(::open(name_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~Directory() {
    (void)::unlinkat(fd_.get(), "log", 0);
    (void)::rmdir(name_.c_str());
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  std::string name_ = "/dev/shm/fuzz_pnfs_log_XXXXXX";
  base::UniqueFd fd_;
};
int directory() {
  static const Directory made;
  return made.fd();
}

base::Result<std::vector<base::Bytes>> all() {
  std::vector<base::Bytes> records;
  const auto take = [&](base::BytesView record) { records.emplace_back(record.begin(), record.end()); };
  if (const auto log = pnfs::RecordLog::open(directory(), "log", take); !log) return base::fail(log.error());
  return records;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t whole = std::min<std::size_t>(data[0], size - 1);
  (void)::unlinkat(directory(), "log", 0);
  {
    const auto log = pnfs::RecordLog::open(directory(), "log", [](base::BytesView) {});
    base::check(log.has_value(), "a log can be made");
    const auto* first = reinterpret_cast<const std::byte*>(data + 1);
    const std::vector<base::Bytes> batch{base::Bytes(first, first + whole), base::Bytes(whole)};
    base::check((*log)->append(batch).has_value(), "a log can be added to");
  }
  const base::UniqueFd file(::openat(directory(), "log", O_WRONLY | O_APPEND | O_CLOEXEC));
  base::check(
      ::write(file.get(), data + 1 + whole, size - 1 - whole) == static_cast<ssize_t>(size - 1 - whole),
      "a file can be written");
  const auto before = all();
  if (!before) return 0;
  base::check(before->size() >= 2, "a whole batch is kept");
  {
    const auto log = pnfs::RecordLog::open(directory(), "log", [](base::BytesView) {});
    const std::vector<base::Bytes> one{base::Bytes(3)};
    base::check(log.has_value() && (*log)->append(one).has_value(), "what was opened can be added to");
  }
  const auto after = all();
  base::check(after.has_value() && after->size() == before->size() + 1, "and has one record more");
  return 0;
}
