// The clients of a server and the rules by which they come, are confirmed, renewed, replaced and go:
// RFC 8881 18.35 to 18.37, 18.50 (4.1 and later), RFC 7530 16.33 and 16.34 (4.0).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/siphash.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/state/clients/client.h"
#include "nfs4/state/clients/client_ids.h"
#include "nfs4/state/clients/peers.h"
#include "nfs4/state/clients/session.h"

namespace braid::nfs4::state {

struct ClientOptions {
  base::Duration lease = std::chrono::seconds(90);
  // A silent client keeps its state so long after its lease, unless somebody minds.
  base::Duration courtesy = std::chrono::hours(24);
  // Confirmed. Who has let its lease run out makes room, the longest silent one first; then who holds
  // nothing.
  std::size_t clients_max = 10'000;
  std::size_t unconfirmed_max = 1'000;            // the oldest one of the peer with the most makes room
  std::size_t sessions_per_client = 64;           // NFS4ERR_NOSPC
  std::size_t sessions_max = 20'000;              // of all clients: NFS4ERR_DELAY
  std::size_t reply_bytes_max = 256 * base::MiB;  // that all reply caches together may take
  // What we grant at most. The Linux client refuses a back channel whose responses we want smaller than it
  // offers. `cached_bytes_max` times `slots` bounds a session's reply cache.
  ChannelAttributes fore{.request_bytes_max = base::MiB + 64 * base::KiB,
                         .response_bytes_max = base::MiB + 64 * base::KiB,
                         .cached_bytes_max = 8 * base::KiB,
                         .operations_max = 64,
                         .slots = 128};
  ChannelAttributes back{.request_bytes_max = 8 * base::KiB,
                         .response_bytes_max = base::MiB,
                         .cached_bytes_max = 0,
                         .operations_max = 2,
                         .slots = 16};
};

// Why a confirmed client is gone.
enum class ExpiryReason : std::uint8_t {
  left,       // DESTROY_CLIENTID
  replaced,   // it has come back under the same name: it holds the name, and the record
  expired,    // its lease ran out while it held nothing, or its courtesy did
  displaced,  // its lease ran out, or it held nothing, and somebody wanted what it held, or its place
  evicted,    // by an administrator
};
constexpr std::size_t expiry_reasons = 5;
std::string_view name_of(ExpiryReason reason);

struct ExchangeIdOutcome {
  clientid4 client = 0;
  std::uint32_t sequence = 0;  // eir_sequenceid
  bool confirmed = false;      // EXCHGID4_FLAG_CONFIRMED_R
  std::optional<MachineOperations> machine;
};

struct CreateSessionRequest {
  clientid4 client = 0;
  std::uint32_t sequence = 0;
  std::uint32_t flags = 0;  // CREATE_SESSION4_FLAG_*
  ChannelAttributes fore;
  ChannelAttributes back;
  CallbackParameters callback;
  Principal principal;
  PeerBytes address{};
  BackConnection connection;  // that it came by
};

struct CreateSessionOutcome {
  SessionId session{};
  std::uint32_t sequence = 0;
  std::uint32_t flags = 0;
  ChannelAttributes fore;
  ChannelAttributes back;
};

struct SetClientIdOutcome {
  clientid4 client = 0;
  Verifier confirm{};
};
// NFS4ERR_CLID_INUSE says who uses it.
struct SetClientIdFailure {
  nfsstat4 status = nfsstat4::NFS4_OK;
  std::string netid;
  std::string address;
};

// For people: bytes that are no printable ASCII as \xHH.
std::string printable(base::BytesView bytes);

// A line of `braid clients`.
struct ClientReport {
  clientid4 client = 0;
  std::uint32_t minor_version = 0;
  std::string owner;  // printable(), as the implementation
  std::string peer;
  std::string implementation;
  base::Duration age{};
  base::Duration silent{};
  bool confirmed = false;
  bool courtesy = false;
  bool callbacks = false;  // there is a way to call it
  bool recorded = false;   // it may reclaim after a restart
  std::size_t sessions = 0;
};

// A line of `braid sessions`.
struct SessionReport {
  SessionId session{};
  clientid4 client = 0;
  std::string peer;
  std::uint32_t minor_version = 0;
  base::TimePoint created{};
  ChannelAttributes fore;
  ChannelAttributes back;
  SlotStats slots;
  std::size_t back_connections = 0;  // that live
};

// Not thread-safe: Clients guards it. No function takes longer than the number of clients it removes.
class ClientTable {
 public:
  // `epoch` differs from run to run. `key`: unpredictable. `may_reclaim`: such a client keeps its place
  // although it holds nothing (yet); none: nobody may.
  ClientTable(const ClientOptions& options, std::uint32_t epoch, const base::SipKey& key,
              std::function<bool(clientid4)> holds_state,
              std::function<bool(const Client&)> may_reclaim = {});

