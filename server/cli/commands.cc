#include "server/cli/cluster_command.h"
#include "server/cli/command.h"
#include "server/cli/data_server_command.h"
#include "server/cli/export_command.h"
#include "server/cli/serve_command.h"
#include "server/cli/state_command.h"
#include "server/cli/status_command.h"
#include "server/cli/tool_commands.h"

namespace braid::server::cli {

std::span<const AddCommand> commands() {
  static constexpr AddCommand all[] = {
      add_serve,  add_data_server, add_status, add_lists, add_client, add_location, add_grace,
      add_export, add_reload,      add_hash,   add_dedup, add_store,  add_check,
  };
  return all;
}

}  // namespace braid::server::cli
