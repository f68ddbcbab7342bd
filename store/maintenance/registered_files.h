// The files of a store's registry as a mark sees them, and the registry without what it does not need.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "store/gone_file.h"
#include "store/registry.h"
#include "store/store.h"

namespace braid::store {

enum class Presence : std::uint8_t {
  found,
  gone,           // it is not there, or has no record: a snapshot may bring it back
  gone_for_good,  // with its tree
};

// Of one mark. One thread has it; others may add to the registry meanwhile.
class RegisteredFiles {
 public:
  // The mark has begun, and uses that began before `pinned_since` have ended. The store has a registry.
  RegisteredFiles(Store& store, std::uint64_t pinned_since);

  // Asks for each file once, and whether its last entry says that it was unsealed. Returns why that is not
  // all of them, a sentence; empty: it is.
  using Look = std::function<Presence(const RegistryEntry& entry, bool unsealed)>;
  std::string look_at_all(const Look& look);

  // When the mark has ended. An entry is needed unless its file has a later one, or all marks have missed it
  // for `keep_seconds`, two at least. The registry is written anew when more than `slack` entries are not
  // needed, and that is half of all, or of as many files as are noted at once. Returns how many have gone.
  // Errors: as of Registry::rewrite() and of writing a small file.
  base::Result<std::uint64_t> shorten(std::uint64_t now, std::uint64_t keep_seconds, std::uint64_t slack);

 private:
  struct KeyHash {
    std::size_t operator()(const FileKey& key) const { return static_cast<std::size_t>(key.a); }
  };
  struct State {
    Registry::Place last = 0;  // of its entries
    bool unsealed = false;     // by that
    bool visited = false;
    Presence presence = Presence::found;
    bool dropped = false;
  };
  std::vector<GoneFile> gone_now(std::uint64_t now, const std::vector<GoneFile>& before) const;
  std::uint64_t choose(std::uint64_t now, std::uint64_t keep_seconds, const std::vector<GoneFile>& gone,
                       const std::vector<GoneFile>& before);

  Store& store_;
  Registry& registry_;
  Registry::Place settled_ = 0, end_ = 0;
  std::uint64_t entries_ = 0;
  std::unordered_map<FileKey, State, KeyHash> files_;
};

}  // namespace braid::store
