// braid hash
#pragma once

#include <string>
#include <vector>

#include "hashing/job.h"

namespace braid::tools {

struct HashCommand {
  std::vector<std::string> files;
  std::string key_file;  // 32 bytes; empty: see docs/hashing.md
  std::string profile = "general";
  std::string algorithm = "blake3";
  bool whole = false;  // one BLAKE3 digest per file, as b3sum prints it
};

// Prints offset, length and id of every chunk, or with `whole` a digest per file. Returns the exit code: 1 if
// some file could not be read.
int hash_files(const HashCommand& command);

}  // namespace braid::tools
