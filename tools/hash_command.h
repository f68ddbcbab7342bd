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
  bool whole = false;      // one BLAKE3 digest per file, as b3sum prints it
  bool where = false;      // no chunks: where the engine cuts and hashes each piece, and why there
  bool card_info = false;  // no files: which CUDA cards there are
};

// Prints offset, length and id of every chunk, or with `whole` a digest per file, or with `where` a line per
// job of the engine, or the cards. Returns the
// exit code: 1 if some file could not be read, 2 if neither files nor cards are asked for.
int hash_files(const HashCommand& command);

}  // namespace braid::tools
