#include "bench/load/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <map>

namespace braid::load {

namespace {

constexpr std::array<std::string_view, operation_count> names{
    "NULL", "GETATTR", "LOOKUP", "ACCESS", "READ", "WRITE", "CREATE", "REMOVE", "READDIRPLUS"};
constexpr std::array<std::string_view, 4> versions{"3", "4.0", "4.1", "4.2"};
constexpr std::uint32_t io_bytes_max = base::MiB;

std::optional<Operation> operation_named(std::string name) {
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Operation>(found - names.begin());
}

// "read:3" or "read"
std::optional<Share> parse_share(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto operation = operation_named(text.substr(0, colon));
  if (!operation) return std::nullopt;
  Share share{*operation, 1};
  if (colon == std::string::npos) return share;
  const std::string_view weight = std::string_view(text).substr(colon + 1);
  const auto [end, error] = std::from_chars(weight.data(), weight.data() + weight.size(), share.weight);
  if (error != std::errc{} || end != weight.data() + weight.size() || share.weight == 0) return std::nullopt;
  return share;
}

std::vector<Share> parse_mix(const std::vector<std::string>& texts) {
  std::vector<Share> mix;
  for (const std::string& text : texts) {
    const auto share = parse_share(text);
    if (!share) {
      throw CLI::ValidationError(
          "--op", "'" + text +
                      "' is not an operation: write e.g. read or read:7,write:3, of null, getattr, "
                      "lookup, access, read, write, create, remove, readdirplus");
    }
    mix.push_back(*share);
  }
  return mix;
}

void add_server_options(CLI::App& app, Options& options) {
  std::map<std::string, NfsVersion> by_name;
  for (std::size_t i = 0; i < versions.size(); ++i)
    by_name.emplace(versions.at(i), static_cast<NfsVersion>(i));
  app.add_option("--nfs", options.nfs, "version of NFS: 3 (default), 4.0, 4.1 or 4.2")
      ->transform(CLI::CheckedTransformer(by_name));
  app.add_option("--server", options.server, "IPv4 address of the server")->capture_default_str();
  app.add_option("--port", options.port, "port of NFS")->capture_default_str();
  app.add_option("--mount-port", options.mount_port, "port of MOUNT (version 3), if another one");
  app.add_option("--export", options.export_path, "path to mount")->capture_default_str();
  app.add_option("--uid", options.uid, "user id of the calls")->capture_default_str();
  app.add_option("--gid", options.gid, "group id of the calls")->capture_default_str();
  app.add_flag(
      "--layouts", options.layouts,
      "with --nfs 4.1 or 4.2, of a pNFS metadata server: READ and WRITE go to its data servers, and CREATE "
      "gets a layout and returns it");
  app.add_option(
      "--pid", options.pids,
      "process id of the server on this host: its CPU time and memory are measured; may be repeated, for "
      "the servers of a cluster");
  app.add_option("--alloc-count", options.alloc_count_file, "file that the server's alloc_count.so counts in")
      ->needs("--pid");
}

void add_load_options(CLI::App& app, Options& options) {
  app.add_option("--connections", options.connections, "TCP connections")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  app.add_option("--depth", options.depth, "calls in flight per connection")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  app.add_option("--rate", options.rate,
                 "open loop: calls per second; latency counts from when a call was due")
      ->check(CLI::PositiveNumber);
  auto* seconds = app.add_option("--seconds", options.seconds, "how long to measure")
                      ->capture_default_str()
                      ->check(CLI::PositiveNumber);
  app.add_option("--count", options.count, "how many calls to measure")
      ->check(CLI::PositiveNumber)
      ->excludes(seconds);
  app.add_option("--warmup", options.warmup_seconds, "seconds of load before measuring")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seed", options.seed, "of random offsets and choices")->capture_default_str();
}

void add_data_options(CLI::App& app, Options& options) {
  app.add_option("--size", options.size, "bytes per READ and WRITE (64k, 1m)")
      ->capture_default_str()
      ->transform(CLI::AsSizeValue(false));
  app.add_flag("--sequential,!--random", options.sequential,
               "order of READ and WRITE offsets (default: random)");
  app.add_flag(
      "--fresh", options.fresh,
      "WRITEs begin with an empty file, and make it longer, each with bytes of its own, which are the "
      "same with the same --seed; --file-size is how far they are to come");
  app.add_option("--from", options.from,
                 "with --fresh: the bytes are those of this file, which has at least --file-size")
      ->type_name("FILE")
      ->check(CLI::ExistingFile)
      ->needs("--fresh");
  const std::map<std::string, Stability> stabilities{{"unstable", Stability::unstable},
                                                     {"data_sync", Stability::data_sync},
                                                     {"file_sync", Stability::file_sync}};
  app.add_option("--stable", options.stability, "unstable, data_sync or file_sync")
      ->transform(CLI::CheckedTransformer(stabilities, CLI::ignore_case));
  app.add_option("--commit", options.commit_every, "a COMMIT after each so many WRITEs")
      ->check(CLI::PositiveNumber);
  app.add_option("--file-size", options.file_bytes, "bytes of the file that is read and written")
      ->capture_default_str()
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--files", options.files, "files for GETATTR, LOOKUP, ACCESS and READDIRPLUS")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000'000));
  app.add_option("--listed-size", options.listed_bytes, "bytes of each of --files, at most 1m")
      ->capture_default_str()
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--removable", options.removable, "files made beforehand for REMOVE")->capture_default_str();
  app.add_option("--ready", options.ready_command,
                 "shell command that is run when all files are there, and closed, before the load begins");
  app.add_option(
         "--after", options.after_command,
         "run by a shell when the load has ended, before the files are removed; fails the run if it fails")
      ->type_name("COMMAND");
}

}  // namespace

std::string_view name_of(NfsVersion version) { return versions.at(static_cast<std::size_t>(version)); }
std::string_view name_of(Operation operation) { return names.at(static_cast<std::size_t>(operation)); }

Parsed parse_options(int argc, char** argv) {
  CLI::App app("Drives an NFS server and reports rates, latencies and what the server spends.", "braid-load");
  Options options;
  std::vector<std::string> mix;
  app.add_option("--op", mix, "operation, or a mix with weights: read:7,write:3")->required()->delimiter(',');
  add_server_options(app, options);
  add_load_options(app, options);
  add_data_options(app, options);
  app.add_flag("--json", options.json, "print one JSON object instead of a table");
  try {
    app.parse(argc, argv);
    options.mix = parse_mix(mix);
    if (options.size == 0 || options.size > io_bytes_max || options.size > options.file_bytes)
      throw CLI::ValidationError("--size", "must be between 1 and 1 MiB and not above --file-size");
    if (options.fresh && std::ranges::any_of(options.mix, [](const Share& share) {
          return share.operation != Operation::write;
        }))
      throw CLI::ValidationError("--fresh", "is for --op write alone");
    if (options.listed_bytes > io_bytes_max)
      throw CLI::ValidationError("--listed-size", "must not be above 1 MiB");
    if (options.layouts && (options.nfs == NfsVersion::v3 || minor_of(options.nfs) == 0))
      throw CLI::ValidationError("--layouts", "needs --nfs 4.1 or 4.2");
  } catch (const CLI::ParseError& error) {
    return {std::nullopt, app.exit(error)};
  }
  if (options.fresh && options.count == 0) options.count = options.file_bytes / options.size;
  if (options.fresh) options.warmup_seconds = 0;
  if (options.mount_port == 0) options.mount_port = options.port;
  return {options, 0};
}

}  // namespace braid::load
