// What a run does, as given on the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace braid::load {

// The versions of the protocol that can be driven.
enum class NfsVersion : std::uint8_t { v3, v4_0, v4_1, v4_2 };
// "4.1"
std::string_view name_of(NfsVersion version);
// Of one of version 4.
constexpr std::uint32_t minor_of(NfsVersion version) {
  return static_cast<std::uint32_t>(version) - static_cast<std::uint32_t>(NfsVersion::v4_0);
}

// What can be driven, in the order of the NFSv3 procedures.
enum class Operation : std::uint8_t {
  null,
  getattr,
  lookup,
  access,
  read,
  write,
  create,
  remove,
  readdirplus
};
constexpr std::size_t operation_count = 9;
// "GETATTR"
std::string_view name_of(Operation operation);

// RFC 1813 3.3.7, stable_how.
enum class Stability : std::uint8_t { unstable, data_sync, file_sync };

struct Share {
  Operation operation = Operation::null;
  unsigned weight = 1;
};

struct Options {
  // The server, who calls it, and how.
  NfsVersion nfs = NfsVersion::v3;
  std::string server = "127.0.0.1";
  std::uint16_t port = 2049;
  std::uint16_t mount_port = 0;  // 0: the same as port
  std::string export_path = "/";
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  bool layouts = false;  // 4.1 and later: reads and writes go to data servers

  // The load. With a rate calls start on a fixed schedule (open loop); without, when the one before has
  // ended.
  std::vector<Share> mix{{Operation::null, 1}};
  unsigned connections = 1;
  unsigned depth = 1;  // calls in flight per connection; in open loop the most
  double rate = 0;     // calls per second over all connections; 0: closed loop
  double seconds = 5;
  double warmup_seconds = 1;
  std::uint64_t count = 0;  // calls to measure; 0: as many as fit into `seconds`
  std::uint64_t seed = 1;

  // The data.
  std::uint32_t size = 4096;  // bytes per READ and WRITE
  bool sequential = false;
  bool fresh = false;  // WRITEs fill an empty file, in order, each with bytes of its own
  std::string from;    // with `fresh`: the file whose bytes these are; empty: random ones
  Stability stability = Stability::unstable;
  std::uint64_t commit_every = 0;  // WRITEs, after which COMMIT follows; 0: none does
  std::uint64_t file_bytes = 256 * base::MiB;
  std::uint32_t files = 1000;        // for GETATTR, LOOKUP, ACCESS, READDIRPLUS
  std::uint32_t listed_bytes = 0;    // of each of them
  std::uint64_t removable = 50'000;  // files made beforehand for REMOVE

  // A shell command that is run when all files are there, and closed, before the load begins.
  std::string ready_command;
  std::string after_command;  // and when it has ended

  // What is measured besides.
  std::vector<int> pids;         // the server's process, on this host; of a cluster all of them
  std::string alloc_count_file;  // of alloc_count.so, if the server runs with it

  bool json = false;
};

// The options, or what main() has to return: the help text and messages about mistakes have then been
// printed.
struct Parsed {
  std::optional<Options> options;
  int exit_code = 0;
};
Parsed parse_options(int argc, char** argv);

}  // namespace braid::load
