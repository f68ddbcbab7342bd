// The sections of a configuration file.
#pragma once

#include <span>
#include <string_view>

#include "server/config/config.h"
#include "server/config/toml_reader.h"

namespace braid::server::config {

// A key of the file's top level, with what stands there: a table [name] as a rule, or a list of tables
// [[name]].
struct Section {
  std::string_view name;
  // Takes the key from `file`, if it is there, into `config`; says every mistake with its line, and what to
  // write.
  void (*read)(TomlReader& file, std::string_view name, Config& config);
};

// Those that a reload puts into force.
inline constexpr std::string_view exports_section = "export";

// All of them, in the order in which they are read. A new one is a file with such a function, a line here,
// and a member of Config for its values.
std::span<const Section> sections();

// Whether the server that calls another one has RDMA, and which section says so.
struct TransportNeeds {
  bool has_rdma = false;
  std::string_view section;
};
// `control_transport`, of [pnfs] and [data_server].
void read_control_transport(TomlReader& table, rpc::Transport& out, const TransportNeeds& needs);
// `control_integrity`, of the same.
void read_control_integrity(TomlReader& table, bool& signs_bulk);

// Each in a file of its own.
void read_server(TomlReader& file, std::string_view name, Config& config);
void read_limits(TomlReader& file, std::string_view name, Config& config);
void read_rdma(TomlReader& file, std::string_view name, Config& config);
void read_pnfs(TomlReader& file, std::string_view name, Config& config);
void read_data_server(TomlReader& file, std::string_view name, Config& config);
void read_stores(TomlReader& file, std::string_view name, Config& config);
void read_exports(TomlReader& file, std::string_view name, Config& config);

}  // namespace braid::server::config
