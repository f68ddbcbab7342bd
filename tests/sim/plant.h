// Faults that are planted on purpose, one per checker, to prove that it fires. They sit at the seams around
// the server: its options, its disk, and what travels between a model client and the wire.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace braid::sim {

enum class Plant : std::uint8_t {
  none,
  forgotten_replies,   // the duplicate-request cache keeps nothing: 4.0 calls are executed twice
  changed_replies,     // a repeated call is answered in other words
  ignored_locks,       // LOCK never conflicts
  ignored_denies,      // nobody's deny mode reaches the server
  unasked_delegation,  // a client takes a delegation to be granted that the server knows nothing of
  short_lease,         // the server's lease is shorter than it says
  secret_writers,      // opens for writing that nobody knows of, and clients that return no delegation
  eternal_lease,       // state of silent clients stays although somebody minds
  late_reclaim,        // a reclaim is granted after the grace period
  early_grant,         // during the grace period new state is granted
  lying_disk,          // what was synced is lost in a crash
  miscounted_owners,   // a 4.0 owner skips a number
  stuck_job,           // something of a killed server waits for ever
  undeleted_records,   // what was deleted is there again after a crash
  whole_close,         // an open is closed with 2,000 ranges, which is one step
  hasty_unlocks,       // what a client had locked is unlocked within one turn
  narrow_sessions,     // a client believes that its session allows shorter replies than it does
};

struct PlantRow {
  Plant plant;
  std::string_view name;
  std::string_view checker;  // that must fire
};

// Null for none.
std::optional<PlantRow> find_plant(std::string_view name);

}  // namespace braid::sim
