// [rdma]
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "server/config/section.h"

namespace braid::server::config {

void read_rdma(TomlReader& file, std::string_view name, Config& all) {
  auto section = file.section(name);
  if (!section) return;
  TomlReader& table = *section;
  RdmaConfig& config = all.rdma;
  using base::KiB;
  constexpr unsigned credits_max = 1024;
  table.integer<std::uint16_t>("port", config.port, 1);
  table.integer("credits", config.credits, 1u, credits_max);
  table.bytes("inline_bytes_max", config.inline_bytes_max, KiB, 64 * KiB);
  if (config.inline_bytes_max % KiB != 0)
    table.problem("inline_bytes_max", "'inline_bytes_max' is no multiple of 1 KiB; write e.g. \"4KiB\"");
  std::string registration;
  if (table.text("registration", registration, R"(registration = "cache")")) {
    if (const auto parsed = parse_registration(registration))
      config.registration = *parsed;
    else
      table.problem("registration",
                    fmt::format("'registration' is \"{}\"; write cache, dynamic or odp", registration));
  }
  table.finish();
}

}  // namespace braid::server::config
