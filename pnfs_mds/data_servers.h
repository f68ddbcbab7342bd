// Which data servers the cluster has, and what is known of each. docs/format-pnfs-mds.md has the log.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/guarded.h"
#include "base/result.h"
#include "io/blocking_pool.h"
#include "pnfs/control.x.h"
#include "pnfs/keys.h"
#include "pnfs/layout_record.h"
#include "pnfs_mds/journal.h"
#include "pnfs_mds/turns.h"
#include "vfs/open_file.h"
#include "vfs/types.h"

namespace braid::pnfs_mds {

// As netaddr4 of RFC 8881 section 3.3.9.
struct Address {
  std::string netid;
  std::string uaddr;
  friend bool operator==(const Address&, const Address&) = default;
};

// What a server said in its last heartbeat.
struct ServerRoom {
  std::uint64_t bytes_total = 0, bytes_free = 0, bytes_available = 0;
  std::uint64_t objects_free = 0;
  // Servers with the same one have their room in common; zeros: nobody knows.
  std::array<std::byte, pnfs::FILE_SYSTEM_ID_BYTES> file_system{};
};

struct DataServerInfo {
  pnfs::ServerNumber number;
  pnfs::ServerId id{};
  std::string name;
  std::vector<Address> addresses;
  // Another one, and a larger one, after the server has restarted or changed its addresses. Kept.
  std::uint64_t generation = 0;
  bool in_contact = false;  // it has said something lately
  bool lost = false;        // it has said nothing for so long that nobody waits for it
  ServerRoom room;          // zeros before the first heartbeat
  std::uint32_t load = 0;   // calls under way
  vfs::Verifier verifier;   // of its writes
};

// What placement needs to know of a server.
struct ServerRoomLeft {
  pnfs::ServerNumber number;
  std::uint64_t bytes_available = 0;
};

// What a call needs to know of a server.
struct ServerStanding {
  std::uint64_t generation = 0;
  bool in_contact = false;
  bool lost = false;
  // It serves nobody: it has had no answer for so long. Soon after our start that is not the same as to have
  // no contact, for it may have had an answer of the run before.
  bool barred_itself = false;
};

struct Heartbeat {
  ServerRoom room;
  std::uint32_t load = 0;
  vfs::Verifier verifier;
};

// Thread-safe.
class DataServers {
 public:
  static constexpr std::size_t servers_max = 4096;

  struct Options {
    // Without a heartbeat for so long a server has no contact. The server counts from before, so it has
    // barred itself by then.
    base::Duration patience = std::chrono::seconds(50);
    // After so long, from the start at the earliest, it is lost.
    base::Duration lost = std::chrono::seconds(300);
  };
  // `directory` and `clock` outlive it. Errors as those of RecordLog::open(); EBADMSG,
  // too, for records that say what cannot be.
  static base::Result<std::unique_ptr<DataServers>> open(int directory, const base::Clock& clock,
                                                         const Options& options);
  // See Journal::use().
  void use(io::BlockingPool& pool) { journal_->use(pool); }

  // Sorted by their numbers, which start with 1.
  [[nodiscard]] std::vector<DataServerInfo> all() const;
  [[nodiscard]] std::optional<DataServerInfo> find(pnfs::ServerNumber number) const;
  // Those in contact, sorted as well.
  [[nodiscard]] std::vector<ServerRoomLeft> in_contact() const;
  // What there is to know of one, in short.
  [[nodiscard]] std::optional<ServerStanding> standing(pnfs::ServerNumber number) const;
  [[nodiscard]] std::optional<pnfs::ServerNumber> number_of(const pnfs::ServerId& id) const;
  // Zeros if nobody knows it yet.
  [[nodiscard]] vfs::Verifier verifier_of(pnfs::ServerNumber number) const;
  // Of the server that has that name.
  [[nodiscard]] std::optional<pnfs::ServerId> id_of(const std::string& name) const;

  // A server has said hello. A new one gets a number, which is on the medium on return. exist: another
  // server has its name. nospc: there are servers_max. delay, io: as Journal::append().
  vfs::VfsOp<pnfs::ServerNumber> admit(pnfs::ServerId id, std::string name, std::vector<Address> addresses);
  // It is alive. False: it had no contact until now. noent: it was never admitted.
  vfs::VfsOp<bool> heard(pnfs::ServerId id, Heartbeat heartbeat);
  // It was not answered, and has no contact after all.
  void unheard(pnfs::ServerId id);
  // The verifier that an answer of the server brought.
  void saw(pnfs::ServerNumber number, const vfs::Verifier& verifier);

 private:
  struct Known {
    DataServerInfo info;
    vfs::Verifier kept;  // the verifier that the log has: of a heartbeat, not of an answer
    std::optional<base::TimePoint> heard;
  };
  struct State {
    std::map<pnfs::ServerNumber, Known> table;
    std::optional<DataServerInfo> coming;  // what is being added to the log
  };

  DataServers(const base::Clock& clock, const Options& options)
      : clock_(clock), options_(options), opened_(clock.now()) {}
  // Of the log. False: it cannot be.
  bool take(const DataServerInfo& server);
  [[nodiscard]] std::vector<base::Bytes> snapshot() const;
  [[nodiscard]] ServerStanding standing_of(const Known& known, base::TimePoint now) const;
  [[nodiscard]] DataServerInfo info_of(const Known& known, base::TimePoint now) const;
  static Known* known_by(State& state, const pnfs::ServerId& id);
  vfs::VfsOp<> keep(DataServerInfo server);
  void log_return(const pnfs::ServerId& id, base::Duration silence) const;

  const base::Clock& clock_;
  const Options options_;
  const base::TimePoint opened_;
  base::Guarded<State> state_;
  Turns changing_;
  std::unique_ptr<Journal> journal_;
};

}  // namespace braid::pnfs_mds
