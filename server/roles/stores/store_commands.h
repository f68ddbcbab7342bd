// What people and scrapers hear of a server's stores.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "server/admin/admin_command.h"
#include "server/roles/stores/store_worker.h"
#include "server/roles/stores/upkeep.h"
#include "store/content/open_guard.h"

namespace braid::server::roles::stores {

constexpr admin::CommandName seal_command{"store-seal", "Seal a tree that this server serves"};
constexpr admin::CommandName unseal_command{"store-unseal",
                                            "Give the files of a served tree their bytes back"};
constexpr admin::CommandName gc_command{"store-gc", "Remove what no file of a store needs any more"};
constexpr admin::CommandName scrub_command{"store-scrub", "Read all chunks of a store to find damage"};
constexpr admin::CommandName job_command{"store-job", "How far that is"};

struct ServedStore {
  std::string name;
  store::Store* store = nullptr;
  store::StoreSource* source = nullptr;
  StoreWorker* worker = nullptr;
  Upkeep* upkeep = nullptr;
  store::OpenGuard* guard = nullptr;  // null: it has none
};
// What they refer to outlives them.
std::vector<admin::AdminCommand> store_commands(const std::vector<ServedStore>& stores);
// Adds what there is to know of a store to `stores[]` of the report of `braid status`.
void add_store(nlohmann::json& report, const ServedStore& served);
void register_metrics(base::MetricRegistry& metrics, const ServedStore& served);

}  // namespace braid::server::roles::stores
