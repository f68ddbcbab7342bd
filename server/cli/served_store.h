// braid store, store seal, unseal and gc of a running server
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "server/cli/admin_client.h"

namespace braid::server::cli {

struct ServedTreeCommand {
  std::string path;  // on this machine
  bool unseals = false;
  ServerChoice server{};
};
// Ends when it is done; draws progress on a terminal.
int act_on_served_tree(const ServedTreeCommand& command);

// Of a store as a whole.
struct ServedUpkeepCommand {
  std::string store{};  // its name or directory; empty: the only one of the server
  ServerChoice server{};
};
// The same. 1: something could not be looked at, and nothing was removed.
int collect_served_garbage(const ServedUpkeepCommand& command);
// The same. 1: there is damage.
int scrub_served_store(const ServedUpkeepCommand& command);

struct ServedStoresCommand {
  bool json = false;
  ServerChoice server{};
};
int show_served_stores(const ServedStoresCommand& command);

// One of `stores[]` of the report of `braid status`, for people.
std::string store_text(const nlohmann::json& store);
// Its "hashing".
std::string hashing_text(const nlohmann::json& hashing);

}  // namespace braid::server::cli
