#include "tests/sim/plant.h"

#include <array>

namespace braid::sim {
namespace {

constexpr auto plants = std::to_array<PlantRow>({
    {Plant::forgotten_replies, "forgotten_replies", "exactly_once"},
    {Plant::changed_replies, "changed_replies", "same_reply"},
    {Plant::ignored_locks, "ignored_locks", "lock_exclusion"},
    {Plant::ignored_denies, "ignored_denies", "share_reservations"},
    {Plant::unasked_delegation, "unasked_delegation", "delegation_coherence"},
    {Plant::short_lease, "short_lease", "lease_kept"},
    {Plant::secret_writers, "secret_writers", "delegation_kept"},
    {Plant::eternal_lease, "eternal_lease", "lease_expiry"},
    {Plant::late_reclaim, "late_reclaim", "late_reclaim"},
    {Plant::early_grant, "early_grant", "grace"},
    {Plant::lying_disk, "lying_disk", "entitled_reclaim"},
    {Plant::miscounted_owners, "miscounted_owners", "owner_sequence"},
    {Plant::stuck_job, "stuck_job", "end"},
    {Plant::undeleted_records, "undeleted_records", "edge_condition"},
    {Plant::whole_close, "whole_close", "short_calls"},
    {Plant::hasty_unlocks, "hasty_unlocks", "short_turns"},
    {Plant::narrow_sessions, "narrow_sessions", "reply_length"},
});

}  // namespace

std::optional<PlantRow> find_plant(std::string_view name) {
  for (const PlantRow& row : plants)
    if (row.name == name) return row;
  return std::nullopt;
}

}  // namespace braid::sim