  // RFC 8881 18.35.5. With `update`: EXCHGID4_FLAG_UPD_CONFIRMED_REC_A. Errors: CLID_INUSE, NOENT, NOT_SAME,
  // PERM.
  base::Result<ExchangeIdOutcome, nfsstat4> exchange_id(Introduction introduction, bool update,
                                                        base::TimePoint now);
  // RFC 8881 18.36.4. Errors: STALE_CLIENTID, SEQ_MISORDERED, CLID_INUSE, TOOSMALL, INVAL, NOSPC, DELAY,
  // WRONG_CRED. CLID_INUSE: somebody else has introduced the client, or sent the request that this repeats.
  base::Result<CreateSessionOutcome, nfsstat4> create_session(const CreateSessionRequest& request,
                                                              base::TimePoint now);
  // RFC 8881 18.37. `own`: requests of this session that the caller runs itself. Errors: BADSESSION; DELAY
  // while other requests run.
  base::Result<void, nfsstat4> destroy_session(const SessionId& id, std::uint32_t own);
  // RFC 8881 18.50. Errors: STALE_CLIENTID; CLIENTID_BUSY while there are sessions or state.
  base::Result<ClientRef, nfsstat4> destroy_client(clientid4 id);

  // RFC 7530 16.33.5 and 16.34.5.
  base::Result<SetClientIdOutcome, SetClientIdFailure> set_client_id(Introduction introduction,
                                                                     const CallbackAddress& callback,
                                                                     base::TimePoint now);
  // Errors: STALE_CLIENTID, CLID_INUSE, DELAY.
  base::Result<ClientRef, nfsstat4> confirm_client_id(clientid4 id, const Verifier& confirm,
                                                      const Principal& who, base::TimePoint now);

  // The confirmed client that a request of this minor version names. STALE_CLIENTID: of another run, never
  // known, not confirmed, or of the other kind. EXPIRED: gone.
  [[nodiscard]] base::Result<ClientRef, nfsstat4> find(clientid4 id, std::uint32_t minor_version) const;
  // The same for the server's own use, of any kind. Null: there is none now.
  [[nodiscard]] ClientRef find_any(clientid4 id) const;
  // Null: no such session.
  [[nodiscard]] SessionRef find_session(const SessionId& id) const;
  // A session of the client with a back channel that works, or else one that calls can go over all the same;
  // null if there is none.
  [[nodiscard]] SessionRef back_channel_of(clientid4 id) const;
  // SEQ4_STATUS_CB_PATH_DOWN: the client wants to be called back, and by none of its sessions can.
  [[nodiscard]] bool callbacks_lost(clientid4 id) const;
  // 4.0 only; nothing if the client gave no program.
  [[nodiscard]] std::optional<CallbackAddress> callback_of(clientid4 id) const;

