// braid hash --where: what the engine does with files.
#pragma once

#include <string>
#include <vector>

#include "hashing/job.h"

namespace braid::tools {

// Cuts and hashes the files by an engine with all CUDA cards of this machine, and prints a line per job:
// its place in the file, where it ran, how long it took, what was estimated for cores and for a card, and
// why it ran there; then what each place did. Returns the exit code: 1 if some file could not be read or a
// job failed.
int print_where(const std::vector<std::string>& files, hashing::Algorithm algorithm,
                const hashing::ChunkParams& params, const hashing::Key& key);

}  // namespace braid::tools
