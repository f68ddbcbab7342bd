// [pnfs]
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "pnfs/striping.h"
#include "server/config/section.h"

namespace braid::server::config {
namespace {

using pnfs::Packing;
using pnfs::Striping;

void read_packing(TomlReader& table, PnfsConfig& config) {
  std::string packing;
  if (!table.text("packing", packing, R"(packing = "sparse")")) return;
  if (packing != "sparse" && packing != "dense")
    table.problem("packing", fmt::format("'packing' is \"{}\"; write \"sparse\" or \"dense\"", packing));
  if (packing == "dense") config.stripes.packing = Packing::dense;
  Striping striping{.unit = config.stripes.unit, .width = config.stripes.width, .packing = Packing::sparse};
  const bool fits = striping.valid();
  striping.packing = config.stripes.packing;
  if (fits && !striping.valid())
    table.problem("packing",
                  "'packing' is \"dense\", and 'stripe_unit' times 'width' is 4 GiB or more, which stops the "
                  "kernel of Linux clients; write \"sparse\", or smaller ones");
}

constexpr std::string_view transport_example = R"(data_transport = ["rdma", "tcp"])";

// "same", one transport, or a list.
void read_data_transport(TomlReader& table, PnfsConfig& config) {
  const toml::node* const node = table.node("data_transport");
  if (node == nullptr) return;
  std::vector<std::string> names;
  if (node->is_string()) {
    names.emplace_back();
    table.text("data_transport", names.front(), transport_example);
    if (names.front() == "same") return;
  } else {
    table.texts("data_transport", names, transport_example);
  }
  const auto refuse = [&table](std::string_view what) {
    table.problem("data_transport",
                  fmt::format("'data_transport' {}; write \"same\", or a list of \"tcp\" and "
                              "\"rdma\" in the order of preference, e.g. {}",
                              what, transport_example));
  };
  if (names.empty()) refuse("names no transport");
  for (const std::string& name : names) {
    const auto one = parse_transport(name);
    if (!one || std::ranges::find(config.data_transport, *one) != config.data_transport.end())
      return refuse(fmt::format("holds \"{}\"{}", name, one ? " twice" : ""));
    config.data_transport.push_back(*one);
  }
}

}  // namespace

void read_control_transport(TomlReader& table, rpc::Transport& out, const TransportNeeds& needs) {
  std::string name;
  if (!table.text("control_transport", name, R"(control_transport = "rdma")")) return;
  if (const auto one = parse_transport(name))
    out = *one;
  else
    table.problem("control_transport",
                  fmt::format("'control_transport' is \"{}\"; write \"tcp\" or \"rdma\"", name));
  if (out == rpc::Transport::rdma && !needs.has_rdma)
    table.problem("control_transport",
                  fmt::format("'control_transport' is \"rdma\", and this server has no RDMA; write rdma = "
                              "true in [{}]",
                              needs.section));
}

void read_control_integrity(TomlReader& table, bool& signs_bulk) {
  std::string name = "headers";
  if (!table.text("control_integrity", name, R"(control_integrity = "data")")) return;
  signs_bulk = name == "data";
  if (!signs_bulk && name != "headers")
    table.problem("control_integrity",
                  fmt::format("'control_integrity' is \"{}\"; write \"headers\" or \"data\"", name));
}

void read_pnfs(TomlReader& file, std::string_view name, Config& all) {
  auto section = file.section(name);
  if (!section) return;
  TomlReader& table = *section;
  PnfsConfig& config = all.pnfs;
  config.on = true;
  table.absolute_path("secret", config.secret, R"(secret = "/etc/braid/pnfs.secret")");
  std::size_t unit = config.stripes.unit;
  if (table.bytes("stripe_unit", unit, Striping::unit_min, Striping::unit_max)) {
    if (unit % Striping::unit_step != 0)
      table.problem("stripe_unit", "'stripe_unit' is no multiple of 4 KiB; write e.g. \"1MiB\"");
    config.stripes.unit = static_cast<std::uint32_t>(unit);
  }
  table.integer<std::uint32_t>("width", config.stripes.width, 1, Striping::width_max);
  read_packing(table, config);
  table.integer("lost_seconds", config.lost_seconds, 10u, 86400u);
  read_data_transport(table, config);
  read_control_transport(table, config.control_transport, {.has_rdma = all.rdma.on, .section = "server"});
  read_control_integrity(table, config.signs_bulk);
  table.finish();
}

}  // namespace braid::server::config
