// A record log for many callers at once: one write and sync serves all who wait.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/guarded.h"
#include "base/result.h"
#include "io/blocking_pool.h"
#include "pnfs/record_log.h"
#include "vfs/open_file.h"
#include "vfs/shared_rounds.h"

namespace braid::pnfs_mds {

// Thread-safe. Its owner keeps in memory what the records say; what it keeps has what a record says by the
// time that append() is called: the log may be written anew from it at any moment from then on.
class Journal {
 public:
  // Every record that is still of use; any thread.
  using Snapshot = std::function<std::vector<base::Bytes>()>;

  // Errors as those of RecordLog::open(), which hands on what there is. `directory` outlives it.
  static base::Result<std::unique_ptr<Journal>> open(int directory, std::string name, Snapshot snapshot,
                                                     const pnfs::RecordLog::Take& take);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // From now on the log is written there, if that is asked for on a reactor; before that on the calling
  // thread. The pool outlives the last append().
  void use(io::BlockingPool& pool) { pool_ = &pool; }

  // It is on the medium on return. delay: not now, and it is not in the log; io: nobody knows whether it is.
  vfs::VfsOp<> append(base::Bytes record);
  // The same for all of them, in this order.
  vfs::VfsOp<> append(std::vector<base::Bytes> records);
  // The log is written anew when it is larger, and larger than four times what is of use.
  static constexpr std::uint64_t small_bytes = 64 * base::KiB;

 private:
  explicit Journal(Snapshot snapshot) : snapshot_(std::move(snapshot)) {}
  vfs::VfsOp<> flush();
  base::Result<void> write(std::span<const base::Bytes> records);

  std::string name_;
  io::BlockingPool* pool_ = nullptr;
  const Snapshot snapshot_;
  base::Guarded<std::vector<base::Bytes>> waiting_;
  vfs::SharedRounds rounds_;
  // Of whoever leads a round.
  std::unique_ptr<pnfs::RecordLog> log_;
  std::uint64_t rewritten_bytes_ = 0;
};

}  // namespace braid::pnfs_mds
