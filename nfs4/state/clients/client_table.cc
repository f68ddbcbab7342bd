#include "nfs4/state/clients/client_table.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/assert.h"

namespace braid::nfs4::state {

using enum nfsstat4;

std::string_view name_of(ExpiryReason reason) {
  constexpr std::array<std::string_view, expiry_reasons> names{"left", "replaced", "expired", "displaced",
                                                               "evicted"};
  return names.at(static_cast<std::size_t>(reason));
}

ClientTable::ClientTable(const ClientOptions& options, std::uint32_t epoch, const base::SipKey& key,
                         std::function<bool(clientid4)> holds_state,
                         std::function<bool(const Client&)> may_reclaim)
    : options_(options),
      key_(key),
      holds_state_(std::move(holds_state)),
      may_reclaim_(std::move(may_reclaim)),
      ids_(epoch, key),
      budget_(std::make_shared<ReplyBudget>(options.reply_bytes_max)) {}

ClientTable::Record* ClientTable::by_id(clientid4 id) {
  const auto found = records_.find(id);
  return found == records_.end() ? nullptr : &found->second;
}

const ClientTable::Record* ClientTable::by_id(clientid4 id) const {
  const auto found = records_.find(id);
  return found == records_.end() ? nullptr : &found->second;
}

ClientTable::Record* ClientTable::by_name(const std::map<Name, clientid4>& names, const Introduction& who) {
  const auto found = names.find(name_of(who));
  return found == names.end() ? nullptr : by_id(found->second);
}

Verifier ClientTable::unpredictable() {
  const std::uint64_t number = ++last_random_;
  const std::uint64_t hash = base::siphash24(key_, std::as_bytes(std::span(&number, 1)));
  Verifier out;
  std::memcpy(out.data(), &hash, sizeof hash);
  return out;
}

bool ClientTable::lease_over(const Record& record, base::TimePoint now) const {
  return record.client->lease_over(now, options_.lease);
}

bool ClientTable::replaceable(const Record& record, base::TimePoint now) const {
  if (lease_over(record, now)) return true;
  return record.sessions.empty() && !holds_state_(record.client->id);
}

ClientTable::Record& ClientTable::add_unconfirmed(Introduction introduction, base::TimePoint now) {
  if (const Record* earlier = by_name(unconfirmed_, introduction))
    drop(earlier->client->id, ExpiryReason::left);
  const rpc::PeerKey peer = peer_of(introduction.address);
  make_room_for_unconfirmed(peer);
  const ClientKind kind = kind_of(introduction.minor_version);
  clientid4 id = ids_.next(kind);
  while (records_.contains(id)) id = ids_.next(kind);
  unconfirmed_.emplace(name_of(introduction), id);
  unconfirmed_peers_.add(peer, ++arrivals_, id);
  auto client = std::make_shared<Client>(id, std::move(introduction), now);
  Record& record = records_.emplace(id, Record(std::move(client))).first->second;
  record.arrival = arrivals_;
  return record;
}

base::Result<void, nfsstat4> ClientTable::confirm(Record& record, const Principal& who, base::TimePoint now) {
  const Client& client = *record.client;
  const rpc::PeerKey peer = peer_of(client.intro.address);
  if (client.intro.principal != who) return base::fail(NFS4ERR_CLID_INUSE);
  if (const Record* old = by_name(confirmed_, client.intro)) {
    if (old->client->intro.principal != who && !replaceable(*old, now)) return base::fail(NFS4ERR_CLID_INUSE);
    drop(old->client->id, ExpiryReason::replaced);
  } else if (auto room = make_room(peer, now); !room) {
    return room;
  }
  const Name name = name_of(client.intro);
  unconfirmed_.erase(name);
  unconfirmed_peers_.remove(peer, record.arrival, client.id);
  confirmed_.emplace(name, client.id);
  record.looked_at = now;
  confirmed_peers_.add(peer, now, client.id);
  record.client->standing_.store(Standing::confirmed, std::memory_order_release);
  record.client->renew(now);
  arrived_.push_back(record.client);
  return {};
}

void ClientTable::drop(clientid4 id, ExpiryReason why) {
  const auto found = records_.find(id);
  if (found == records_.end()) return;
  const ClientRef client = found->second.client;
  for (const SessionRef& session : found->second.sessions) close_session(session);
  const bool was_confirmed = client->standing() == Standing::confirmed;
  (was_confirmed ? confirmed_ : unconfirmed_).erase(name_of(client->intro));
  const rpc::PeerKey peer = peer_of(client->intro.address);
  if (was_confirmed)
    confirmed_peers_.remove(peer, found->second.looked_at, id);
  else
    unconfirmed_peers_.remove(peer, found->second.arrival, id);
  if (found->second.silent) --silent_count_;
  records_.erase(found);
  client->standing_.store(Standing::gone, std::memory_order_release);
  if (was_confirmed) gone_.push_back({client, why});
}

base::Result<ExchangeIdOutcome, nfsstat4> ClientTable::exchange_id(Introduction introduction, bool update,
                                                                   base::TimePoint now) {
  const auto outcome_of = [](const Record& record, bool confirmed) {
    return ExchangeIdOutcome{.client = record.client->id,
                             .sequence = record.sequence + 1,
                             .confirmed = confirmed,
                             .machine = record.client->intro.machine};
  };
  // The cases of RFC 8881 18.35.5.
  const Record* confirmed = by_name(confirmed_, introduction);
  const bool same_principal =
      confirmed != nullptr && confirmed->client->intro.principal == introduction.principal;
  const bool same_verifier =
      confirmed != nullptr && confirmed->client->intro.verifier == introduction.verifier;
  if (update) {
    if (confirmed == nullptr) return base::fail(NFS4ERR_NOENT);  // 7
    if (!same_verifier) return base::fail(NFS4ERR_NOT_SAME);     // 8
    if (!same_principal) return base::fail(NFS4ERR_PERM);        // 9
    return outcome_of(*confirmed, true);                         // 6
  }
  if (confirmed != nullptr && !same_principal) {  // 3
    if (!replaceable(*confirmed, now)) return base::fail(NFS4ERR_CLID_INUSE);
    drop(confirmed->client->id, ExpiryReason::displaced);
  } else if (confirmed != nullptr && same_verifier) {  // 2
    return outcome_of(*confirmed, true);
  }
  // 1, 4, 5: a confirmed record stays until this one is confirmed, for the request may be an old one.
  return outcome_of(add_unconfirmed(std::move(introduction), now), false);
}

base::Result<SetClientIdOutcome, SetClientIdFailure> ClientTable::set_client_id(
    Introduction introduction, const CallbackAddress& callback, base::TimePoint now) {
  Record* confirmed = by_name(confirmed_, introduction);
  if (confirmed != nullptr && confirmed->client->intro.principal != introduction.principal) {
    if (!replaceable(*confirmed, now)) {
      return base::fail(SetClientIdFailure{.status = NFS4ERR_CLID_INUSE,
                                           .netid = confirmed->callback.netid,
                                           .address = confirmed->callback.address});
    }
    confirmed = nullptr;
  }
  const Verifier confirm = unpredictable();
  if (confirmed != nullptr && confirmed->client->intro.verifier == introduction.verifier) {
    // RFC 7530 16.33.5, the second bullet: the same client, perhaps with another callback.
    if (const Record* earlier = by_name(unconfirmed_, introduction))
      drop(earlier->client->id, ExpiryReason::left);
    confirmed->update = {.callback = callback, .confirm = confirm};
    return SetClientIdOutcome{.client = confirmed->client->id, .confirm = confirm};
  }
  Record& record = add_unconfirmed(std::move(introduction), now);
  record.callback = callback;
  record.confirm = confirm;
  return SetClientIdOutcome{.client = record.client->id, .confirm = confirm};
}

base::Result<ClientRef, nfsstat4> ClientTable::confirm_client_id(clientid4 id,
                                                                 const Verifier& confirm_verifier,
                                                                 const Principal& who, base::TimePoint now) {
  Record* record = by_id(id);
  if (record == nullptr || record->client->minor_version() != 0) return base::fail(NFS4ERR_STALE_CLIENTID);
  if (record->client->intro.principal != who) return base::fail(NFS4ERR_CLID_INUSE);
  if (record->client->standing() == Standing::confirmed) {
    if (record->update && record->update->confirm == confirm_verifier) {
      record->callback = record->update->callback;
      record->confirm = confirm_verifier;
      record->update.reset();
    } else if (record->confirm != confirm_verifier) {
      return base::fail(NFS4ERR_STALE_CLIENTID);
    }
    record->client->renew(now);
    return record->client;
  }
  if (record->confirm != confirm_verifier) return base::fail(NFS4ERR_STALE_CLIENTID);
  if (auto confirmed = confirm(*record, who, now); !confirmed) return base::fail(confirmed.error());
  return record->client;
}

base::Result<ClientRef, nfsstat4> ClientTable::destroy_client(clientid4 id) {
  const Record* record = by_id(id);
  if (record == nullptr || record->client->minor_version() == 0) return base::fail(NFS4ERR_STALE_CLIENTID);
  if (!record->sessions.empty() || holds_state_(id)) return base::fail(NFS4ERR_CLIENTID_BUSY);
  ClientRef client = record->client;
  drop(id, ExpiryReason::left);
  return client;
}

base::Result<ClientRef, nfsstat4> ClientTable::find(clientid4 id, std::uint32_t minor_version) const {
  const ClientKind kind = kind_of(minor_version);
  const Record* record = by_id(id);
  if (record == nullptr) return base::fail(ids_.given(id, kind) ? NFS4ERR_EXPIRED : NFS4ERR_STALE_CLIENTID);
  const Client& client = *record->client;
  if (kind_of(client.minor_version()) != kind || client.standing() != Standing::confirmed)
    return base::fail(NFS4ERR_STALE_CLIENTID);
  return record->client;
}

ClientRef ClientTable::find_any(clientid4 id) const {
  const Record* record = by_id(id);
  if (record == nullptr || record->client->standing() != Standing::confirmed) return nullptr;
  return record->client;
}

std::optional<CallbackAddress> ClientTable::callback_of(clientid4 id) const {
  const Record* record = by_id(id);
  if (record == nullptr || record->client->minor_version() != 0 || record->callback.program == 0)
    return std::nullopt;
  return record->callback;
}

void ClientTable::note_silence(Record& record, bool silent) {
  if (record.silent == silent) return;
  record.silent = silent;
  silent_count_ += silent ? 1 : std::size_t(-1);
  silences_.push_back({record.client, !silent});
}

// RFC 7530 has no way for such a client to say that it holds nothing, and the next grace period would wait
// for it.
void ClientTable::note_idle(Record& record, base::TimePoint now, std::size_t& looks) {
  constexpr int looks_in_a_lease = 4;
  const Client& client = *record.client;
  if (client.minor_version() > 0 || !client.recorded() || now < record.idle_look || looks == 0) return;
  --looks;
  record.idle_look = now + options_.lease / looks_in_a_lease;
  if (holds_state_(client.id)) {
    record.idle_since.reset();
  } else if (!record.idle_since) {
    record.idle_since = now;
  } else if (now - *record.idle_since >= options_.lease) {
    record.idle_since.reset();
    idle_.push_back(record.client);
  }
}

bool ClientTable::sweep(base::TimePoint now) {
  constexpr std::size_t idle_looks = 256;
  aim_slots();
  std::size_t looks = idle_looks;
  std::vector<clientid4> due;
  for (auto& [id, record] : records_) {
    const bool over = lease_over(record, now);
    const bool confirmed = record.client->standing() == Standing::confirmed;
    const bool courtesy_over = now - record.client->renewed() > options_.lease + options_.courtesy;
    if (over && (!confirmed || courtesy_over || !holds_state_(id))) {
      if (due.size() == swept_at_once) return swept(due);
      due.push_back(id);
    } else {
      note_silence(record, over);
      note_idle(record, now, looks);
    }
  }
  return swept(due);
}

bool ClientTable::swept(const std::vector<clientid4>& due) {
  for (const clientid4 id : due) drop(id, ExpiryReason::expired);
  return due.size() == swept_at_once;
}

bool ClientTable::remove(clientid4 id, ExpiryReason why) {
  if (by_id(id) == nullptr) return false;
  drop(id, why);
  return true;
}

}  // namespace braid::nfs4::state
