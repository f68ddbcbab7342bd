#include "tests/sim/cluster/plant.h"

#include <array>

namespace braid::sim::cluster {
namespace {

constexpr auto plants = std::to_array<PlantRow>({
    {Plant::forgotten_fences, "forgotten_fences", "write_after_fence"},
    {Plant::forgotten_removals, "forgotten_removals", "removed_object_back"},
    {Plant::lying_medium, "lying_medium", "lost_stable_byte"},
    {Plant::shrinking_stubs, "shrinking_stubs", "wrong_size"},
    {Plant::changed_bytes, "changed_bytes", "in_band_differs"},
    {Plant::long_contact, "long_contact", "contact"},
    {Plant::secret_returns, "secret_returns", "layout_kept"},
    {Plant::imagined_recalls, "imagined_recalls", "granted_in_recall"},
    {Plant::forgotten_keeps, "forgotten_keeps", "own_truncation"},
    {Plant::imagined_holes, "imagined_holes", "hole_has_bytes"},
    {Plant::stuck_job, "stuck_job", "end"},
});

}  // namespace

std::optional<PlantRow> find_plant(std::string_view name) {
  for (const PlantRow& row : plants)
    if (row.name == name) return row;
  return std::nullopt;
}

}  // namespace braid::sim::cluster
