// braid dedup estimate
#pragma once

#include <string>

namespace braid::tools {

struct DedupCommand {
  std::string directory;
  std::string key_file;  // 32 bytes; empty: see docs/hashing.md
  std::string ids_file;  // where the ids of all chunks are written, if not empty
  unsigned threads = 0;  // 0: one per processor
};

// Reads every file below the directory and prints what each way of cutting would save. Returns the exit code:
// 1 if something could not be read.
int estimate_dedup(const DedupCommand& command);

}  // namespace braid::tools
