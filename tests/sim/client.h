// A model client: what a well-behaved NFSv4.0 or 4.1 client does, from its connection up to recovery, and
// one that behaves badly now and then.
#pragma once

#include <array>
#include <coroutine>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/gate.h"
#include "io/op.h"
#include "tests/sim/door.h"
#include "tests/sim/message.h"
#include "tests/sim/network.h"
#include "tests/sim/oracle.h"
#include "tests/sim/plant.h"
#include "tests/sim/random.h"
#include "tests/sim/trace.h"
#include "vfs/memory/storage.h"

namespace braid::sim {

// What all parts of one simulation share.
struct World {
  Scheduler& scheduler;
  Network& network;
  vfs::memory::Storage& storage;
  const Changes& changes;
  Oracle& oracle;
  Trace& trace;
  Plant plant = Plant::none;
  // Of OPENs: those for reading alone, and those that deny something.
  std::uint64_t read_percent = 33;
  std::uint64_t deny_percent = 30;
  std::vector<std::uint64_t> files{};  // ids in storage; named f0, f1, ...
};

struct ClientTraits {
  std::uint32_t index = 0;
  std::uint32_t minor_version = 0;
  std::uint32_t owners = 1;
  bool returns_delegations = true;
};

// Why a coroutine of a client ends: the client has crashed.
enum class Ended : std::uint8_t { crashed };
template <class T = void>
using ClientOp = io::Op<T, Ended>;

// One COMPOUND, sent as often as it took.
struct Outcome {
  Outcome(Response its_response, base::TimePoint when) : response(std::move(its_response)), sent(when) {}
  Response response;           // stands behind SEQUENCE
  base::TimePoint sent;        // first
  base::TimePoint lease;       // when the client's lease was to end at that time
  std::uint32_t life = 0;      // of the server that answered
  std::uint32_t instance = 0;  // of the client, when it was sent
  // Nobody knows whether it was executed, and the client may have begun anew since.
  bool lost = false;
  // Every time it was sent, it was to one server.
  bool one_life = false;
  std::uint32_t first_life = 0;  // of a 4.0 call: the life of the server that it was sent to first
};

// One incarnation, from boot to crash. start() once, crash() once; destroyed when ended().
class Client final : private WireUser {
 public:
  Client(World& world, const ClientTraits& traits, std::uint32_t incarnation, const Random& random);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void start();
  void crash();
  [[nodiscard]] bool ended() const { return gate_.count() == 0; }
  // Does nothing of its own accord until then.
  void fall_silent(base::TimePoint until) { silent_until_ = std::max(silent_until_, until); }
  [[nodiscard]] const ClientTraits& traits() const { return traits_; }

 private:
  // --- client.cc: calls.
  struct Call {
    base::Bytes message;
    std::optional<base::Bytes> reply;
    std::uint32_t life = 0;
    std::coroutine_handle<> waiter;
  };
  struct Answered {
    base::Bytes reply;
    std::uint32_t life = 0;
  };
  struct Turn;  // waits for a call's reply

  void on_message(const WireRef& wire, base::Bytes message) override;
  void on_closed(const WireRef& wire) override;
  void connect_again();
  void repeated(std::uint32_t xid, const base::Bytes& reply, std::uint32_t life);
  ClientOp<> pause(base::Duration wait);
  ClientOp<> pause_between(base::Duration low, base::Duration high);
  // Until the client is not silent and has state to work with.
  ClientOp<> until_ready();
  struct Exchanged {
    base::Bytes reply;
    base::TimePoint sent;
    std::uint32_t life = 0;
    bool one_life = false;
    std::uint32_t first_life = 0;  // of the server that it was sent to first
  };
  // `once`: the reply is kept by the server, so that a repetition brings the same one.
  ClientOp<Exchanged> exchange(Request request, bool once);
  // With sessions, SEQUENCE is put in front, and taken off the response.
  ClientOp<Outcome> run(Request body, bool once);
  ClientOp<Outcome> run_in_session(const Request& body, bool once);
  ClientOp<std::uint32_t> take_slot();
  // RFC 8881 2.10.6.4
  void check_length(const base::Bytes& reply, bool kept);

  // --- recovery.cc: the client and its lease.
  ClientOp<> keep_alive();
  ClientOp<> recover();
  ClientOp<> renew();
  ClientOp<> set_client_id();
  ClientOp<> exchange_id();
  ClientOp<> create_session();
  ClientOp<> reclaim_all();
  ClientOp<> reclaim(std::uint32_t owner, std::uint32_t file);
  ClientOp<> reclaim_locks(std::uint32_t owner, std::uint32_t file, std::array<Cell, lock_cells> cells,
                           base::TimePoint until);
  ClientOp<> bind_back_channel();
  ClientOp<> look_after_delegations();
  void begin_anew(clientid4 id);
  // The server does not know the client or its session any more.
  void disowned(const Outcome& outcome, nfsstat4 status);

