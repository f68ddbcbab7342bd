// The fences of a data server on its medium. docs/format-pnfs-fences.md, docs/format-pnfs-log.md.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/blocking_pool.h"
#include "io/op.h"
#include "pnfs/record_log.h"
#include "pnfs_ds/fence_table.h"

namespace braid::pnfs_ds {

// Thread-safe. A fence is on the medium before it is in force, and so before anybody is told of it.
class FenceLog {
 public:
  static constexpr const char* file_name = "fences";

  // What is in `directory`, which stays open as long as the log, goes into the table; both it and `pool`
  // outlive the log. Blocks. EBADMSG: the log is damaged; else the errno.
  static base::Result<std::unique_ptr<FenceLog>> open(int directory, FenceTable& table,
                                                      io::BlockingPool& pool);

  // All or none of them. On a reactor. EAGAIN: the pool has no thread for it; else the errno of the medium,
  // and nobody knows what is on it.
  io::Op<> add(std::vector<FenceRecord> fences);

 private:
  FenceLog(FenceTable& table, io::BlockingPool& pool) : table_(table), pool_(pool) {}
  base::Result<void> write(const std::vector<FenceRecord>& fences);
  [[nodiscard]] bool too_long() const;

  FenceTable& table_;
  io::BlockingPool& pool_;
  std::mutex mutex_;
  std::unique_ptr<pnfs::RecordLog> log_;
};

}  // namespace braid::pnfs_ds
