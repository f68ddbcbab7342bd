// The files of a ClientStore (docs/format-recovery.md): whatever is in them, a run begins or says why not,
// and the next one finds the same clients, without what they held two runs before. Input: a byte that says
// which files have a right checksum, then, for `epochs`, `held` and up to eight records, a length in two
// bytes and the content.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/unique_fd.h"
#include "nfs4/recovery/client_store.h"
#include "nfs4/recovery/fields.h"

namespace {

using braid::base::Bytes;
using braid::base::BytesView;
using braid::base::check;
using braid::nfs4::recovery::ClientStore;
using braid::nfs4::state::KnownClient;

constexpr std::size_t records_max = 8;

// In memory where there is such a file system: each run syncs several files.
std::string make_directory() {
  std::string name =
      (::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") + std::string("/braid-fuzz-XXXXXX");
  check(::mkdtemp(name.data()) != nullptr, "a directory for the files");
  return name;
}

// Gone when the process ends.
struct Directory {
  const std::string path = make_directory();
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

class Input {
 public:
  explicit Input(BytesView bytes) : left_(bytes) {}
  std::uint8_t byte() { return left_.empty() ? std::uint8_t{0} : std::to_integer<std::uint8_t>(take(1)[0]); }
  BytesView file() {
    const std::size_t length = byte() * std::size_t{256} + byte();
    return take(std::min(length, left_.size()));
  }
  [[nodiscard]] bool at_end() const { return left_.empty(); }

 private:
  BytesView take(std::size_t count) {
    const BytesView out = left_.first(count);
    left_ = left_.subspan(count);
    return out;
  }
  BytesView left_;
};

void write_file(const std::string& path, BytesView content, bool with_checksum) {
  Bytes all(content.begin(), content.end());
  if (with_checksum) {
    const std::uint64_t sum = braid::nfs4::recovery::checksum_of(content);
    for (int shift = 56; shift >= 0; shift -= 8) all.push_back(static_cast<std::byte>(sum >> shift));
  }
  const braid::base::UniqueFd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR));
  check(file && ::write(file.get(), all.data(), all.size()) == static_cast<ssize_t>(all.size()),
        "a file is written");
}

std::vector<KnownClient> sorted(std::vector<KnownClient> clients) {
  std::ranges::sort(clients);
  return clients;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Directory directory;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path))
    std::filesystem::remove(entry.path());

  Input input({reinterpret_cast<const std::byte*>(data), size});
  const std::uint8_t sums = input.byte();
  write_file(directory.path + "/epochs", input.file(), (sums & 1U) != 0);
  write_file(directory.path + "/held", input.file(), (sums & 2U) != 0);
  for (std::size_t number = 0; number < records_max && !input.at_end(); ++number)
    write_file(fmt::format("{}/client-{:032x}", directory.path, number), input.file(), (sums & 4U) != 0);

  std::vector<KnownClient> known;
  std::uint32_t epoch = 0;
  {
    const auto first = ClientStore::open(directory.path);
    if (!first) return 0;
    known = sorted((*first)->known());
    epoch = (*first)->epoch();
    check(epoch != 0, "epoch 0 is no run's");
  }
  const auto second = ClientStore::open(directory.path);
  check(second.has_value() && (*second)->epoch() != epoch, "what a run has written the next one reads");
  const std::vector<KnownClient> again = sorted((*second)->known());
  // Without clients the first run has ended their time.
  check(known.empty() || std::ranges::equal(again, known, {}, &KnownClient::owner, &KnownClient::owner),
        "who may reclaim still may");
  check(std::ranges::none_of(again, [](const KnownClient& client) { return client.held.has_value(); }),
        "what was held counts in the next run alone");
  return 0;
}
