// What a server is told: by the command line, or by one TOML file. docs/configuration.md is the reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/log.h"
#include "nfs4/options.h"
#include "pnfs_mds/stripe_policy.h"
#include "rdma/registration.h"
#include "rpc/call.h"
#include "rpc/transport.h"
#include "store/chunks/compression.h"
#include "store/chunks/similarity.h"
#include "vfs/export.h"
#include "vfs/network.h"

namespace braid::server::config {

// Bounds of what clients can make a server use. 0 stands for "derived from the machine" where a comment says
// so.
struct Limits {
  std::size_t payload_bytes_max = base::MiB;            // of one READ or WRITE
  std::size_t buffer_bytes_max = base::GiB;             // slab pool: payload, records, replies
  std::size_t replay_cache_bytes_max = 16 * base::MiB;  // duplicate-request cache
  std::size_t connection_bytes_max = 16 * base::MiB;    // admitted calls and unsent replies of one connection
  unsigned connections_max = 0;                         // 0: a quarter of the descriptors, at most 65536
  unsigned open_files_max = 0;  // cached descriptors; 0: half of the descriptors, at most 65536
  unsigned blocking_threads_max = 16;
  unsigned idle_seconds = 360;            // a connection without a call is closed; 0: never
  unsigned drain_seconds = 15;            // how long running requests may take at shutdown
  unsigned lease_seconds = 90;            // NFSv4: after so long without a word a client may lose its state
  unsigned courtesy_seconds = 86400;      // NFSv4: and after so long more it does, even if nobody minds
  unsigned delegations_max = 16384;       // NFSv4: of all clients; at most an eighth of open_files_max
  unsigned clients_max = 10'000;          // NFSv4: confirmed ones
  unsigned states_max = 4U << 20;         // NFSv4: opens, locks and delegations of all clients
  unsigned client_states_max = 1U << 20;  // NFSv4: the same of one client
  unsigned file_locks_max = 1U << 14;     // NFSv4: byte ranges of a file that clients have locked
  std::size_t session_replies_bytes_max = 256 * base::MiB;  // NFSv4: kept replies of all sessions
};

// RPC over RDMA, docs/rdma.md.
struct RdmaConfig {
  bool on = false;
  std::uint16_t port = 20049;  // RFC 8267 section 8
  unsigned credits = 128;      // calls of a connection at once
  std::size_t inline_bytes_max = 4 * base::KiB;
  rdma::Registration registration = rdma::Registration::cache;
};

// A data server of a pNFS cluster.
struct DataServerConfig {
  std::string directory;               // absolute; of its objects
  std::string mds;                     // HOST:PORT of the metadata server; empty: this server's first role
  std::string secret;                  // absolute; the file of the cluster's secret
  std::string name;                    // empty: the host's name, with the port unless that is 2049
  std::vector<std::string> listen;     // numeric addresses; empty: all
  std::uint16_t port = 2049;           // 0: the system chooses one
  std::vector<std::string> advertise;  // what clients are told; empty: where it listens
  std::optional<std::uint16_t> rdma;   // RPC over RDMA too, at this port
  // By which it calls the metadata server; the port of `mds` is of that.
  rpc::Transport control_transport = rpc::Transport::tcp;
  bool signs_bulk = false;  // `control_integrity`: bytes of files that servers exchange are signed
  std::string store{};      // of its objects, which nobody else has; empty: none
};

// This server is the metadata server of a pNFS cluster.
struct PnfsConfig {
  bool on = false;
  std::string secret;  // file; empty: one is made in the state directory
  pnfs_mds::StripePolicy stripes;
  unsigned lost_seconds = 300;  // after so long without a data server its bytes are an I/O error
  // By which clients reach data servers, the first choice first; empty: as they reach this server.
  std::vector<rpc::Transport> data_transport;
  // By which this server calls data servers.
  rpc::Transport control_transport = rpc::Transport::tcp;
  bool signs_bulk = false;  // as that of DataServerConfig
};

// Where the bytes of an export's new files are.
enum class Data : std::uint8_t { local, striped };

// What cuts and hashes the bytes of a store: a card if that is sooner, the cores alone, or a card whenever
// one works.
enum class StoreHashing : std::uint8_t {
  automatic,
  cpu,
  cuda,
  oracle,    // for benchmarks: marks in the bytes say what the result would be (store/sealing/oracle.h)
  md5_tree,  // for benchmarks: the functions of a paper (hashing/sliding_job.h)
};
// Ids are not those of the store's own function.
constexpr bool is_for_benchmarks(StoreHashing hashing) {
  return hashing == StoreHashing::oracle || hashing == StoreHashing::md5_tree;
}

// When what clients write is sealed: after it was left alone; or streams while they are written, too.
enum class StoreIngest : std::uint8_t { after, window };

// A content-addressed store, docs/store.md.
struct StoreConfig {
  std::string name;                              // by which exports refer to it
  std::string directory;                         // absolute
  unsigned seal_seconds = 30;                    // what has been left alone for so long is sealed
  unsigned gc_keep_seconds = 24U * 60 * 60;      // garbage is kept for so long
  std::size_t gc_bytes_per_second = 32U << 20U;  // that are moved out of containers in use in part
  unsigned scrub_days = 30;                      // every chunk is read once in that time; 0: never
  StoreHashing hashing = StoreHashing::automatic;
  StoreIngest ingest = StoreIngest::after;
  store::Similarity similarity = store::Similarity::global;
  store::CompressionOptions compression{};  // of new chunks
  std::size_t window_bytes_max =
      0;               // of buffers that all windows hold; 0: a quarter of Limits::buffer_bytes_max
  bool guard = false;  // other processes may not open sealed files
  bool make = false;   // a directory that is empty, or not there, becomes one
};

// What some clients may do.
struct RuleConfig {
  vfs::Squash squash = vfs::Squash::root;
  std::uint32_t anon_uid = 65534;
  std::uint32_t anon_gid = 65534;
  bool read_only = false;
  std::vector<std::string> clients;  // networks in text form, valid; empty: everybody
};

// It is itself the rule of the clients that none of `rules` names.
struct ExportConfig : RuleConfig {
  std::string path;               // as clients mount it: "/" or "/name/..."
  std::string directory;          // absolute
  std::uint32_t line = 0;         // of the directory in the file; 0: it is the command line's
  std::vector<RuleConfig> rules;  // the first that names a client is his
  std::uint32_t unused_line = 0;  // of a rule that names the last of its own clients; 0: it has some
  // False: what the protocol calls stable is answered before it reaches the medium; faster, and lost at a
  // power cut.
  bool sync = true;
  std::string fsid;         // names a file system that has no UUID; empty: its device number does
  Data data = Data::local;  // striped: with PnfsConfig::on alone
  std::string store;        // the name of a StoreConfig; empty: none

