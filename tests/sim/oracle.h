// What clients may rely on, as they know it themselves, and the checkers that compare it.
//
// A claim begins when its grant reaches the client and ends when the client sends what gives it up. It is
// valid while the client's lease is, counted from when the client sent what renewed it: later than the server
// counts. So two claims that are valid at the same time must be compatible, whatever the network did.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "tests/sim/message.h"
#include "tests/sim/network.h"
#include "tests/sim/trace.h"

namespace braid::sim {

constexpr std::size_t lock_cells = 16;  // locks are on whole cells of one byte
enum class Cell : std::uint8_t { none, read, write };

// What one owner of one client has on one file; or the client's delegation, which has no owner.
struct Claim {
  std::uint32_t client = 0;
  std::uint32_t owner = 0;
  std::uint32_t file = 0;
  // Opens and locks.
  std::uint32_t access = 0;
  std::uint32_t deny = 0;
  std::array<Cell, lock_cells> cells{};
  // Delegations.
  bool delegation = false;
  bool write = false;
  std::optional<base::TimePoint> disputed;  // when somebody first sent what conflicts with it
  // All.
  std::uint32_t life = 0;  // of the server that granted it, or let it be reclaimed
  base::TimePoint since{};
  std::array<base::TimePoint, 2> denied_since{};  // reading, writing
  std::optional<base::TimePoint> until;           // the client has begun anew, and has not reclaimed this yet
  std::optional<base::TimePoint> overtaken;  // when it was seen to be somebody else's, its lease being over

  // How the client names it.
  stateid4 open_id{};
  std::optional<stateid4> lock_id;
  std::uint32_t lock_seqid = 0;
};

// A range of cells.
struct Cells {
  std::uint32_t first = 0;
  std::uint32_t count = 1;
};

class Oracle {
 public:
  Oracle(Scheduler& scheduler, Network& network, Trace& trace)
      : scheduler_(scheduler), network_(network), trace_(trace) {}

  // Ends the simulation, if it is the first violation.
  void violation(std::string_view checker, std::uint32_t client, std::optional<std::uint32_t> file,
                 const std::string& text);
  struct Violation {
    std::string checker;
    std::string text;
    std::uint32_t client = 0;
    std::optional<std::uint32_t> file;
  };
  [[nodiscard]] const std::optional<Violation>& found() const { return found_; }

  // --- Servers and leases.
  void born(std::uint32_t life);
  void died(std::uint32_t life);
  [[nodiscard]] std::uint32_t life() const { return life_; }
  [[nodiscard]] base::TimePoint born_at(std::uint32_t life) const { return lives_.at(life).born; }
  // Something that this client sent then has renewed its lease.
  void renewed(std::uint32_t client, base::TimePoint sent);
  [[nodiscard]] base::TimePoint lease_end(std::uint32_t client) const;
  [[nodiscard]] bool valid(const Claim& claim) const;
  // The client begins anew: what it has is to be reclaimed, and delegations are gone.
  void began_anew(std::uint32_t client);
  // RECLAIM_COMPLETE has been sent, in a session with this server.
  [[nodiscard]] bool grace_over() const;
  void completed(std::uint32_t client, std::uint32_t life) { completed_.insert({client, life}); }
  // The server keeps the client on record: RECLAIM_COMPLETE was answered, or it is a client of 4.0, which is
  // recorded before it gets anything.
  void recorded(std::uint32_t client, std::uint32_t life) { recorded_.insert({client, life}); }
  void known_as(clientid4 id, std::uint32_t client) { names_[id] = client; }

  // --- Claims. References stay valid until the claim is dropped.
  Claim* find(std::uint32_t client, std::uint32_t owner, std::uint32_t file);
  Claim* find_delegation(std::uint32_t client, std::uint32_t file);
  [[nodiscard]] std::vector<Claim*> all_of(std::uint32_t client);
  void drop(const Claim& claim);
  void drop_all(std::uint32_t client);

  Claim& opened(std::uint32_t client, std::uint32_t owner, std::uint32_t file, std::uint32_t access,
                std::uint32_t deny, std::uint32_t life);
  void reclaimed(Claim& claim, std::uint32_t life, base::TimePoint sent);
  // A 4.0 client sent an OPEN to the server's lives from `first` on, and `answered` was the one that
  // answered: the others may have put the client on record. NFSv4.0 has no RECLAIM_COMPLETE, so the client
  // may then reclaim all that it ever held (RFC 7530 9.6.3.4).
  void perhaps_on_record(std::uint32_t client, std::uint32_t first, std::uint32_t answered);
  // `until`: when what was to be reclaimed was to run out.
  void reclaim_refused(const Claim& claim, base::TimePoint until, std::uint32_t life, nfsstat4 status);
  static void weaken(Claim& claim, Cells cells, Cell to);
  void locked(Claim& claim, Cells cells, Cell to);
  // Given in answer to what was sent then, perhaps long before the client hears of it.
  Claim& delegated(std::uint32_t client, std::uint32_t file, bool write, std::uint32_t life,
                   base::TimePoint sent);

  // --- Single events.
  // The client sends an OPEN, a WRITE or the like.
  void dispute(std::uint32_t client, std::uint32_t file, bool writes);
  // A READ or WRITE without state was done, sent then.
  void done_without_state(std::uint32_t client, std::uint32_t file, bool write, base::TimePoint sent);
  // The server has done something with this state, asked for then.
  void used(const Claim& claim, base::TimePoint sent);
  // The server says that the state is not there. Drops the claim.
  void lost(const Claim& claim, std::uint32_t life, nfsstat4 status);
  // The server says that it has taken this delegation back. Drops the claim.
  void revoked(const Claim& claim, std::uint32_t life);
  // The server does not know the client any more, at a time when its lease was to end at `lease_end`.
  void client_lost(std::uint32_t client, std::uint32_t life, base::TimePoint lease_end, nfsstat4 status);
  void open_refused(std::uint32_t client, std::uint32_t file, base::TimePoint sent);
  void lock_refused(std::uint32_t client, std::uint32_t file, std::string_view holder, base::TimePoint sent);
  // New state was granted.
  void granted_new(std::uint32_t client, std::uint32_t file, std::uint32_t life);

 private:
  struct Life {
    base::TimePoint born{};
    std::optional<base::TimePoint> died;
  };
  [[nodiscard]] bool silent_since(std::uint32_t client, base::TimePoint when) const;
  [[nodiscard]] bool grace_ended_between(std::uint32_t from, std::uint32_t to) const;
  [[nodiscard]] bool on_record_between(const Claim& claim, std::uint32_t to) const;
  [[nodiscard]] bool off_record(const Claim& claim) const;
  void compare(const Claim& fresh);
  static std::string text_of(const Claim& claim);

  Scheduler& scheduler_;
  Network& network_;
  Trace& trace_;
  std::optional<Violation> found_;
  std::uint32_t life_ = 0;
  std::map<std::uint32_t, Life> lives_;
  std::map<std::uint32_t, base::TimePoint> lease_end_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> completed_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> recorded_;
  std::map<clientid4, std::uint32_t> names_;
  // Clients, and lives of the server that gave them state, or may have.
  std::set<std::pair<std::uint32_t, std::uint32_t>> on_record_;
  struct Dispute {
    std::optional<base::TimePoint> reads;
    std::optional<base::TimePoint> writes;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Dispute> disputes_;  // the last ones, by file and client
  std::list<Claim> claims_;
};

}  // namespace braid::sim
