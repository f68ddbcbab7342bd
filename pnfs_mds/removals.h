// Objects whose file is about to lose its last name, and those whose file is gone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/guarded.h"
#include "base/result.h"
#include "io/blocking_pool.h"
#include "pnfs/layout_record.h"
#include "pnfs_mds/counter.h"
#include "pnfs_mds/journal.h"
#include "pnfs_mds/object_calls.h"
#include "pnfs_mds/records.h"
#include "vfs/open_file.h"
#include "vfs/shared_rounds.h"
#include "vfs/types.h"

namespace braid::pnfs_mds {

// Thread-safe. docs/format-pnfs-mds.md has the log.
class Removals {
 public:
  // Errors as those of RecordLog::open(), and EBADMSG for records that say what cannot be. What is passed
  // outlives it.
  static base::Result<std::unique_ptr<Removals>> open(int directory, ObjectCalls& calls,
                                                      const Grants& grants);
  // See Journal::use().
  void use(io::BlockingPool& pool) { journal_->use(pool); }

  // On the medium on return; errors as those of Journal::append().
  vfs::VfsOp<> intend(RemovalIntent intent);
  // The file is gone: its objects go with the next work(). Does not block; any thread.
  void gone(RemovalIntent intent);
  // What gone() calls then; to be set before anything else uses this.
  void set_wake(std::function<void()> wake) { wake_ = std::move(wake); }

  // Removes the objects of files that are gone. Those that a server does not confirm stay for the next time;
  // so do all, if it fails. One at a time, and one round for all who wait.
  vfs::VfsOp<> work();
  // It is, and some of its objects are not.
  [[nodiscard]] bool is_gone(pnfs::ObjectId object) const;
  // Files that are gone, with objects that are not.
  [[nodiscard]] std::size_t backlog() const;

  // What became of a file that a run before intended to remove.
  enum class Fate : std::uint8_t {
    lives,    // it has a name
    gone,     // it has none
    unknown,  // its export is not to be had: ask again later
  };
  using Look = std::function<vfs::VfsOp<Fate>(vfs::FileHandle file)>;
  // Asks `look` for each file of which nobody knows. The intent of one that lives stays: it is true again
  // when somebody removes the file. One at a time.
  vfs::VfsOp<> look_at_earlier(Look look);
  // How many nobody knows of.
  [[nodiscard]] std::size_t earlier() const;

 private:
  struct Intended {
    RemovalIntent intent;
    bool kept = false;     // in the log
    bool earlier = false;  // of a run before; nobody has looked at the file
  };
  struct State {
    std::map<pnfs::ObjectId, Intended> intents;
    std::map<pnfs::ObjectId, RemovalIntent> gone;
  };
  Removals(ObjectCalls& calls, const Grants& grants) : calls_(calls), grants_(grants) {}
  bool take(base::BytesView record);
  [[nodiscard]] std::vector<base::Bytes> snapshot() const;
  vfs::VfsOp<> work_once();
  // The objects of the batch that all of their servers have removed.
  vfs::VfsOp<std::vector<pnfs::ObjectId>> remove(std::vector<RemovalIntent> batch);
  vfs::VfsOp<> forget(std::vector<pnfs::ObjectId> objects);

  ObjectCalls& calls_;
  const Grants& grants_;
  base::Guarded<State> state_;
  vfs::SharedRounds rounds_;
  std::unique_ptr<Journal> journal_;
  std::function<void()> wake_;
};

}  // namespace braid::pnfs_mds