  // Once a second. While reply caches are nearly used up, asks sessions for as many slots as would be a fair
  // share (sr_target_highest_slotid, RFC 8881 2.10.6.1). Removes unconfirmed clients that are a lease old,
  // clients without state whose lease has run out, and those whose courtesy has. True: there are more of
  // them, and it is to be called again.
  bool sweep(base::TimePoint now);
  // Removes one client whatever it holds. False: there is none.
  bool remove(clientid4 id, ExpiryReason why);
  // Of the clients whose lease has run out, whom to evict when memory is short. Null: there is none.
  [[nodiscard]] ClientRef longest_silent(base::TimePoint now) const;
  // How many clients and sessions were refused because there are as many as there may be, or as their peer
  // may have.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  // Confirmed clients removed since the last call.
  struct Gone {
    ClientRef client;
    ExpiryReason why = ExpiryReason::left;
  };
  [[nodiscard]] std::vector<Gone> take_gone() { return std::exchange(gone_, {}); }
  // Clients confirmed since the last call.
  [[nodiscard]] std::vector<ClientRef> take_arrived() { return std::exchange(arrived_, {}); }
  // Clients whose lease ran out while they held state, and those of them that came back, since the last call;
  // as sweep() noticed it.
  struct Silence {
    ClientRef client;
    bool over = false;
  };
  [[nodiscard]] std::vector<Silence> take_silences() { return std::exchange(silences_, {}); }
  // Clients of 4.0 on record that sweep() found without state again and again, for a lease time, since the
  // last call.
  [[nodiscard]] std::vector<ClientRef> take_idle() { return std::exchange(idle_, {}); }
  // Sessions with more slots than sweep() now wants them to use, since the last call: a client that sends
  // nothing hears of it by CB_RECALL_SLOT only.
  [[nodiscard]] std::vector<SessionRef> take_shrinking() { return std::exchange(shrinking_, {}); }

  // The clients whose ids follow `after`, in their order, at most `lines_max`.
  [[nodiscard]] std::vector<ClientReport> report(base::TimePoint now, clientid4 after,
                                                 std::size_t lines_max) const;
  // The same of sessions; they are ordered by their clients.
  [[nodiscard]] std::vector<SessionReport> report_sessions(const SessionId& after,
                                                           std::size_t lines_max) const;
  // Of 4.0, all of them.
  [[nodiscard]] std::vector<ClientRef> confirmed_40() const;
  [[nodiscard]] std::size_t confirmed_count() const { return confirmed_.size(); }
  [[nodiscard]] std::size_t silent_count() const { return silent_count_; }
  [[nodiscard]] std::size_t session_count() const { return sessions_.size(); }
  [[nodiscard]] const ClientOptions& options() const { return options_; }

 private:
  // Clients that are looked at before a newcomer is refused.
  static constexpr int looks_max = 1024;
  static constexpr std::size_t swept_at_once = 256;
  // The owner's name, kept apart for 4.0 and the others: their rules for one name do not mix.
  using Name = std::pair<bool, base::Bytes>;

  struct Record {
    explicit Record(ClientRef ref) : client(std::move(ref)) {}
    ClientRef client;
    std::uint64_t arrival = 0;    // of an unconfirmed one: its key in unconfirmed_peers_
    base::TimePoint looked_at{};  // of a confirmed one: its key in confirmed_peers_
    std::vector<SessionRef> sessions;
    bool silent = false;  // lease over, and state kept all the same
    // 4.0: when it is looked at again whether it holds nothing, and since when it does.
    base::TimePoint idle_look{};
    std::optional<base::TimePoint> idle_since;
    // CREATE_SESSION's slot (RFC 8881 18.36.4): the sequence id last used, and what was answered to it.
    std::uint32_t sequence = 0;
    std::optional<base::Result<CreateSessionOutcome, nfsstat4>> answered;
    Principal asker;  // who was answered so
    PeerBytes asker_address{};
    // 4.0: where to call, and what confirms that.
    CallbackAddress callback;
    Verifier confirm{};
    // 4.0, of a confirmed client: a change of callback that is not yet confirmed (RFC 7530 16.33.5).
    struct Update {
      CallbackAddress callback;
      Verifier confirm{};
    };
    std::optional<Update> update;
  };

