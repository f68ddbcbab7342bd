#include "server/cli/process_options.h"

#include "server/cli/options.h"
#include "server/config/config.h"
#include "server/config/endpoint.h"

namespace braid::server::cli {

void add_process_options(CLI::App& command, ProcessOptions& options, const std::string& group) {
  run::ServeCommand::Overrides& o = options.overrides;
  command.add_option("--threads", o.threads, "Threads that serve (one per CPU)")
      ->type_name("N")
      ->check(number(1, 256))
      ->group(group);
  command.add_option("--state", o.state_dir, "Directory for keys that must survive a restart")
      ->type_name("DIR")
      ->group(group);
  command.add_option("--metrics", options.metrics, "Prometheus metrics over HTTP on this ADDRESS:PORT")
      ->type_name("ADDRESS:PORT")
      ->check(must([](const std::string& s) { return config::parse_endpoint(s).has_value(); },
                   "write ADDRESS:PORT, e.g. 127.0.0.1:9049 or [::1]:9049"))
      ->group(group);
  command.add_option("--log-level", options.log_level, "From which level on there are log lines (info)")
      ->type_name("debug|info|warning|error")
      ->check(one_of({"debug", "info", "warning", "error"}))
      ->group(group);
  command.add_option("--admin", o.admin_socket, "Path of the admin socket")
      ->type_name("SOCKET")
      ->group(group);
}

void judge(ProcessOptions& options) {
  if (!options.metrics.empty()) options.overrides.metrics = config::parse_endpoint(options.metrics);
  if (!options.log_level.empty()) options.overrides.log_level = config::parse_level(options.log_level);
}

}  // namespace braid::server::cli
