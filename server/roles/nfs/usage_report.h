// Metrics of what is done for each export, and for the busiest clients.
#pragma once

#include "base/metrics.h"
#include "rpc/usage.h"
#include "vfs/export.h"

namespace braid::server::roles::nfs {

// Clients of a role's connections. What is given outlives the registry.
void register_clients_usage(base::MetricRegistry& metrics, const rpc::Usage& usage);
// By the exports that there are when somebody looks.
void register_exports_usage(base::MetricRegistry& metrics, const rpc::Usage& usage,
                            const vfs::Exports& exports);

}  // namespace braid::server::roles::nfs
