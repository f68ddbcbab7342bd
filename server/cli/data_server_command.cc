#include "server/cli/data_server_command.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "rpc/socket_address.h"
#include "server/cli/options.h"
#include "server/cli/process_options.h"
#include "server/config/config.h"
#include "server/config/endpoint.h"
#include "server/run/serve.h"

namespace braid::server::cli {
namespace {

struct DataServerOptions {
  config::DataServerConfig server;
  std::string control_transport;
  std::string control_integrity;
  std::string store;
  ProcessOptions process;
};

constexpr const char* own_group = "Options of the data server";

void add_own_options(CLI::App& command, config::DataServerConfig& server) {
  command.add_option("DIR", server.directory, "Directory of its objects; an empty one becomes it")
      ->required()
      ->type_name(" ");
  command.add_option("--mds", server.mds, "The metadata server of the cluster")
      ->required()
      ->type_name("HOST:PORT")
      ->check(must([](const std::string& s) { return config::split_host_port(s).has_value(); },
                   "write a name or an address with a port, e.g. mds.example.com:2049"))
      ->group(own_group);
  command.add_option("--secret", server.secret, "File of the cluster's secret, with mode 0600")
      ->required()
      ->type_name("FILE")
      ->group(own_group);
  command.add_option("--name", server.name, "What the metadata server calls it (the name of this host)")
      ->type_name("NAME")
      ->check(
          must([](const std::string& s) { return !s.empty() && s.size() <= 255; }, "write 1 to 255 bytes"))
      ->group(own_group);
  command.add_option("--listen", server.listen, "Address to listen on (all addresses); may be repeated")
      ->type_name("ADDRESS")
      ->check(must([](const std::string& s) { return rpc::parse_address(s, 0).has_value(); },
                   "write an IP address without a port; the port is --port"))
      ->allow_extra_args(false)
      ->group(own_group);
  command.add_option("--port", server.port, "TCP port (2049); 0 takes a free one")
      ->type_name("PORT")
      ->check(number(0, 65535))
      ->group(own_group);
  command.add_option("--rdma", server.rdma, "Serve RPC over RDMA too, on this port (20049)")
      ->type_name("PORT")
      ->expected(0, 1)
      ->default_str("20049")
      ->check(number(1, 65535))
      ->group(own_group);
  command
      .add_option("--advertise", server.advertise,
                  "Address that clients are told (where it listens); may be repeated")
      ->type_name("ADDRESS")
      ->check(must([](const std::string& s) { return config::parse_advertised(s, 0).has_value(); },
                   "write an IP address, with a port if it is reached by another one"))
      ->allow_extra_args(false)
      ->group(own_group);
}

void add_control_transport(CLI::App& command, std::string& name) {
  command
      .add_option("--control-transport", name,
                  "How it calls the metadata server: tcp, or rdma, to whose port --mds leads then (tcp)")
      ->type_name("tcp|rdma")
      ->check(must([](const std::string& s) { return config::parse_transport(s).has_value(); },
                   "write tcp or rdma"))
      ->group(own_group);
}

void add_control_integrity(CLI::App& command, std::string& name) {
  command
      .add_option("--control-integrity", name,
                  "What is signed between it and the metadata server: headers, or data, too (headers)")
      ->type_name("headers|data")
      ->check(
          must([](const std::string& s) { return s == "headers" || s == "data"; }, "write headers or data"))
      ->group(own_group);
}

void add_store(CLI::App& command, std::string& directory) {
  command
      .add_option("--store", directory,
                  "Keep the bytes of objects that are left alone in the store of this directory, once "
                  "(docs/pnfs.md)")
      ->type_name("STORE")
      ->group(own_group);
}

// An empty directory becomes one.
void use_store(const std::string& directory, config::Config& config) {
  if (directory.empty()) return;
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(directory, error);
  config.data_servers.back().store = "store";
  config.stores.push_back(
      {.name = "store", .directory = error ? directory : absolute.string(), .make = true});
}

void judge_control(DataServerOptions& options) {
  options.server.signs_bulk = options.control_integrity == "data";
  if (options.control_transport.empty()) return;
  options.server.control_transport = config::parse_transport(options.control_transport).value();
  if (options.server.control_transport == rpc::Transport::rdma && !options.server.rdma)
    throw CLI::ValidationError("--control-transport", "this data server has no RDMA; add --rdma");
}

}  // namespace

void add_data_server(CLI::App& app, Chosen& chosen) {
  const auto written = std::make_shared<DataServerOptions>();
  CLI::App* command = app.add_subcommand(
      "data-server", "Keep objects of striped files, for the metadata server of a cluster");
  add_own_options(*command, written->server);
  add_control_transport(*command, written->control_transport);
  add_control_integrity(*command, written->control_integrity);
  add_store(*command, written->store);
  add_process_options(*command, written->process, "Options of the process");
  command->callback([written, &chosen] {
    judge(written->process);
    judge_control(*written);
    run::ServeCommand wanted;
    wanted.config.data_servers.push_back(std::move(written->server));
    use_store(written->store, wanted.config);
    run::apply(written->process.overrides, wanted.config);
    choose(chosen, wanted, run::serve);
  });
}

}  // namespace braid::server::cli
