#include "pnfs_ds/fence_log.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>

#include "io/reactor.h"

namespace braid::pnfs_ds {
namespace {

std::vector<base::Bytes> encoded(std::span<const FenceRecord> fences) {
  std::vector<base::Bytes> out;
  out.reserve(fences.size());
  std::ranges::transform(fences, std::back_inserter(out), encode);
  return out;
}

}  // namespace

base::Result<std::unique_ptr<FenceLog>> FenceLog::open(int directory, FenceTable& table,
                                                       io::BlockingPool& pool) {
  std::unique_ptr<FenceLog> fences(new FenceLog(table, pool));
  bool understood = true;
  auto log = pnfs::RecordLog::open(directory, file_name, [&](base::BytesView record) {
    const auto fence = decode_fence(record);
    if (fence)
      table.add(*fence);
    else
      understood = false;
  });
  if (!log) return base::fail(log.error());
  if (!understood) return base::fail(EBADMSG);
  fences->log_ = std::move(*log);
  return fences;
}

// A record of the longest kind, with what the log adds to it, is below 64 bytes.
bool FenceLog::too_long() const {
  constexpr std::uint64_t bytes_min = base::MiB;
  constexpr std::uint64_t record_bytes = 64;
  return log_->bytes() > bytes_min && log_->bytes() > 4 * record_bytes * table_.size();
}

base::Result<void> FenceLog::write(const std::vector<FenceRecord>& fences) {
  const std::scoped_lock lock(mutex_);
  if (log_->broken() || too_long()) {
    std::vector<FenceRecord> all = table_.records();
    all.insert(all.end(), fences.begin(), fences.end());
    if (auto done = log_->rewrite(encoded(all)); !done) return done;
  } else if (auto done = log_->append(encoded(fences)); !done) {
    return done;
  }
  for (const FenceRecord& fence : fences) table_.add(fence);
  return {};
}

io::Op<> FenceLog::add(std::vector<FenceRecord> fences) {
  auto work = [this, &fences] { return write(fences); };
  const std::optional<base::Result<void>> done =
      co_await pool_.own().run_for_all(*io::Reactor::current(), io::BlockingReason::sync, work);
  if (!done) co_await base::fail(EAGAIN);
  co_await *done;
}

}  // namespace braid::pnfs_ds
