#include "tests/sim/oracle.h"

#include <algorithm>

#include "base/assert.h"
#include "tests/sim/server.h"

namespace braid::sim {
namespace {

// The server acts once a second, and its calls take a moment.
constexpr base::Duration slack = std::chrono::seconds(3);
// It goes on while somebody reclaims.
constexpr base::Duration grace_max = 2 * lease_time;

// The checker that minds two claims on one file by different owners; nothing if they are compatible.
std::optional<std::string_view> conflict_of(const Claim& a, const Claim& b) {
  if (a.delegation && b.delegation) {
    if (a.client != b.client && (a.write || b.write)) return "delegation_coherence";
    return std::nullopt;
  }
  if (a.delegation || b.delegation) {
    const Claim& delegation = a.delegation ? a : b;
    const Claim& open = a.delegation ? b : a;
    if (a.client == b.client || open.access == 0) return std::nullopt;
    if (delegation.write || (open.access & OPEN4_SHARE_ACCESS_WRITE) != 0) return "delegation_coherence";
    return std::nullopt;
  }
  if ((a.access & b.deny) != 0 || (b.access & a.deny) != 0) return "share_reservations";
  for (std::size_t i = 0; i < lock_cells; ++i)
    if ((a.cells[i] == Cell::write && b.cells[i] != Cell::none) ||
        (b.cells[i] == Cell::write && a.cells[i] != Cell::none))
      return "lock_exclusion";
  return std::nullopt;
}

}  // namespace

void Oracle::violation(std::string_view checker, std::uint32_t client, std::optional<std::uint32_t> file,
                       const std::string& text) {
  if (found_) return;
  found_ = Violation{std::string(checker), text, client, file};
  trace_.add(client, file, "VIOLATION {}: {}", checker, text);
}

void Oracle::born(std::uint32_t life) {
  life_ = life;
  lives_[life] = {scheduler_.now(), std::nullopt};
}

void Oracle::died(std::uint32_t life) { lives_.at(life).died = scheduler_.now(); }

void Oracle::renewed(std::uint32_t client, base::TimePoint sent) {
  base::TimePoint& end = lease_end_[client];
  end = std::max(end, sent + lease_time);
}

base::TimePoint Oracle::lease_end(std::uint32_t client) const {
  const auto found = lease_end_.find(client);
  return found == lease_end_.end() ? base::TimePoint{} : found->second;
}

bool Oracle::valid(const Claim& claim) const {
  const base::TimePoint now = scheduler_.now();
  // What was recalled, and not returned within a lease time, may be taken back.
  if (claim.disputed && now + slack >= *claim.disputed + lease_time) return false;
  // The server that granted it has ended, and the next one does not know that there is anything to reclaim.
  if (claim.life < life_ && off_record(claim)) return false;
  return now < claim.until.value_or(lease_end(claim.client));
}

void Oracle::began_anew(std::uint32_t client) {
  const base::TimePoint end = lease_end(client);
  std::erase_if(claims_, [&](const Claim& claim) { return claim.client == client && claim.delegation; });
  for (Claim& claim : claims_)
    if (claim.client == client && !claim.until) claim.until = end;
  lease_end_[client] = {};
}

Claim* Oracle::find(std::uint32_t client, std::uint32_t owner, std::uint32_t file) {
  for (Claim& claim : claims_)
    if (!claim.delegation && claim.client == client && claim.owner == owner && claim.file == file)
      return &claim;
  return nullptr;
}

Claim* Oracle::find_delegation(std::uint32_t client, std::uint32_t file) {
  for (Claim& claim : claims_)
    if (claim.delegation && claim.client == client && claim.file == file) return &claim;
  return nullptr;
}

std::vector<Claim*> Oracle::all_of(std::uint32_t client) {
  std::vector<Claim*> out;
  for (Claim& claim : claims_)
    if (claim.client == client) out.push_back(&claim);
  return out;
}

void Oracle::drop(const Claim& claim) {
  claims_.remove_if([&](const Claim& one) { return &one == &claim; });
}

void Oracle::drop_all(std::uint32_t client) {
  claims_.remove_if([&](const Claim& claim) { return claim.client == client; });
  lease_end_[client] = {};
}

std::string Oracle::text_of(const Claim& claim) {
  if (claim.delegation)
    return fmt::format("client {}'s {} delegation of file {}", claim.client, claim.write ? "write" : "read",
                       claim.file);
  std::string cells;
  for (const Cell cell : claim.cells) cells += "-rw"[static_cast<std::size_t>(cell)];
  return fmt::format("client {} owner {} on file {}: access {} deny {} locks {}", claim.client, claim.owner,
                     claim.file, claim.access, claim.deny, cells);
}

void Oracle::compare(const Claim& fresh) {
  // Granted, but so late that it may be gone again.
  if (!valid(fresh)) return;
  for (Claim& other : claims_) {
    if (&other == &fresh || other.file != fresh.file) continue;
    const auto checker = conflict_of(fresh, other);
    if (!checker) continue;
    if (valid(other))
      violation(*checker, fresh.client, fresh.file,
                fmt::format("{}, while there is {}", text_of(fresh), text_of(other)));
    else
      other.overtaken = other.overtaken.value_or(scheduler_.now());
  }
}

Claim& Oracle::opened(std::uint32_t client, std::uint32_t owner, std::uint32_t file, std::uint32_t access,
                      std::uint32_t deny, std::uint32_t life) {
  Claim* claim = find(client, owner, file);
  if (claim == nullptr) {
    claim = &claims_.emplace_back();
    claim->client = client;
    claim->owner = owner;
    claim->file = file;
    claim->since = scheduler_.now();
  }
  for (std::uint32_t bit = 0; bit < 2; ++bit)
    if ((deny & ~claim->deny & (1U << bit)) != 0) claim->denied_since.at(bit) = scheduler_.now();
  claim->access |= access;
  claim->deny |= deny;
  claim->life = life;
  on_record_.insert({client, life});
  compare(*claim);
  return *claim;
}

bool Oracle::grace_ended_between(std::uint32_t from, std::uint32_t to) const {
  return std::ranges::any_of(lives_, [&](const auto& entry) {
    const auto& [number, life] = entry;
    return number > from && number < to && life.died && *life.died > life.born + grace_max + slack;
  });
}

bool Oracle::on_record_between(const Claim& claim, std::uint32_t to) const {
  return std::ranges::any_of(on_record_, [&](const auto& entry) {
    return entry.first == claim.client && entry.second > claim.life && entry.second < to;
  });
}

void Oracle::perhaps_on_record(std::uint32_t client, std::uint32_t first, std::uint32_t answered) {
  for (std::uint32_t life = first; life < answered; ++life) on_record_.insert({client, life});
}

// Whoever has reclaimed something, but not said that this is all, when the grace period ends is not on record
// for the next one: it might reclaim what others have had meanwhile (RFC 8881 8.4.3).
bool Oracle::off_record(const Claim& claim) const {
  const Life& held = lives_.at(claim.life);
  return held.died && *held.died >= held.born + lease_time && !recorded_.contains({claim.client, claim.life});
}

void Oracle::reclaimed(Claim& claim, std::uint32_t life, base::TimePoint sent) {
  if (sent > born_at(life) + grace_max + slack)
    violation("late_reclaim", claim.client, claim.file, "a reclaim was granted after the grace period");
  if (completed_.contains({claim.client, life}))
    violation("late_reclaim", claim.client, claim.file, "a reclaim was granted after RECLAIM_COMPLETE");
  // RFC 8881 8.4.3: the edge conditions. Records are of clients, not of files: one that got hold of other
  // state meanwhile is not told apart.
  const bool excused = on_record_between(claim, life);
  on_record_.insert({claim.client, life});
  if (!excused && claim.overtaken && *claim.overtaken < sent)
    violation("edge_condition", claim.client, claim.file,
              "what others had meanwhile was reclaimed: " + text_of(claim));
  if (!excused && grace_ended_between(claim.life, life))
    violation("edge_condition", claim.client, claim.file,
              "state was reclaimed that a grace period had ended: " + text_of(claim));
  claim.life = life;
  claim.until.reset();
  claim.overtaken.reset();
  compare(claim);
}

void Oracle::reclaim_refused(const Claim& claim, base::TimePoint until, std::uint32_t life, nfsstat4 status) {
  const bool meant = status == nfsstat4::NFS4ERR_NO_GRACE || status == nfsstat4::NFS4ERR_RECLAIM_BAD ||
                     status == nfsstat4::NFS4ERR_RECLAIM_CONFLICT ||
                     status == nfsstat4::NFS4ERR_SHARE_DENIED || status == nfsstat4::NFS4ERR_DENIED;
  if (!meant || life != life_ || life < 2 || completed_.contains({claim.client, life})) return;
  if (off_record(claim)) return;
  const bool crashed_before = claim.life < life || claim.until == std::nullopt;
  if (!crashed_before || scheduler_.now() >= until) return;
  violation("entitled_reclaim", claim.client, claim.file,
            fmt::format("{} for what a client within its lease held: {}", name_of(status), text_of(claim)));
}

bool Oracle::grace_over() const {
  return life_ == 0 || scheduler_.now() > born_at(life_) + grace_max + slack;
}

void Oracle::weaken(Claim& claim, Cells cells, Cell to) {
  for (std::size_t i = cells.first; i < cells.first + cells.count; ++i)
    claim.cells[i] = std::min(claim.cells[i], to);
}

void Oracle::locked(Claim& claim, Cells cells, Cell to) {
  for (std::size_t i = cells.first; i < cells.first + cells.count; ++i) claim.cells[i] = to;
  compare(claim);
}

Claim& Oracle::delegated(std::uint32_t client, std::uint32_t file, bool write, std::uint32_t life,
                         base::TimePoint sent) {
  if (const Claim* const old = find_delegation(client, file)) drop(*old);
  Claim& claim = claims_.emplace_back();
  claim.client = client;
  claim.file = file;
  claim.delegation = true;
  claim.write = write;
  claim.life = life;
  // What was under way when it was given, or came since, may have had it recalled already.
  const auto recent = [&](const std::optional<base::TimePoint>& when) {
    return when && (*when > sent || *when + 3 * lease_time > scheduler_.now());
  };
  for (const auto& [whose, dispute] : disputes_)
    if (whose.first == file && whose.second != client &&
        (recent(dispute.writes) || (write && recent(dispute.reads))))
      claim.disputed = std::min(sent, scheduler_.now() - slack);
  claim.since = scheduler_.now();
  compare(claim);
  return claim;
}

void Oracle::dispute(std::uint32_t client, std::uint32_t file, bool writes) {
  Dispute& last = disputes_[{file, client}];
  (writes ? last.writes : last.reads) = scheduler_.now();
  for (Claim& claim : claims_)
    if (claim.delegation && claim.file == file && claim.client != client && (claim.write || writes) &&
        !claim.disputed)
      claim.disputed = scheduler_.now();
}

void Oracle::done_without_state(std::uint32_t client, std::uint32_t file, bool write, base::TimePoint sent) {
  const std::uint32_t kind = write ? OPEN4_SHARE_ACCESS_WRITE : OPEN4_SHARE_ACCESS_READ;
  for (const Claim& claim : claims_) {
    if (claim.file != file || claim.until || !valid(claim)) continue;
    if (claim.delegation && claim.since < sent && claim.client != client && (write || claim.write))
      violation("delegation_coherence", client, file, "a READ or WRITE passed " + text_of(claim));
    // An open may have been upgraded to one that denies this after it was sent.
    if (!claim.delegation && (claim.deny & kind) != 0 && claim.denied_since.at(write ? 1 : 0) < sent)
      violation("share_reservations", client, file, "a READ or WRITE without state passed " + text_of(claim));
  }
}

void Oracle::used(const Claim& claim, base::TimePoint sent) {
  if (claim.overtaken && *claim.overtaken < sent)
    violation("lease_expiry", claim.client, claim.file,
              "state is still good that others had meanwhile: " + text_of(claim));
}

void Oracle::lost(const Claim& claim, std::uint32_t life, nfsstat4 status) {
  if (claim.life == life && !claim.until && valid(claim))
    violation("lease_kept", claim.client, claim.file,
              fmt::format("{} for state of a client within its lease: {}", name_of(status), text_of(claim)));
  drop(claim);
}

void Oracle::revoked(const Claim& claim, std::uint32_t life) {
  if (claim.life == life && !claim.until && valid(claim))
    violation("delegation_kept", claim.client, claim.file,
              "revoked, though nobody has minded it for a lease time: " + text_of(claim));
  drop(claim);
}

void Oracle::client_lost(std::uint32_t client, std::uint32_t life, base::TimePoint end, nfsstat4 status) {
  if (life == life_ && scheduler_.now() < end)
    violation("lease_kept", client, std::nullopt,
              fmt::format("{} for a client within its lease", name_of(status)));
}

bool Oracle::silent_since(std::uint32_t client, base::TimePoint when) const {
  return network_.last_heard(client) + lease_time + slack < when;
}

void Oracle::open_refused(std::uint32_t client, std::uint32_t file, base::TimePoint sent) {
  for (const auto& [id, other] : names_)
    if (other != client && !silent_since(other, sent)) return;
  for (const Claim& claim : claims_)
    if (claim.client == client && claim.file == file && !claim.delegation) return;
  violation("lease_expiry", client, file, "SHARE_DENIED, though everybody else's lease has run out");
}

void Oracle::lock_refused(std::uint32_t client, std::uint32_t file, std::string_view holder,
                          base::TimePoint sent) {
  const std::size_t mark = holder.find('@');
  if (mark == holder.npos) return;
  const auto index = static_cast<std::uint32_t>(std::stoul(std::string(holder.substr(mark + 1))));
  if (index == client || !silent_since(index, sent)) return;
  violation("lease_expiry", client, file,
            fmt::format("DENIED for the sake of client {}, whose lease has run out", index));
}

void Oracle::granted_new(std::uint32_t client, std::uint32_t file, std::uint32_t life) {
  if (life != life_) return;
  for (const Claim& claim : claims_) {
    if (claim.client == client || claim.delegation || claim.life >= life || !valid(claim)) continue;
    if (completed_.contains({claim.client, life}) || off_record(claim)) continue;
    violation("grace", client, file,
              "new state was granted before this could be reclaimed: " + text_of(claim));
  }
}

}  // namespace braid::sim
