// Objects whose file is about to lose its last name, and those whose file is gone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/bytes.h"
#include "base/guarded.h"
#include "base/result.h"
#include "io/blocking_pool.h"
#include "io/reactor.h"
#include "pnfs/layout_record.h"
#include "pnfs_mds/counter.h"
#include "pnfs_mds/journal.h"
#include "pnfs_mds/object_calls.h"
#include "vfs/open_file.h"
#include "vfs/types.h"

namespace braid::pnfs_mds {

// What is left of a file that is about to lose its name.
struct RemovalIntent {
  pnfs::ObjectId object;
  std::vector<pnfs::ServerNumber> servers;  // of object 0, 1, ...
  vfs::FileHandle file;                     // the stub's
  friend bool operator==(const RemovalIntent&, const RemovalIntent&) = default;
};
base::Bytes encode(const RemovalIntent& intent);
std::optional<RemovalIntent> decode_removal(base::BytesView record);

// Thread-safe. docs/format-pnfs-mds.md has the log.
class Removals {
 public:
  // Errors as those of RecordLog::open(), and EBADMSG for records that say what cannot be. What is passed
  // outlives it.
  static base::Result<std::unique_ptr<Removals>> open(int directory, io::BlockingPool* pool,
                                                      ObjectCalls& calls, const Grants& grants);

  // On the medium on return; errors as those of Journal::append().
  vfs::VfsOp<> intend(const RemovalIntent& intent);
  // The file is gone, as it was intended, or without: its objects go with the next work(). Does not block;
  // any thread.
  void gone(RemovalIntent intent);

  // Removes objects whose file is gone; those that a server does not confirm stay for the next time. One at a
  // time.
  vfs::VfsOp<> work();
  // Called by gone(); to be set before anything else uses this.
  void set_wake(std::function<void()> wake) { wake_ = std::move(wake); }
  // What earlier runs intended, and nobody has looked at. Once: whether such a file still has a name is to be
  // told by settle_earlier().
  enum class Fate : std::uint8_t {
    lives,    // it has a name
    gone,     // it has none
    unknown,  // its export is not to be had: ask again later
  };
  using Look = std::function<vfs::VfsOp<Fate>(vfs::FileHandle file)>;
  // Asks `look` for each of them. Those with a fate are done with.
  vfs::VfsOp<> settle_earlier(const Look& look);
  [[nodiscard]] bool earlier_left() const;
  // Files that are gone, with objects that are not.
  [[nodiscard]] std::size_t backlog() const;

 private:
  struct State {
    std::map<pnfs::ObjectId, RemovalIntent> intents;  // in the log
    std::set<pnfs::ObjectId> earlier;                 // of them those of runs before
    std::map<pnfs::ObjectId, RemovalIntent> gone;     // to be removed
    bool working = false;
  };
  Removals(ObjectCalls& calls, const Grants& grants) : calls_(calls), grants_(grants) {}
  [[nodiscard]] std::vector<base::Bytes> snapshot() const;
  vfs::VfsOp<> work_once();
  vfs::VfsOp<> forget(const std::vector<pnfs::ObjectId>& objects);

  ObjectCalls& calls_;
  const Grants& grants_;
  base::Guarded<State> state_;
  std::unique_ptr<Journal> journal_;
  std::function<void()> wake_;
};

}  // namespace braid::pnfs_mds