  Record& add_unconfirmed(Introduction introduction, base::TimePoint now);
  [[nodiscard]] Record* by_name(const std::map<Name, clientid4>& names, const Introduction& who);
  static Name name_of(const Introduction& who) { return {who.minor_version > 0, who.owner}; }
  [[nodiscard]] Record* by_id(clientid4 id);
  [[nodiscard]] const Record* by_id(clientid4 id) const;
  // The record takes the place of a confirmed one with its name. CLID_INUSE, DELAY.
  base::Result<void, nfsstat4> confirm(Record& record, const Principal& who, base::TimePoint now);
  // Who goes when there is no room (client_room.cc). DELAY.
  base::Result<void, nfsstat4> make_room(const rpc::PeerKey& peer, base::TimePoint now);
  void make_room_for_unconfirmed(const rpc::PeerKey& peer);
  [[nodiscard]] bool needed(const Record& record, base::TimePoint now) const;
  [[nodiscard]] std::optional<clientid4> dispensable(const rpc::PeerKey& peer, base::TimePoint now,
                                                     int& looks);
  [[nodiscard]] std::optional<clientid4> dispensable_of_all(const rpc::PeerKey& own, base::TimePoint now,
                                                            int& looks);
  // Whether this may be the client that the record is of: only it may count the sequence up, and learn what
  // was answered.
  [[nodiscard]] static bool may_ask(const Record& record, const CreateSessionRequest& request);
  base::Result<CreateSessionOutcome, nfsstat4> confirm_and_make_session(Record& record,
                                                                        const CreateSessionRequest& request,
                                                                        const SessionOptions& options,
                                                                        base::TimePoint now);
  base::Result<CreateSessionOutcome, nfsstat4> make_session(Record& record,
                                                            const CreateSessionRequest& request,
                                                            const SessionOptions& options);
  [[nodiscard]] base::Result<SessionOptions, nfsstat4> negotiate(const CreateSessionRequest& request);
  void drop(clientid4 id, ExpiryReason why);
  bool swept(const std::vector<clientid4>& due);
  // `looks`: how many more of them this sweep() may look at.
  void note_idle(Record& record, base::TimePoint now, std::size_t& looks);
  void note_silence(Record& record, bool silent);
  void close_session(const SessionRef& session);
  [[nodiscard]] std::size_t fair_reply_bytes(std::size_t sessions) const;
  void aim_slots();
  [[nodiscard]] bool lease_over(const Record& record, base::TimePoint now) const;
  // RFC 8881 18.35.5 case 3, RFC 7530 16.33.5: whether another principal may take the name over.
  [[nodiscard]] bool replaceable(const Record& record, base::TimePoint now) const;
  [[nodiscard]] Verifier unpredictable();

  const ClientOptions options_;
  const base::SipKey key_;
  const std::function<bool(clientid4)> holds_state_;
  const std::function<bool(const Client&)> may_reclaim_;
  ClientIds ids_;
  std::uint64_t arrivals_ = 0;
  std::uint64_t last_random_ = 0;
  const std::shared_ptr<ReplyBudget> budget_;
  std::vector<SessionRef> shrinking_;
  bool slots_scarce_ = false;    // sessions have been asked to use fewer
  std::size_t aimed_bytes_ = 0;  // of replies per session, when they were
  std::size_t silent_count_ = 0;
  std::unordered_map<clientid4, Record> records_;
  std::map<Name, clientid4> confirmed_;
  std::map<Name, clientid4> unconfirmed_;
  PeerOrder<base::TimePoint> confirmed_peers_;
  PeerOrder<std::uint64_t> unconfirmed_peers_;  // the oldest comes first
  struct PeerSessions {
    std::size_t count = 0;
    std::shared_ptr<ReplyBudget> budget;
  };
  [[nodiscard]] bool has_its_share(const PeerSessions& of_peer) const;
  std::map<rpc::PeerKey, PeerSessions> peer_sessions_;  // of those that have some
  std::uint64_t refused_ = 0;
  std::unordered_map<SessionId, SessionRef, SessionIdHash> sessions_;
  std::vector<Gone> gone_;
  std::vector<ClientRef> arrived_;
  std::vector<Silence> silences_;
  std::vector<ClientRef> idle_;
};

}  // namespace braid::nfs4::state
