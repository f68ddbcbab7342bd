// The part of ClientTable that deals with sessions (RFC 8881 18.36, 18.37).
#include <algorithm>
#include <bit>
#include <cstring>

#include "nfs4/state/clients/client_table.h"

namespace braid::nfs4::state {

using enum nfsstat4;

namespace {

// What the smallest COMPOUND takes on the wire: an RPC header with AUTH_SYS, and SEQUENCE.
constexpr std::uint32_t request_bytes_min = 128;
constexpr std::uint32_t response_bytes_min = 100;
// What CB_SEQUENCE with CB_RECALL take, filehandle included, and their results.
constexpr std::uint32_t back_request_bytes_min = 400;
constexpr std::uint32_t back_response_bytes_min = 100;
constexpr std::uint32_t back_operations_min = 2;
// A session gets at most this part of what is left for reply caches, so that the last ones get some too.
constexpr std::size_t share_of_rest = 64;

SessionId make_session_id(clientid4 client, const Verifier& unpredictable) {
  SessionId id{};
  for (std::size_t i = 0; i < sizeof client; ++i)
    id[i] = static_cast<std::byte>(client >> (8 * (sizeof client - 1 - i)));
  std::memcpy(id.data() + sizeof client, unpredictable.data(), unpredictable.size());
  return id;
}

ChannelAttributes within(const ChannelAttributes& asked, const ChannelAttributes& limits) {
  return {.request_bytes_max = std::min(asked.request_bytes_max, limits.request_bytes_max),
          .response_bytes_max = std::min(asked.response_bytes_max, limits.response_bytes_max),
          .cached_bytes_max =
              std::min({asked.cached_bytes_max, limits.cached_bytes_max, asked.response_bytes_max}),
          .operations_max = std::min(asked.operations_max, limits.operations_max),
          .slots = std::min(asked.slots, limits.slots)};
}

}  // namespace

// What a session may keep while memory for replies is short: the same for all.
std::size_t ClientTable::fair_reply_bytes(std::size_t sessions) const {
  return (budget_->bytes_max() - budget_->bytes_max() / 4) / std::max<std::size_t>(sessions, 1);
}

// RFC 8881 18.36.3: what cannot carry anything is TOOSMALL, what is more than we have is reduced.
base::Result<SessionOptions, nfsstat4> ClientTable::negotiate(const CreateSessionRequest& request) {
  constexpr std::uint32_t known_flags =
      CREATE_SESSION4_FLAG_PERSIST | CREATE_SESSION4_FLAG_CONN_BACK_CHAN | CREATE_SESSION4_FLAG_CONN_RDMA;
  if ((request.flags & ~known_flags) != 0) return base::fail(NFS4ERR_INVAL);
  const ChannelAttributes& fore = request.fore;
  const ChannelAttributes& back = request.back;
  if (fore.request_bytes_max < request_bytes_min || fore.response_bytes_max < response_bytes_min ||
      fore.operations_max == 0 || fore.slots == 0)
    return base::fail(NFS4ERR_TOOSMALL);
  const bool wants_back = (request.flags & CREATE_SESSION4_FLAG_CONN_BACK_CHAN) != 0 || back.slots != 0;
  if (wants_back &&
      (back.request_bytes_max < back_request_bytes_min || back.response_bytes_max < back_response_bytes_min ||
       back.operations_max < back_operations_min || back.slots == 0))
    return base::fail(NFS4ERR_TOOSMALL);

  SessionOptions out{.fore = within(fore, options_.fore),
                     .back = within(back, options_.back),
                     .callback = request.callback,
                     .persistent = false};
  out.fore_slots_max = out.fore.slots;
  if (sessions_.size() >= options_.sessions_max) {
    ++refused_;
    return base::fail(NFS4ERR_DELAY);
  }
  if (const std::size_t slot_bytes = out.fore.cached_bytes_max; slot_bytes > 0) {
    if (budget_->left() < slot_bytes) return base::fail(NFS4ERR_DELAY);
    std::size_t bytes = budget_->left() / share_of_rest;
    if (budget_->scarce()) bytes = std::min(bytes, fair_reply_bytes(sessions_.size() + 1));
    out.fore.slots =
        static_cast<std::uint32_t>(std::clamp<std::size_t>(bytes / slot_bytes, 1, out.fore.slots));
  }
  return out;
}

bool ClientTable::may_ask(const Record& record, const CreateSessionRequest& request) {
  const Introduction& intro = record.client->intro;
  const bool introduced = request.principal == intro.principal && request.address == intro.address;
  if (record.client->standing() == Standing::unconfirmed) return introduced;
  // Once it is confirmed others may make sessions for it: a client may have several principals and addresses.
  if (request.sequence != record.sequence) return true;
  return request.principal == record.asker && request.address == record.asker_address;
}

base::Result<CreateSessionOutcome, nfsstat4> ClientTable::create_session(const CreateSessionRequest& request,
                                                                         base::TimePoint now) {
  // The phases of RFC 8881 18.36.4: look up, sequence, confirm, create.
  Record* record = by_id(request.client);
  if (record == nullptr || record->client->minor_version() == 0) return base::fail(NFS4ERR_STALE_CLIENTID);
  if (!may_ask(*record, request)) return base::fail(NFS4ERR_CLID_INUSE);
  if (request.sequence == record->sequence && record->answered) return *record->answered;
  if (request.sequence != record->sequence + 1) return base::fail(NFS4ERR_SEQ_MISORDERED);
  // What is wrong with the arguments themselves uses no sequence id up: other servers do the same.
  auto options = negotiate(request);
  if (!options) return base::fail(options.error());
  options->created = now;
  if (!record->client->may_send(static_cast<std::uint32_t>(nfs_opnum4::OP_CREATE_SESSION), request.principal))
    return base::fail(NFS4ERR_WRONG_CRED);

  auto outcome = confirm_and_make_session(*record, request, *options, now);
  // The client comes again with the same sequence id, and may then have what it wants.
  if (!outcome && outcome.error() == NFS4ERR_DELAY) return outcome;
  record->client->renew(now);
  record->sequence = request.sequence;
  record->answered = outcome;
  record->asker = request.principal;
  record->asker_address = request.address;
  return outcome;
}

base::Result<CreateSessionOutcome, nfsstat4> ClientTable::confirm_and_make_session(
    Record& record, const CreateSessionRequest& request, const SessionOptions& options, base::TimePoint now) {
  if (record.client->standing() == Standing::unconfirmed) {
    if (const auto confirmed = confirm(record, request.principal, now); !confirmed)
      return base::fail(confirmed.error());
  }
  return make_session(record, request, options);
}

base::Result<CreateSessionOutcome, nfsstat4> ClientTable::make_session(Record& record,
                                                                       const CreateSessionRequest& request,
                                                                       const SessionOptions& options) {
  if (record.sessions.size() >= options_.sessions_per_client) return base::fail(NFS4ERR_NOSPC);
  const rpc::PeerKey peer = peer_of(record.client->intro.address);
  const auto known = peer_sessions_.find(peer);
  if (known != peer_sessions_.end() && has_its_share(known->second)) {
    ++refused_;
    return base::fail(NFS4ERR_DELAY);
  }
  SessionOptions granted = options;
  granted.budget =
      known != peer_sessions_.end() ? known->second.budget : std::make_shared<ReplyBudget>(budget_);
  // Sessions grow without the table's lock, and may have taken what was left.
  if (!granted.budget->take(std::size_t{options.fore.slots} * options.fore.cached_bytes_max))
    return base::fail(NFS4ERR_DELAY);
  const SessionId id = make_session_id(record.client->id, unpredictable());
  auto session = std::make_shared<Session>(id, record.client, granted);
  // Nothing survives a restart, so no session is persistent; RDMA connections begin in RDMA mode.
  std::uint32_t flags = 0;
  if ((request.flags & CREATE_SESSION4_FLAG_CONN_BACK_CHAN) != 0 && request.connection.id != 0) {
    session->bind_back(request.connection);
    flags |= CREATE_SESSION4_FLAG_CONN_BACK_CHAN;
  }
  sessions_.emplace(id, session);
  PeerSessions& of_peer = peer_sessions_[peer];
  of_peer.budget = granted.budget;
  ++of_peer.count;
  record.sessions.push_back(std::move(session));
  return CreateSessionOutcome{.session = id,
                              .sequence = request.sequence,
                              .flags = flags,
                              .fore = options.fore,
                              .back = options.back};
}

void ClientTable::aim_slots() {
  const bool scarce = budget_->scarce();
  const std::size_t fair = fair_reply_bytes(sessions_.size());
  // Looking at every session takes time that others wait for; a tenth more or less is no reason to.
  const bool moved = fair < aimed_bytes_ - aimed_bytes_ / 10 || fair > aimed_bytes_ + aimed_bytes_ / 10;
  if (scarce == slots_scarce_ && !(scarce && moved)) return;
  slots_scarce_ = scarce;
  aimed_bytes_ = fair;
  shrinking_.clear();
  for (const auto& [id, session] : sessions_) {
    const std::size_t slots = fair / std::max<std::uint32_t>(session->fore.cached_bytes_max, 1);
    session->set_target(scarce ? static_cast<std::uint32_t>(std::min<std::size_t>(slots, UINT32_MAX))
                               : UINT32_MAX);
    if (const SlotStats now = session->slot_stats(); now.target < now.slots) shrinking_.push_back(session);
  }
}

void ClientTable::close_session(const SessionRef& session) {
  (void)session->retire(UINT32_MAX);
  if (sessions_.erase(session->id) == 0) return;
  const auto of_peer = peer_sessions_.find(peer_of(session->client->intro.address));
  if (--of_peer->second.count == 0) peer_sessions_.erase(of_peer);
}

// Of sessions, or of what they keep.
bool ClientTable::has_its_share(const PeerSessions& of_peer) const {
  return over_share(of_peer.count, sessions_.size(), options_.sessions_max) ||
         (of_peer.count >= always_of_peer && of_peer.budget->over_share());
}

base::Result<void, nfsstat4> ClientTable::destroy_session(const SessionId& id, std::uint32_t own) {
  const SessionRef session = find_session(id);
  if (!session) return base::fail(NFS4ERR_BADSESSION);
  if (!session->retire(own)) return base::fail(NFS4ERR_DELAY);
  close_session(session);
  std::erase(by_id(session->client->id)->sessions, session);
  return {};
}

SessionRef ClientTable::find_session(const SessionId& id) const {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second;
}

SessionRef ClientTable::back_channel_of(clientid4 id) const {
  const Record* record = by_id(id);
  if (record == nullptr) return nullptr;
  SessionRef usable;
  for (auto session = record->sessions.rbegin(); session != record->sessions.rend(); ++session) {
    const Session::BackHealth health = (*session)->back_health();
    if (health.works()) return *session;
    if (health.usable() && !usable) usable = *session;
  }
  return usable;
}

bool ClientTable::callbacks_lost(clientid4 id) const {
  const Record* record = by_id(id);
  if (record == nullptr) return false;
  bool wanted = false;
  for (const SessionRef& session : record->sessions) {
    const Session::BackHealth health = session->back_health();
    if (health.usable() && !health.down()) return false;
    wanted = wanted || health.wanted;
  }
  return wanted;
}

}  // namespace braid::nfs4::state