  // --- workload.cc: what an owner does.
  ClientOp<> work(std::uint32_t owner);
  ClientOp<> one_operation(std::uint32_t owner);
  ClientOp<> open(std::uint32_t owner, std::uint32_t file);
  ClientOp<bool> confirm(std::uint32_t owner, std::uint32_t file, stateid4& id);
  ClientOp<> downgrade(std::uint32_t owner, std::uint32_t file);
  ClientOp<> close(std::uint32_t owner, std::uint32_t file);
  ClientOp<> lock(std::uint32_t owner, std::uint32_t file);
  ClientOp<> unlock(std::uint32_t owner, std::uint32_t file);
  ClientOp<> read_or_write(std::uint32_t owner, std::uint32_t file);
  ClientOp<> names(std::uint32_t owner);
  // Many results, often more than a reply may hold.
  ClientOp<> long_reply();
  // Something that must not be done twice, and answers `twice` if it is. False: it failed, or who knows.
  ClientOp<bool> name_operation(Request request, std::string change, nfsstat4 twice);
  ClientOp<> reclaim_wrongly(std::uint32_t owner, std::uint32_t file);
  ClientOp<> return_delegation(stateid4 id, base::Duration wait);
  void take_delegation(const open_delegation4& given, std::uint32_t file, const Outcome& outcome);
  void take_open(const Outcome& outcome, const OPEN4resok& given, std::uint32_t owner, std::uint32_t file,
                 std::uint32_t access, std::uint32_t deny);

  // --- arguments.cc: requests and what failures mean.
  [[nodiscard]] Request at_file(std::uint32_t file) const;
  [[nodiscard]] Request open_request(std::uint32_t owner, std::uint32_t file, std::uint32_t access,
                                     std::uint32_t deny, bool reclaim) const;
  [[nodiscard]] Request lock_request(const Claim& claim, Cells cells, Cell type, bool reclaim);
  // Whether the outcome is about state that the client still has. Judges statuses that say otherwise; the
  // claim may be dropped then.
  bool still_ours(const Outcome& outcome, nfsstat4 status, std::uint32_t owner, std::uint32_t file);
  // What a LOCK brought, and what follows for the claim.
  void take_lock(Outcome& outcome, nfsstat4 status, Claim& claim, Cells cells, Cell type);
  // The seqid of a 4.0 owner's next operation, and what the result means for it.
  [[nodiscard]] std::uint32_t seqid(std::uint32_t owner) const { return owner_seqids_.at(owner); }
  void count_seqid(std::uint32_t owner, nfsstat4 status);
  // RFC 7530 9.1.7: whether a result with this status takes part in the owner's sequence.
  static bool counts(nfsstat4 status);
  [[nodiscard]] std::string owner_name(std::uint32_t owner, bool locks) const;

  World& world_;
  const ClientTraits traits_;
  const std::uint32_t incarnation_;
  const std::string name_;
  const verifier4 verifier_;
  Random random_;
  bool crashed_ = false;
  base::TimePoint silent_until_{};

  WireRef wire_;
  bool connecting_ = false;
  std::uint32_t last_xid_;
  std::map<std::uint32_t, Call*> calls_;
  std::map<std::uint32_t, Answered> answered_;  // those to be kept by the server
  std::uint64_t ended_calls_ = 0;

  // Counts how often the client began anew; what was asked before is no state of its own any more.
  std::uint32_t instance_ = 0;
  std::uint32_t recovered_instance_ = 0;  // has reclaimed what there was
  bool ready_ = false;
  bool disowned_ = false;            // since the last session or client id
  clientid4 id_ = 0;                 // 0: to be asked for
  clientid4 known_id_ = 0;           // the one confirmed last, with sessions
  std::uint32_t known_in_life_ = 0;  // where id_ was confirmed
  // Sessions.
  std::uint32_t session_sequence_ = 0;
  sessionid4 session_{};
  channel_attrs4 fore_;
  struct Slot {
    std::uint32_t sequence = 1;
    bool busy = false;
  };
  std::array<Slot, 4> slots_{};
  // As SEQUENCE said.
  bool revoked_seen_ = false;
  bool back_channel_down_ = false;
  // 4.0
  std::map<std::uint32_t, std::uint32_t> owner_seqids_;

  std::uint64_t names_made_ = 0;
  std::uint64_t lock_owners_made_ = 0;
  io::Gate gate_;
};

}  // namespace braid::sim
