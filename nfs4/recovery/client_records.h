// What a server must know about its clients after a restart (RFC 8881 8.4.2.1, 8.4.3): who held state, so
// that nobody else gets it during the grace period and nobody reclaims what has meanwhile been given away.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "nfs4/state/clients/grace.h"
#include "vfs/types.h"

namespace braid::nfs4::recovery {

// What is to be remembered of a client from now on.
struct RecordChange {
  enum class What : std::uint8_t {
    // It may reclaim after the next restart.
    record,
    // It may not: it has gone, or its state is about to be given to others. Nothing happens if the record is
    // that of another instance.
    forget,
  } what = What::record;
  state::KnownClient client;
  // Its clientid4; a later one of the same name takes the record over.
  std::uint64_t instance = 0;
};

// Thread-safe; every function that can fail may block on the disk: for threads of the blocking pool, and for
// start-up. What has returned without error is on stable storage.
class ClientRecords {
 public:
  virtual ~ClientRecords() = default;

  // Of this run; another one than any run's before, never 0.
  [[nodiscard]] virtual std::uint32_t epoch() const = 0;
  // The same in every run, and no other server's.
  [[nodiscard]] virtual std::string server_id() const = 0;
  // Clients that may reclaim, as they were found at the start.
  [[nodiscard]] virtual const std::vector<state::KnownClient>& known() const = 0;

  // Until when the runs before this one are known to have watched over delegated files, by the clock that the
  // file system goes by; nothing: not known. What changed later may have changed unseen.
  [[nodiscard]] virtual const std::optional<vfs::Time>& watched_until() const = 0;
  // Until now, at least. Not synced: after a crash of the machine it may be an earlier time.
  virtual base::Result<void> note_watching() = 0;

  // In this order, and synced together. After an error each of them may have happened, or not.
  virtual base::Result<void> apply(std::span<const RecordChange> changes) = 0;
  // At the end of the run, when nobody gets or gives back anything any more: what these clients hold. The
  // next run knows it, and no later one.
  virtual base::Result<void> note_held(std::span<const state::KnownClient> clients) = 0;
  // Clients that have not been recorded in this epoch may not reclaim any more. Must have returned before
  // anything is granted that they might reclaim.
  virtual base::Result<void> end_grace() = 0;
};

// Of a server whose clients hold nothing that outlives it, such as a data server.
class NoRecords final : public ClientRecords {
 public:
  NoRecords(std::uint32_t epoch, std::string server_id) : epoch_(epoch), server_id_(std::move(server_id)) {}

  [[nodiscard]] std::uint32_t epoch() const override { return epoch_; }
  [[nodiscard]] std::string server_id() const override { return server_id_; }
  [[nodiscard]] const std::vector<state::KnownClient>& known() const override { return known_; }
  [[nodiscard]] const std::optional<vfs::Time>& watched_until() const override { return watched_until_; }
  base::Result<void> note_watching() override { return {}; }
  base::Result<void> apply(std::span<const RecordChange> /*changes*/) override { return {}; }
  base::Result<void> note_held(std::span<const state::KnownClient> /*clients*/) override { return {}; }
  base::Result<void> end_grace() override { return {}; }

 private:
  const std::uint32_t epoch_;
  const std::string server_id_;
  const std::vector<state::KnownClient> known_;
  const std::optional<vfs::Time> watched_until_;
};

}  // namespace braid::nfs4::recovery
