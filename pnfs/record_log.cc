#include "pnfs/record_log.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/big_endian.h"
#include "base/siphash.h"

namespace braid::pnfs {
namespace {

// Offsets of docs/format-pnfs-log.md.
constexpr std::array<char, 8> file_magic{'B', 'r', 'a', 'i', 'd', 'L', 'o', 'g'};
constexpr std::uint32_t file_version = 1;
constexpr std::size_t file_header_bytes = 16;
constexpr std::uint32_t batch_magic = 0x42617463;  // "Batc"
constexpr std::size_t batch_header_bytes = 16;
constexpr std::size_t checksum_bytes = 8;
constexpr std::size_t length_bytes = 4;

// Finds damage; proves nothing. The place of a batch is in it: an old batch elsewhere is none.
std::uint64_t checksum(std::uint64_t at, base::BytesView bytes) { return base::siphash24({at, 0}, bytes); }

base::Result<void> write_all(int file, std::uint64_t at, base::BytesView bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return base::fail(base::last_errno());
    if (put == 0) return base::fail(ENOSPC);
    at += static_cast<std::uint64_t>(put);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return {};
}

base::Result<base::Bytes> read_all(int file) {
  struct stat status;
  if (::fstat(file, &status) != 0) return base::fail(base::last_errno());
  if (static_cast<std::uint64_t>(status.st_size) > RecordLog::bytes_max) return base::fail(EFBIG);
  base::Bytes out(static_cast<std::size_t>(status.st_size));
  std::size_t have = 0;
  while (have < out.size()) {
    const ssize_t got = ::pread(file, out.data() + have, out.size() - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail(base::last_errno());
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  out.resize(have);
  return out;
}

base::Result<void> sync_file(int file) {
  if (::fsync(file) != 0) return base::fail(base::last_errno());
  return {};
}

base::Bytes file_header() {
  base::Bytes out(file_header_bytes);
  std::ranges::copy(std::as_bytes(std::span(file_magic)), out.begin());
  base::store_be<std::uint32_t>(out, 8, file_version);
  return out;
}

bool is_ours(base::BytesView file) {
  return file.size() >= file_header_bytes && base::equal(file.first(file_header_bytes), file_header());
}

// The records' bytes of the batch at `at`, if its head is whole.
std::optional<std::size_t> batch_at(base::BytesView file, std::size_t at) {
  if (file.size() - at < batch_header_bytes) return std::nullopt;
  const base::BytesView head = file.subspan(at, batch_header_bytes);
  if (base::load_be<std::uint32_t>(head, 0) != batch_magic ||
      base::load_be<std::uint64_t>(head, 8) != checksum(at, head.first(8)))
    return std::nullopt;
  return base::load_be<std::uint32_t>(head, 4);
}

// Those of a whole batch; nothing if it is cut short or damaged.
std::optional<base::BytesView> records_at(base::BytesView file, std::size_t at) {
  const auto size = batch_at(file, at);
  if (!size || *size > RecordLog::batch_bytes_max) return std::nullopt;
  const std::size_t begin = at + batch_header_bytes;
  if (file.size() - begin < *size + checksum_bytes) return std::nullopt;
  const base::BytesView records = file.subspan(begin, *size);
  if (base::load_be<std::uint64_t>(file, begin + *size) != checksum(begin, records)) return std::nullopt;
  return records;
}

// Nothing unless the lengths fit.
std::optional<std::size_t> record_size(base::BytesView records) {
  if (records.size() < length_bytes) return std::nullopt;
  const std::size_t size = base::load_be<std::uint32_t>(records, 0);
  if (size > RecordLog::record_bytes_max || size > records.size() - length_bytes) return std::nullopt;
  return size;
}

// To stand at `at`. EMSGSIZE, EFBIG.
base::Result<base::Bytes> batch_of(std::uint64_t at, std::span<const base::Bytes> records) {
  std::size_t size = 0;
  for (const base::Bytes& record : records) {
    if (record.size() > RecordLog::record_bytes_max) return base::fail(EMSGSIZE);
    size += length_bytes + record.size();
    if (size > RecordLog::batch_bytes_max) return base::fail(EMSGSIZE);
  }
  if (at + batch_header_bytes + size + checksum_bytes > RecordLog::bytes_max) return base::fail(EFBIG);
  base::Bytes batch(batch_header_bytes + size + checksum_bytes);
  base::store_be<std::uint32_t>(batch, 0, batch_magic);
  base::store_be<std::uint32_t>(batch, 4, static_cast<std::uint32_t>(size));
  base::store_be<std::uint64_t>(batch, 8, checksum(at, base::BytesView(batch).first(8)));
  std::size_t to = batch_header_bytes;
  for (const base::Bytes& record : records) {
    base::store_be<std::uint32_t>(batch, to, static_cast<std::uint32_t>(record.size()));
    std::ranges::copy(record, batch.begin() + static_cast<std::ptrdiff_t>(to + length_bytes));
    to += length_bytes + record.size();
  }
  base::store_be<std::uint64_t>(
      batch, to, checksum(at + batch_header_bytes, base::BytesView(batch).subspan(batch_header_bytes, size)));
  return batch;
}

}  // namespace

base::Result<std::unique_ptr<RecordLog>> RecordLog::open(int directory, std::string name, const Take& take) {
  std::unique_ptr<RecordLog> log(new RecordLog(directory, std::move(name)));
  // What a crash left of a rewrite().
  if (::unlinkat(directory, (log->name_ + ".new").c_str(), 0) != 0 && errno != ENOENT)
    return base::fail(base::last_errno());
  log->file_ = base::UniqueFd(::openat(directory, log->name_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!log->file_ && errno != ENOENT) return base::fail(base::last_errno());
  const auto ready = log->file_ ? log->load(take) : log->rewrite({});
  if (!ready) return base::fail(ready.error());
  return log;
}

base::Result<void> RecordLog::load(const Take& take) {
  const auto file = read_all(file_.get());
  if (!file) return base::fail(file.error());
  if (!is_ours(*file)) return base::fail(EBADMSG);
  std::size_t at = file_header_bytes;
  while (const auto records = records_at(*file, at)) {
    base::BytesView rest = *records;
    while (!rest.empty()) {
      const auto size = record_size(rest);
      if (!size) return base::fail(EBADMSG);
      take(rest.subspan(length_bytes, *size));
      rest = rest.subspan(length_bytes + *size);
    }
    at += batch_header_bytes + records->size() + checksum_bytes;
  }
  // An append() begins when the one before it is on the medium: what is not whole is the last one, or damage.
  for (std::size_t later = at + 1; later < file->size(); ++later)
    if (records_at(*file, later)) return base::fail(EBADMSG);
  end_ = at;
  cut_off_ = file->size() - at;
  if (cut_off_ == 0) return {};
  if (::ftruncate(file_.get(), static_cast<off_t>(at)) != 0) return base::fail(base::last_errno());
  return sync_file(file_.get());
}

base::Result<void> RecordLog::append(std::span<const base::Bytes> records) {
  if (broken_) return base::fail(EIO);
  if (records.empty()) return {};
  const auto batch = batch_of(end_, records);
  if (!batch) return base::fail(batch.error());
  auto done = write_all(file_.get(), end_, *batch);
  if (done && ::fdatasync(file_.get()) != 0) done = base::fail(base::last_errno());
  if (!done) {
    broken_ = true;
    return done;
  }
  end_ += batch->size();
  return {};
}

base::Result<void> RecordLog::rewrite(std::span<const base::Bytes> records) {
  const std::string fresh_name = name_ + ".new";
  base::UniqueFd fresh(
      ::openat(directory_, fresh_name.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fresh) return base::fail(base::last_errno());
  std::uint64_t end = file_header_bytes;
  auto done = write_all(fresh.get(), 0, file_header());
  while (done && !records.empty()) {
    // As many as fit into one batch.
    std::size_t count = 0;
    for (std::size_t size = 0; count < records.size(); ++count) {
      size += length_bytes + records[count].size();
      if (size > batch_bytes_max) break;
    }
    count = std::max<std::size_t>(count, 1);
    const auto batch = batch_of(end, records.first(count));
    done = batch ? write_all(fresh.get(), end, *batch) : base::fail(batch.error());
    if (batch) end += batch->size();
    records = records.subspan(count);
  }
  if (done) done = sync_file(fresh.get());
  if (done && ::renameat(directory_, fresh_name.c_str(), directory_, name_.c_str()) != 0)
    done = base::fail(base::last_errno());
  if (!done) {
    (void)::unlinkat(directory_, fresh_name.c_str(), 0);
    return done;
  }
  file_ = std::move(fresh);
  end_ = end;
  // The name is the new file's whatever the medium says now: without this it may be the old one's again.
  broken_ = !sync_file(directory_);
  if (broken_) return base::fail(EIO);
  return {};
}

}  // namespace braid::pnfs
