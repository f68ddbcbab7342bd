#include "pnfs_mds/journal.h"

#include <span>
#include <utility>

#include "base/log.h"
#include "io/reactor.h"

namespace braid::pnfs_mds {

base::Result<std::unique_ptr<Journal>> Journal::open(int directory, std::string name, Snapshot snapshot,
                                                     const pnfs::RecordLog::Take& take) {
  std::unique_ptr<Journal> out(new Journal(std::move(snapshot)));
  auto log = pnfs::RecordLog::open(directory, name, take);
  if (!log) return base::fail(log.error());
  out->log_ = std::move(*log);
  if (out->log_->cut_off() > 0)
    base::log_event(base::Level::warning, "pnfs_log_cut", "log={}: the last {} bytes were not whole", name,
                    out->log_->cut_off());
  out->name_ = std::move(name);
  return out;
}

vfs::VfsOp<> Journal::append(base::Bytes record) {
  std::vector<base::Bytes> records;
  records.push_back(std::move(record));
  return append(std::move(records));
}

vfs::VfsOp<> Journal::append(std::vector<base::Bytes> records) {
  waiting_.with([&](std::vector<base::Bytes>& waiting) {
    for (base::Bytes& record : records) waiting.push_back(std::move(record));
  });
  co_await rounds_.run([this] { return flush(); });
}

vfs::VfsOp<> Journal::flush() {
  const std::vector<base::Bytes> records =
      waiting_.with([](std::vector<base::Bytes>& waiting) { return std::exchange(waiting, {}); });
  io::Reactor* const reactor = io::Reactor::current();
  base::Result<void> done;
  if (pool_ == nullptr || reactor == nullptr) {
    done = write(records);
  } else {
    const std::optional<base::Result<void>> ran = co_await pool_->own().run_for_all(
        *reactor, io::BlockingReason::sync, [this, &records] { return write(records); });
    if (!ran) co_await base::fail(vfs::Error::delay);
    done = *ran;
  }
  if (done) co_return;
  base::log_event(base::Level::error, "pnfs_log_failed", "log={}: {}", name_, base::message_of(done.error()));
  co_await base::fail(vfs::Error::io);
}

base::Result<void> Journal::write(std::span<const base::Bytes> records) {
  const bool large = log_->bytes() > small_bytes && log_->bytes() / 4 > rewritten_bytes_;
  if (log_->broken() || large) {
    const auto done = log_->rewrite(snapshot_());
    if (done) rewritten_bytes_ = log_->bytes();
    if (log_->broken()) return done;
  }
  while (!records.empty()) {
    // As many as are sure to fit into one batch.
    std::size_t count = 0;
    for (std::size_t size = 0; count < records.size() && size < pnfs::RecordLog::batch_bytes_max / 2; ++count)
      size += sizeof(std::uint32_t) + records[count].size();
    if (auto done = log_->append(records.first(count)); !done) return done;
    records = records.subspan(count);
  }
  return {};
}

}  // namespace braid::pnfs_mds
