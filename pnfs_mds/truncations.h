// Truncations that are under way, and servers that have to be told of one before they serve again.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/bytes.h"
#include "base/guarded.h"
#include "base/result.h"
#include "io/blocking_pool.h"
#include "pnfs/data_handle.h"
#include "pnfs_mds/counter.h"
#include "pnfs_mds/data_servers.h"
#include "pnfs_mds/journal.h"
#include "pnfs_mds/object_calls.h"
#include "pnfs_mds/records.h"
#include "vfs/open_file.h"
#include "vfs/types.h"

namespace braid::pnfs_mds {

// A truncation is intended, which is on the medium before anything is done; then its servers cut their
// objects, and the stub gets the size; then it is answered, which is on the medium, too. What was intended
// and is not answered, because the process ended or a server was silent, is done before anything else is said
// of the file. A server that has no contact, and so has barred itself, is left out, and told before a
// heartbeat of it is answered. One truncation of a file at a time. Thread-safe. docs/format-pnfs-mds.md has
// the log.
class Truncations {
 public:
  // Errors as those of RecordLog::open(), and EBADMSG for records that say what cannot be. What is passed
  // outlives it.
  static base::Result<std::unique_ptr<Truncations>> open(int directory, ObjectCalls& calls,
                                                         const DataServers& servers, const Grants& grants);
  // See Journal::use().
  void use(io::BlockingPool& pool) { journal_->use(pool); }

  // The one that is intended, and not answered.
  [[nodiscard]] std::optional<TruncationRecord> intended(pnfs::ObjectId object) const;
  [[nodiscard]] bool is_intended(pnfs::ObjectId object) const;
  // By the objects' indices: servers that have not been told of the last one that was answered. Nobody knows
  // what their objects have behind the end of the file.
  [[nodiscard]] std::set<std::uint32_t> left_out(pnfs::ObjectId object) const;

  // What is left to a client of the epochs before: a convenience of its, which a crash may take away.
  struct Keeps {
    vfs::LeaseHolder holder;
    pnfs::KeptHandles handles;
  };
  // Of the one that is intended, by this process.
  [[nodiscard]] std::optional<Keeps> keeps(pnfs::ObjectId object) const;

  // On the medium on return. `left` of it are all objects; one that was left out before is cut to where it
  // should have been, if that is less, so that what comes back is zeros. After an error it is intended all
  // the same: the log may have it.
  vfs::VfsOp<> intend(TruncationRecord truncation, std::optional<Keeps> keeps);
  // Its objects are cut where they are not yet. delay: not all servers that may still serve have confirmed.
  // stale: an object is gone for ever.
  vfs::VfsOp<> cut(pnfs::ObjectId object);
  // After cut(), when the stub on the medium has size and epoch. On the medium on return, after which there
  // is nothing that a crash could repeat. delay: a server that had been left out is back.
  vfs::VfsOp<> answered(pnfs::ObjectId object);

  // What the server has to be told before it serves clients: all, or what it was left out of. After an error
  // it is to be told again. On the medium on return. One call for a server at a time.
  enum class What : std::uint8_t { all, left_out };
  vfs::VfsOp<> deliver(pnfs::ServerNumber server, What what);

  // The file is gone. Does not block; any thread.
  void forget(pnfs::ObjectId object);

  struct Known {
    pnfs::ObjectId object;
    vfs::FileHandle file;
  };
  // Files with one that is intended and not answered, at most `count`.
  [[nodiscard]] std::vector<Known> unanswered(std::size_t count) const;

 private:
  struct Entry {
    TruncationRecord record;
    std::optional<Keeps> keeps{};
    bool kept = false;     // in the log
    bool writing = false;  // what is to be true of it next is being added to the log
  };
  struct State {
    std::map<pnfs::ObjectId, Entry> entries;
    std::vector<TruncationDone> gone;  // of files that are gone: to be written with the next record
    RecordVersion last = 0;
  };
  // What a server is told.
  struct Delivery {
    pnfs::ObjectId object;
    std::uint32_t index = 0;
    std::uint64_t end = 0;
    pnfs::Epoch epoch;
    std::optional<pnfs::KeptHandles> kept{};
    std::uint64_t number = 0;
    bool answered = false;
  };
  Truncations(ObjectCalls& calls, const DataServers& servers, const Grants& grants)
      : calls_(calls), servers_(servers), grants_(grants) {}
  bool take(base::BytesView record);
  [[nodiscard]] std::vector<base::Bytes> snapshot() const;
  void count(const State& state) { any_.store(!state.entries.empty(), std::memory_order_release); }
  [[nodiscard]] bool any() const { return any_.load(std::memory_order_acquire); }
  template <class F>
  auto look(pnfs::ObjectId object, F f) const;
  [[nodiscard]] std::optional<pnfs::KeptHandles> handles_kept(pnfs::ObjectId object) const;
  template <class F>
  vfs::VfsOp<> put(pnfs::ObjectId object, F change);
  // The server has cut the object with that number. In memory.
  void confirmed(pnfs::ObjectId object, std::uint64_t number, std::uint32_t index);
  // It has had no contact for so long that it serves nobody.
  [[nodiscard]] bool is_barred(pnfs::ServerNumber server) const;
  [[nodiscard]] std::optional<std::vector<Delivery>> deliveries_to(pnfs::ServerNumber server,
                                                                   What what) const;
  vfs::VfsOp<> delivered(const Delivery& one);

  ObjectCalls& calls_;
  const DataServers& servers_;
  const Grants& grants_;
  std::atomic<bool> any_{false};  // entries; written with the lock held
  base::Guarded<State> state_;
  std::unique_ptr<Journal> journal_;
};

}  // namespace braid::pnfs_mds
