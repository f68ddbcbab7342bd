// [pnfs]
#include <fmt/format.h>

#include <string>
#include <string_view>

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

}  // namespace

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
  table.finish();
}

}  // namespace braid::server::config
