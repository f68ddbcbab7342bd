// braid store, store seal, unseal, adopt, gc, scrub, forget; braid check
#pragma once

#include <cstdint>
#include <string>

namespace braid::tools {

struct StoreSealCommand {
  std::string store;  // directory; becomes a store if there is nothing
  std::string path;   // a tree, or a file
  std::string profile = "general";
  unsigned threads = 0;  // 0: one per processor
  std::string compression = "none";
};
struct StoreUnsealCommand {
  std::string store;
  std::string path;
};
struct StoreAdoptCommand {
  std::string store;
  std::string path;
  bool zeros_were_written = false;  // those that files have of their own
};
struct StoreStatusCommand {
  std::string store;
  bool json = false;
};
struct StoreGcCommand {
  std::string store;
  std::uint64_t keep_seconds = 24U * 60 * 60;
};
struct StoreScrubCommand {
  std::string store;
};
struct StoreForgetCommand {
  std::string store;
  std::string tree;  // number, path or file system, as `trees` has them
};
struct StoreCheckCommand {
  std::string store;
  bool deep = false;
  bool repair = false;
};

// Each returns the exit code: that of the first three is 1 if some file could not be done.
int seal_tree(const StoreSealCommand& command);
int unseal_tree(const StoreUnsealCommand& command);
int adopt_tree(const StoreAdoptCommand& command);
int show_store(const StoreStatusCommand& command);
// 1: something cannot be looked at, and nothing was removed.
int collect_garbage(const StoreGcCommand& command);
// 1: there is damage.
int scrub_store(const StoreScrubCommand& command);
// Prints what was found; the exit code.
int report_scrub(std::uint64_t chunks, std::uint64_t bytes, std::uint64_t bad);
int forget_tree(const StoreForgetCommand& command);

// As those of fsck(8): 0, all is well; 1, it is now; 4, there is damage; 8, not everything could be looked
// at.
inline constexpr int check_corrected = 1, check_damaged = 4, check_failed = 8;
int check_store(const StoreCheckCommand& command);

}  // namespace braid::tools
