// The records of clients in the files of a directory. Their format: docs/format-recovery.md.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/siphash.h"
#include "base/unique_fd.h"
#include "nfs4/recovery/client_records.h"
#include "nfs4/state/clients/grace.h"
#include "vfs/types.h"

namespace braid::nfs4::recovery {

// Thread-safe.
class ClientStore final : public ClientRecords {
 public:
  // Opens or makes the directory, whose parent exists, and begins a new epoch. EBUSY: another server uses it.
  // EBADMSG: its files are damaged, or of a version that this one does not know.
  static base::Result<std::unique_ptr<ClientStore>> open(const std::string& directory);
  // The process whose lock is on that directory, as far as the system tells.
  static std::optional<int> user_of(const std::string& directory);
  ClientStore(const ClientStore&) = delete;
  ClientStore& operator=(const ClientStore&) = delete;

  // One more than that of the run before.
  [[nodiscard]] std::uint32_t epoch() const override { return epochs_.epoch; }
  // Of this directory.
  [[nodiscard]] std::string server_id() const override;
  [[nodiscard]] const std::vector<state::KnownClient>& known() const override { return known_; }
  // Records that open() could not read: their clients cannot reclaim.
  [[nodiscard]] std::size_t damaged() const { return damaged_; }

  [[nodiscard]] const std::optional<vfs::Time>& watched_until() const override { return watched_until_; }
  base::Result<void> note_watching() override;
  base::Result<void> apply(std::span<const RecordChange> changes) override;
  base::Result<void> note_held(std::span<const state::KnownClient> clients) override;
  base::Result<void> end_grace() override;

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
  // What the run before has noted at its end.
  void load_held();
  base::Result<void> write_epochs(const Epochs& epochs);
  // Of what is applied together, the last one of each file that is to be done.
  using Group = std::map<std::string, const RecordChange*>;
  [[nodiscard]] Group group_of(std::span<const RecordChange> changes) const;
  base::Result<void> write_group(const Group& group);
  // The content, under a name of its own; not synced.
  base::Result<base::UniqueFd> write_fresh(const std::string& name, base::BytesView content) const;
  base::Result<void> put_fresh_in_place(const std::string& name) const;
  [[nodiscard]] base::Bytes content_of(const RecordChange& change) const;
  // Atomic and synced.
  base::Result<void> replace_file(const std::string& name, base::BytesView content);
  base::Result<void> remove_file(const std::string& name);
  [[nodiscard]] std::string file_of(const state::KnownClient& client) const;

  // The two hashes in the name of a client's file.
  using NameHashes = std::array<std::uint64_t, 2>;
  [[nodiscard]] NameHashes hashes_of(const state::KnownClient& client) const;

  base::UniqueFd directory_;
  base::UniqueFd lock_;
  std::optional<vfs::Time> watched_until_;
  std::vector<state::KnownClient> known_;
  std::size_t damaged_ = 0;
  std::mutex mutex_;                              // of everything below, and of the files
  Epochs epochs_;                                 // its epoch does not change after open()
  std::map<std::string, std::uint64_t> current_;  // instance by file name, of this epoch
  std::vector<std::string> earlier_;              // file names of earlier epochs
  std::map<NameHashes, state::Held> held_;        // of open()
};

}  // namespace braid::nfs4::recovery
