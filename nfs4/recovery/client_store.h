// What the server must know about its clients after a restart (RFC 8881 8.4.2.1, 8.4.3): who held state, so
// that nobody else gets it during the grace period and nobody reclaims what has meanwhile been given away.
// The format of the files: docs/format-recovery.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/siphash.h"
#include "base/unique_fd.h"
#include "nfs4/state/grace.h"
#include "vfs/types.h"

namespace braid::nfs4::recovery {

// Thread-safe; every function blocks on the disk: for threads of the blocking pool, and for start-up. What
// has returned without error is on stable storage.
class ClientStore {
 public:
  // Opens or makes the directory, whose parent exists, and begins a new epoch. EBUSY: another server uses it.
  // EBADMSG: its files are damaged, or of a version that this one does not know.
  static base::Result<std::unique_ptr<ClientStore>> open(const std::string& directory);
  // The process whose lock is on that directory, as far as the system tells.
  static std::optional<int> user_of(const std::string& directory);
  ClientStore(const ClientStore&) = delete;
  ClientStore& operator=(const ClientStore&) = delete;

  // Of this run; one more than the run before, never 0.
  [[nodiscard]] std::uint32_t epoch() const { return epochs_.epoch; }
  // Of this directory: the same in every run, and no other one's.
  [[nodiscard]] std::string server_id() const;
  // Clients that may reclaim, as found by open().
  [[nodiscard]] const std::vector<state::KnownClient>& known() const { return known_; }
  // Records that open() could not read: their clients cannot reclaim.
  [[nodiscard]] std::size_t damaged() const { return damaged_; }

  // Until when the runs before this one are known to have watched over delegated files, by the clock that the
  // file system goes by; nothing: not known. What changed later may have changed unseen.
  [[nodiscard]] const std::optional<vfs::Time>& watched_until() const { return watched_until_; }
  // Until now, at least. Not synced: after a crash of the machine it may be an earlier time.
  base::Result<void> note_watching();

  // The client may reclaim after the next restart. `instance`: its clientid4; a later one of the same name
  // takes the record over.
  base::Result<void> record(const state::KnownClient& client, std::uint64_t instance);
  // It may not: it has gone, or its state is about to be given to others. Does nothing if the record is that
  // of another instance.
  base::Result<void> forget(const state::KnownClient& client, std::uint64_t instance);
  // Clients that have not been recorded in this epoch may not reclaim any more. Must have returned before
  // anything is granted that they might reclaim.
  base::Result<void> end_grace();

 private:
  struct Epochs {
    std::uint32_t epoch = 0;
    std::uint32_t reclaim_from = 0;  // records of this epoch and later ones count
    base::SipKey key{};              // of the names of files
  };

  ClientStore() = default;
  base::Result<void> begin_epoch();
  base::Result<void> load_records();
  void load_record(const std::string& name);
  base::Result<void> write_epochs(const Epochs& epochs);
  // Atomic and synced.
  base::Result<void> replace_file(const std::string& name, base::BytesView content);
  base::Result<void> remove_file(const std::string& name);
  [[nodiscard]] std::string file_of(const state::KnownClient& client) const;

  base::UniqueFd directory_;
  base::UniqueFd lock_;
  std::optional<vfs::Time> watched_until_;
  std::vector<state::KnownClient> known_;
  std::size_t damaged_ = 0;
  std::mutex mutex_;                              // of everything below, and of the files
  Epochs epochs_;                                 // its epoch does not change after open()
  std::map<std::string, std::uint64_t> current_;  // instance by file name, of this epoch
  std::vector<std::string> earlier_;              // file names of earlier epochs
};

}  // namespace braid::nfs4::recovery
