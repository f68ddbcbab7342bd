// Of which files data servers may know more than the stub: in memory, and after a crash.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/guarded.h"
#include "base/result.h"
#include "io/blocking_pool.h"
#include "pnfs/data_handle.h"
#include "pnfs_mds/journal.h"
#include "pnfs_mds/records.h"
#include "vfs/open_file.h"
#include "vfs/types.h"

namespace braid::pnfs_mds {

// A file that is in it is dirty. It is unsettled, too, while servers have to be asked how long it is: from
// written() until it was settled after that. One that is settled stays dirty until its stub is on the medium
// (clean()). After a restart all that are dirty are unsettled; those that are not need nobody be asked about.
// Whatever is said of a file gives it another version, so that what is known of an earlier one ends nothing.
// Thread-safe. docs/format-pnfs-mds.md has the log.
class DirtyLog {
 public:
  // Errors as those of RecordLog::open(), and EBADMSG for records that say what cannot be. `directory`
  // outlives it.
  static base::Result<std::unique_ptr<DirtyLog>> open(int directory);
  // See Journal::use().
  void use(io::BlockingPool& pool) { journal_->use(pool); }

  // Servers have been written to, or are about to be. `file`: the stub; empty: nobody knows. In memory.
  void written(pnfs::ObjectId object, const vfs::FileHandle& file);
  // What there is to know is in the stub, which is not on the medium. In memory.
  void put(pnfs::ObjectId object, const vfs::FileHandle& file);
  // What was said of them before is on the medium on return; costs nothing for those that are there. Errors
  // as those of Journal::append().
  vfs::VfsOp<> keep(std::vector<pnfs::ObjectId> objects);
  vfs::VfsOp<> keep(pnfs::ObjectId object) { return keep(std::vector<pnfs::ObjectId>(1, object)); }

  [[nodiscard]] bool unsettled(pnfs::ObjectId object) const;
  // Whoever is about to settle a file asks for this first; 0: it is clean.
  [[nodiscard]] RecordVersion version_of(pnfs::ObjectId object) const;
  // The stub tells everything that was known when the file had that version.
  void settled(pnfs::ObjectId object, RecordVersion version);

  // Whether the stub has privileges that a write takes away, and nobody could take them when it was told.
  void owe_privileges(pnfs::ObjectId object);
  [[nodiscard]] bool owes_privileges(pnfs::ObjectId object) const;
  void privileges_gone(pnfs::ObjectId object);

  // Whose it is, if it is dirty and nobody knew.
  void know(pnfs::ObjectId object, const vfs::FileHandle& file);
  // The file is gone. Does not block; any thread.
  void forget(pnfs::ObjectId object);

  struct Known {
    pnfs::ObjectId object;
    vfs::FileHandle file;
    RecordVersion version = 0;
    bool settled = false;
    bool rests = false;  // nothing was said of it since look() showed it before
  };
  // Dirty files, at most `count`, with larger numbers than `after`. Those of a run before rest.
  std::vector<Known> look(pnfs::ObjectId after, std::size_t count);
  [[nodiscard]] std::size_t size() const;
  // The stubs of those that are `settled` are on the medium, by their version: if they have that still, and
  // are settled, they are clean. What is lost in a crash makes them dirty once more, and no more than that.
  // Errors as those of Journal::append().
  vfs::VfsOp<> clean(const std::vector<Known>& files);

 private:
  struct Entry {
    vfs::FileHandle file;
    RecordVersion born = 0;  // the first version since the file was clean
    RecordVersion version = 0;
    RecordVersion settled = 0;  // version by which the stub tells everything
    RecordVersion looked = 0;   // version that was shown last
    bool wanted = false;        // in the log, or about to be
    bool kept = false;          // in the log
    bool owes_privileges = false;
  };
  struct State {
    std::map<pnfs::ObjectId, Entry> entries;
    std::vector<CleanObject> left;  // of files that are gone: to be written with the next clean()
    RecordVersion last = 0;
  };
  DirtyLog() = default;
  bool take(base::BytesView record);
  [[nodiscard]] std::vector<base::Bytes> snapshot() const;
  static Entry& said(State& state, pnfs::ObjectId object, const vfs::FileHandle& file);

  base::Guarded<State> state_;
  std::unique_ptr<Journal> journal_;
};

}  // namespace braid::pnfs_mds
