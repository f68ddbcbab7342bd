// Faults that are planted on purpose, one per checker, to prove that it fires. They sit around the servers:
// in their options, on their disks, and between what a client is told and what it believes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace braid::sim::cluster {

enum class Plant : std::uint8_t {
  none,
  forgotten_fences,    // a data server that restarts has lost its fences
  forgotten_removals,  // the same, and the metadata server knows every file that it is asked for
  lying_medium,        // what a data server has synced is lost when its power fails
  shrinking_stubs,     // the names' file system shortens files
  changed_bytes,       // what is read through the metadata server is changed on the way
  long_contact,        // the metadata server says that heartbeats are good for several leases
  secret_returns,      // a client believes in a layout that it has returned
  imagined_recalls,    // a client believes that it was asked for a layout
  forgotten_keeps,     // a data server that restarts has forgotten which handles its fences leave in force
  imagined_holes,      // a client believes that it has made holes, and has asked nobody
  stuck_job,           // something of a killed data server waits for ever
};

struct PlantRow {
  Plant plant;
  std::string_view name;
  std::string_view checker;  // that must fire
};

std::optional<PlantRow> find_plant(std::string_view name);

}  // namespace braid::sim::cluster
