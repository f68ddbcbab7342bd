// A file of records that are only added, for what a server of the cluster must not forget: each is on the
// medium before anybody acts on it, and what a crash cuts short is told from damage. docs/format-pnfs-log.md
// is the reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace braid::pnfs {

// Belongs to one thread at a time. Functions block. A log has one user: whoever opens it sees to that.
class RecordLog {
 public:
  static constexpr std::size_t record_bytes_max = 65536;
  // Of all records of one append(), with 4 bytes for each.
  static constexpr std::size_t batch_bytes_max = 16 * base::MiB;
  // Of the file. Whoever adds records rewrites the log long before.
  static constexpr std::uint64_t bytes_max = 2 * base::GiB;
  using Take = std::function<void(base::BytesView record)>;

  // Opens `name` in `directory`, or makes it, and hands on what it has, in the order in which it was added.
  // What an append() left that never ended is cut off. EBADMSG: there is damage before the end, or the file
  // is none of ours, or of a later version. EFBIG: it is longer than any log. `directory` stays open as long
  // as the log.
  static base::Result<std::unique_ptr<RecordLog>> open(int directory, std::string name, const Take& take);

  // All or none of them, for whoever opens the log after a crash. EMSGSIZE: more than fits; EFBIG: the
  // log is full. After any other
  // error nobody knows what is on the medium: the log is broken, and says EIO until it is rewritten.
  base::Result<void> append(std::span<const base::Bytes> records);
  // Puts these in place of all that there is, in one step: after a crash it is the old log or this one. After
  // an error it is as it was, but for EIO: then nobody knows which of them it is, and the log is broken.
  base::Result<void> rewrite(std::span<const base::Bytes> records);

  [[nodiscard]] bool broken() const { return broken_; }
  [[nodiscard]] std::uint64_t bytes() const { return end_; }
  // Bytes that open() cut off.
  [[nodiscard]] std::uint64_t cut_off() const { return cut_off_; }

 private:
  RecordLog(int directory, std::string name) : directory_(directory), name_(std::move(name)) {}
  base::Result<void> load(const Take& take);

  const int directory_;
  const std::string name_;
  base::UniqueFd file_;
  std::uint64_t end_ = 0;  // of the last whole batch
  std::uint64_t cut_off_ = 0;
  bool broken_ = false;
};

}  // namespace braid::pnfs