  // Whether any client may change something.
  [[nodiscard]] bool writable() const;
};

struct Config {
  std::vector<std::string> listen;  // numeric addresses; empty: all
  std::uint16_t port = 2049;
  unsigned threads = 0;      // reactors; 0: one per CPU
  std::string state_dir;     // empty: default_state_dir()
  std::string admin_socket;  // empty: default_admin_socket()
  std::optional<rpc::PeerAddress> metrics;
  std::optional<bool> rpcbind;  // announce the programs to an rpcbind; unset: if the port is 2049
  base::Level log_level = base::Level::info;
  nfs4::Delegations delegations = nfs4::Delegations::read;
  std::string idmap_domain;  // of "user@domain" in NFSv4, in lower case; empty: that of the host's name
  bool send_names = false;   // owners are sent as "user@domain"
  RdmaConfig rdma;
  PnfsConfig pnfs;
  Limits limits;
  std::vector<StoreConfig> stores;
  std::vector<ExportConfig> exports;  // at least one, unless there is a data server
  std::vector<DataServerConfig> data_servers;
};

// Something wrong in a configuration file: what, and what to write instead. Line 0: the file as a whole.
struct Problem {
  std::uint32_t line = 0;
  std::string what;
};
// What a right configuration says that may not be meant.
std::vector<Problem> doubts_about(const Config& config);
// "FILE:LINE: WHAT", one line per problem, printable.
std::string problems_text(std::string_view file, const std::vector<Problem>& problems);

// All problems of `text` at once, in the order of their lines, or the configuration.
std::expected<Config, std::vector<Problem>> parse_config(std::string_view text);
// The text of a file; one that cannot be read is a problem too.
std::expected<std::string, std::vector<Problem>> read_text(const std::string& file);
// What differs between two right texts, exports aside: "[server] port", "[[store]]".
std::vector<std::string> changed_keys(std::string_view before, std::string_view after);

// Values that appear both in the file and on the command line.
std::optional<rpc::Transport> parse_transport(std::string_view text);
std::optional<vfs::Squash> parse_squash(std::string_view text);
std::string_view name_of(vfs::Squash squash);
std::optional<base::Level> parse_level(std::string_view text);
std::optional<nfs4::Delegations> parse_delegations(std::string_view text);
std::optional<rdma::Registration> parse_registration(std::string_view text);

}  // namespace braid::server::config
