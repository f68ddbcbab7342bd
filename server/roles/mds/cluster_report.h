// What the admin socket says of a pNFS cluster: its data servers, and where a file lies.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/guarded.h"
#include "io/blocking_pool.h"
#include "pnfs_mds/cluster.h"
#include "server/admin/admin_command.h"
#include "vfs/export.h"

namespace braid::server::roles::mds {

// Where the directories of striped exports are on this host. Thread-safe.
class ExportDirectories {
 public:
  // The export leads to that directory from now on. Blocks.
  void add(const std::string& export_path, const std::string& directory);
  struct Place {
    std::string export_path;
    std::string below;  // from the export's directory on, without leading slash
  };
  // Of an absolute path without links; nothing: it is in none of them.
  [[nodiscard]] std::optional<Place> find(const std::string& path) const;

 private:
  base::Guarded<std::map<std::string, std::string>> directories_;  // by the export's path
};

// All outlives the commands.
struct ReportParts {
  pnfs_mds::Cluster& cluster;
  const ExportDirectories& directories;
  const vfs::Exports& exports;
};
std::vector<admin::AdminCommand> cluster_commands(const ReportParts& parts);

}  // namespace braid::server::roles::mds
