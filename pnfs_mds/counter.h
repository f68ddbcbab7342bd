// Numbers that are never given out twice, whatever crashes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/guarded.h"
#include "base/result.h"
#include "io/blocking_pool.h"
#include "pnfs/data_handle.h"
#include "pnfs_mds/journal.h"
#include "vfs/open_file.h"
#include "vfs/shared_rounds.h"

namespace braid::pnfs_mds {

// Reserves them in blocks: a crash loses what is left of one. Thread-safe. docs/format-pnfs-mds.md.
class Counter {
 public:
  // How many numbers a block has, at least.
  static constexpr std::uint64_t block = 4096;

  // In the log `name` of `directory`; it begins with 1. Errors as those of RecordLog::open(), and EBADMSG for
  // records that say what cannot be. `directory` outlives it.
  static base::Result<std::unique_ptr<Counter>> open(int directory, std::string name, std::uint64_t limit);
  // See Journal::use().
  void use(io::BlockingPool& pool) { journal_->use(pool); }

  // The first of `count` numbers, 1 to `block`. nospc: there are none left below the limit. delay, io: as
  // Journal::append().
  vfs::VfsOp<std::uint64_t> next(std::uint32_t count);
  // The largest that has been given out; 0 at first. After a start the largest that may have been.
  [[nodiscard]] std::uint64_t last() const;

 private:
  struct State {
    std::uint64_t last = 0;      // given out
    std::uint64_t reserved = 0;  // in the log
    std::uint64_t wanted = 0;    // perhaps in the log
  };
  explicit Counter(std::uint64_t limit) : limit_(limit) {}
  vfs::VfsOp<> reserve(std::uint32_t count);

  const std::uint64_t limit_;
  base::Guarded<State> state_;
  vfs::SharedRounds reserving_;
  std::unique_ptr<Journal> journal_;
};

// The numbers of layouts. Who grants one takes its number first, and looks at the epoch of the file's record
// then: a fence that raises the epoch tells of the numbers that had been given out after that.
class Grants {
 public:
  static constexpr std::uint64_t limit = std::uint64_t{1} << 48U;  // DataHandleCodec

  explicit Grants(std::unique_ptr<Counter> counter) : counter_(std::move(counter)) {}
  void use(io::BlockingPool& pool) { counter_->use(pool); }
  // The first of `count`, 1 to Counter::block. Errors as those of Counter::next().
  vfs::VfsOp<pnfs::GrantNumber> next(std::uint32_t count);
  // The newest that may have been granted.
  [[nodiscard]] pnfs::GrantNumber last() const { return pnfs::GrantNumber(counter_->last()); }

 private:
  const std::unique_ptr<Counter> counter_;
};

}  // namespace braid::pnfs_mds
