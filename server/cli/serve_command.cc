#include "server/cli/serve_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/exit_code.h"
#include "base/quoting.h"
#include "rpc/socket_address.h"
#include "server/cli/options.h"
#include "server/cli/process_options.h"
#include "server/config/config.h"
#include "server/config/endpoint.h"
#include "server/run/serve.h"
#include "store/chunks/compression.h"
#include "vfs/network.h"

namespace braid::server::cli {
namespace {

constexpr unsigned data_servers_max = 16;

// What the user wrote, before it is judged as a whole.
struct Written {
  std::string directory, config_file, check_file;
  std::string squash;
  std::uint32_t anon_uid = 65534, anon_gid = 65534;
  bool read_only = false, no_sync = false;
  std::vector<std::string> allow;
  std::string store, compression;
  unsigned data_servers = 0;
  std::vector<std::string> data_directories;
  ProcessOptions process;
};

void add_export_options(CLI::App& serve, Written& written) {
  const std::string group = "Options of the export (with DIR)";
  serve
      .add_option("--squash", written.squash,
                  "Whose identity becomes the anonymous one: none, root (default) or all")
      ->type_name("none|root|all")
      ->check(one_of({"none", "root", "all"}))
      ->group(group);
  serve.add_option("--anonuid", written.anon_uid, "User id of the anonymous identity (65534)")
      ->type_name("ID")
      ->check(number(0, std::numeric_limits<std::uint32_t>::max()))
      ->group(group);
  serve.add_option("--anongid", written.anon_gid, "Group id of the anonymous identity (65534)")
      ->type_name("ID")
      ->check(number(0, std::numeric_limits<std::uint32_t>::max()))
      ->group(group);
  serve.add_flag("--read-only", written.read_only, "Refuse every change")->group(group);
  serve
      .add_option("--allow", written.allow,
                  "Clients that may mount: a network or an address; may be repeated")
      ->type_name("NETWORK")
      ->check(
          must([](const std::string& s) { return vfs::Network::parse(s) && !vfs::Network::has_host_bits(s); },
               "write a network such as 10.0.0.0/8 or fd00::/8, or one address"))
      ->allow_extra_args(false)
      ->group(group);
  serve
      .add_flag("--no-sync", written.no_sync,
                "Answer before data reaches the medium: faster, and lost at a power cut")
      ->group(group);
  CLI::Option* const store =
      serve
          .add_option("--store", written.store,
                      "Keep sealed files' bytes in the store of this directory, as root (docs/store.md)")
          ->type_name("DIR")
          ->check(must([](const std::string& s) { return !s.empty(); }, "write a directory"))
          ->group(group);
  serve
      .add_option("--compression", written.compression,
                  fmt::format("Of new chunks in the store: {} (default: none)", store::compression_forms))
      ->type_name("HOW")
      ->check(must([](const std::string& s) { return store::parse_compression(s).has_value(); },
                   fmt::format("write {}", store::compression_forms)))
      ->needs(store)
      ->group(group);
}

void add_server_options(CLI::App& serve, Written& written) {
  const std::string group = "Options of the server";
  run::ServeCommand::Overrides& o = written.process.overrides;
  serve.add_option("--listen", o.listen, "Address to listen on (all addresses); may be repeated")
      ->type_name("ADDRESS")
      ->check(must([](const std::string& s) { return rpc::parse_address(s, 0).has_value(); },
                   "write an IP address without a port; the port is --port"))
      ->allow_extra_args(false)
      ->group(group);
  serve.add_option("--port", o.port, "TCP port (2049); 0 takes a free one")
      ->type_name("PORT")
      ->check(number(0, 65535))
      ->group(group);
  serve.add_option("--rdma", o.rdma_port, "Serve RPC over RDMA too, on this port (20049)")
      ->type_name("PORT")
      ->expected(0, 1)
      ->default_str("20049")
      ->check(number(1, 65535))
      ->group(group);
  add_process_options(serve, written.process, group);
}

void add_data_server_options(CLI::App& serve, Written& written) {
  const std::string group = "Data servers of this process (with DIR, as root)";
  serve
      .add_option("--data-servers", written.data_servers,
                  "Spread the bytes of new files over N data servers, on the ports after --port (pNFS)")
      ->type_name("N")
      ->check(number(1, data_servers_max))
      ->group(group);
  serve
      .add_option("--data-directory", written.data_directories,
                  "Directory of the first one's objects, then of the next one's (STATE/data-servers/dsK)")
      ->type_name("DIR")
      ->check(must([](const std::string& s) { return !s.empty(); }, "write a directory"))
      ->allow_extra_args(false)
      ->group(group);
}

Exit usage(std::string_view what) {
  return {base::exit_usage, fmt::format("braid serve: {}\nTry: braid serve --help\n", base::printable(what))};
}

// The first option about an export that was given beside a file.
std::string export_option_beside_file(const CLI::App& serve) {
  for (const char* name : {"--squash", "--anonuid", "--anongid", "--read-only", "--allow", "--no-sync",
                           "--store", "--compression"})
    if (serve.count(name) != 0) return name;
  return {};
}

std::expected<run::ServeCommand, Exit> serve_with_file(const CLI::App& serve, Written written) {
  run::ServeCommand command;
  command.check_only = serve.count("--check-config") != 0;
  command.config_file = written.check_file.empty() ? written.config_file : written.check_file;
  if (command.config_file.empty())
    return std::unexpected(usage("--check-config has no file; write --check-config FILE"));
  if (!written.config_file.empty() && written.config_file != command.config_file)
    return std::unexpected(usage("--config and --check-config name two files; write one of them"));
  if (!written.directory.empty())
    return std::unexpected(usage("DIR and a configuration file exclude each other; write one of them"));
  if (const std::string option = export_option_beside_file(serve); !option.empty())
    return std::unexpected(usage(fmt::format(
        "{} belongs to an export; with a configuration file write it there, in [[export]]", option)));
  if (written.data_servers != 0 || !written.data_directories.empty())
    return std::unexpected(usage(
        "--data-servers and --data-directory go with DIR; with a configuration file write [pnfs] there, and "
        "start each data server by braid data-server"));
  command.overrides = std::move(written.process.overrides);
  return command;
}

// What cannot work about data servers, or nothing.
std::string mistake_about_data_servers(const Written& written, const config::Config& config) {
  const auto& directories = written.data_directories;
  if (written.data_servers == 0 && !directories.empty())
    return "--data-directory is for --data-servers N, which is not there";
  if (directories.size() > written.data_servers)
    return fmt::format("{} --data-directory for {} data servers; write at most one for each",
                       directories.size(), written.data_servers);
  for (auto it = directories.begin(); it != directories.end(); ++it)
    if (std::find(directories.begin(), it, *it) != it)
      return fmt::format("--data-directory {} is there twice; each data server needs one of its own", *it);
  const auto too_high = [&](std::string_view option, std::uint16_t port) {
    return port + written.data_servers > std::numeric_limits<std::uint16_t>::max()
               ? fmt::format(
                     "the ports of {} data servers follow {} {}, and there is none above 65535; write a "
                     "lower one",
                     written.data_servers, option, port)
               : std::string();
  };
  if (std::string mistake = too_high("--port", config.port); !mistake.empty()) return mistake;
  if (config.rdma.on) return too_high("--rdma", config.rdma.port);
  return {};
}

// The store of the one export; an empty directory becomes one.
std::string mistake_about_store(const Written& written) {
  if (written.store.empty() || written.data_servers == 0) return {};
  return "--store and --data-servers exclude each other; write one of them";
}

void add_store(const Written& written, config::Config& config) {
  if (written.store.empty()) return;
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(written.store, error);
  config.exports.back().store = "store";
  config::StoreConfig store{
      .name = "store", .directory = error ? written.store : absolute.string(), .make = true};
  store.compression = store::parse_compression(written.compression).value_or(store::CompressionOptions());
  config.stores.push_back(std::move(store));
}

// Data servers that listen where the exports do, on the ports that follow.
void add_data_servers(Written& written, config::Config& config) {
  config.pnfs.on = true;
  config.exports.back().data = config::Data::striped;
  config.data_servers.resize(written.data_servers);
  unsigned number = 0;
  for (config::DataServerConfig& one : config.data_servers) {
    if (number < written.data_directories.size()) one.directory = std::move(written.data_directories[number]);
    ++number;
    one.name = fmt::format("ds{}", number);
    one.listen = config.listen;
    one.port = config.port == 0 ? 0 : static_cast<std::uint16_t>(config.port + number);
    if (config.rdma.on) one.rdma = static_cast<std::uint16_t>(config.rdma.port + number);
  }
}

std::expected<run::ServeCommand, Exit> serve_directory(const CLI::App& serve, Written written) {
  if (written.directory.empty())
    return std::unexpected(usage("nothing to serve; write braid serve DIR, or braid serve --config FILE"));
  run::ServeCommand command;
  config::ExportConfig only;
  only.path = "/";
  only.directory = std::move(written.directory);
  if (!written.squash.empty()) only.squash = *config::parse_squash(written.squash);
  for (const char* name : {"--anonuid", "--anongid"})
    if (only.squash == vfs::Squash::none && serve.count(name) != 0)
      return std::unexpected(usage(fmt::format(
          "{} has no effect with --squash none; remove it, or write --squash root or all", name)));
  only.anon_uid = written.anon_uid;
  only.anon_gid = written.anon_gid;
  only.read_only = written.read_only;
  only.sync = !written.no_sync;
  only.clients = std::move(written.allow);
  run::apply(written.process.overrides, command.config);
  command.config.exports.push_back(std::move(only));
  if (std::string mistake = mistake_about_data_servers(written, command.config); !mistake.empty())
    return std::unexpected(usage(mistake));
  if (std::string mistake = mistake_about_store(written); !mistake.empty())
    return std::unexpected(usage(mistake));
  add_store(written, command.config);
  if (written.data_servers != 0) add_data_servers(written, command.config);
  return command;
}

std::expected<run::ServeCommand, Exit> judge_serve(const CLI::App& serve, Written written) {
  judge(written.process);
  if (!written.config_file.empty() || serve.count("--check-config") != 0)
    return serve_with_file(serve, std::move(written));
  return serve_directory(serve, std::move(written));
}

}  // namespace

void add_serve(CLI::App& app, Chosen& chosen) {
  const auto written = std::make_shared<Written>();
  CLI::App* serve = app.add_subcommand("serve", "Serve a directory, or the exports of a configuration file");
  serve->add_option("DIR", written->directory, "Directory to serve; clients mount it as /")->type_name(" ");
  serve->add_option("--config", written->config_file, "TOML file that describes server and exports")
      ->type_name("FILE");
  serve
      ->add_option("--check-config", written->check_file,
                   "Say whether this TOML file, or that of --config, is right, and end")
      ->type_name("FILE")
      ->expected(0, 1);
  add_export_options(*serve, *written);
  add_server_options(*serve, *written);
  add_data_server_options(*serve, *written);
  serve->callback([serve, written, &chosen] {
    auto command = judge_serve(*serve, std::move(*written));
    if (command)
      choose(chosen, *command, run::serve);
    else
      chosen.emplace(std::unexpect, std::move(command.error()));
  });
}

}  // namespace braid::server::cli
