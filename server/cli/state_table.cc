// The form for people of what the admin socket says of NFSv4 clients.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "server/cli/state_command.h"
#include "server/cli/text_table.h"
#include "server/config/units.h"

namespace braid::server::cli {
namespace {

using nlohmann::json;
using Cells = std::vector<std::string>;

std::string text(const json& line, const char* key) { return line.at(key).get<std::string>(); }
std::uint64_t number(const json& line, const char* key) { return line.at(key).get<std::uint64_t>(); }
std::string number_text(const json& line, const char* key) { return std::to_string(number(line, key)); }
std::string version_text(const json& line) { return fmt::format("4.{}", number(line, "minor_version")); }
std::string age_text(const json& line) { return config::duration_text(number(line, "age_seconds")); }
std::string or_dash(std::string text) { return text.empty() ? "-" : std::move(text); }

// What a client calls an owner is often a word and numbers: "open id:\x00\x00\x00\x2a" is shown as
// "open id:0x2a".
std::string owner_text(const std::string& owner) {
  const std::size_t first = owner.find("\\x");
  if (first == owner.npos) return owner;
  std::string digits;
  for (std::size_t at = first; at < owner.size();) {
    const bool byte = owner.compare(at, 2, "\\x") == 0 && at + 4 <= owner.size();
    digits += byte ? owner.substr(at + 2, 2) : fmt::format("{:02x}", static_cast<unsigned char>(owner[at]));
    at += byte ? 4 : 1;
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return owner.substr(0, first) + "0x" + digits;
}

Cells client_row(const json& c) {
  const std::uint64_t left = number(c, "lease_left_seconds");
  return {text(c, "id"),
          or_dash(text(c, "address")),
          version_text(c),
          text(c, "state"),
          or_dash(text(c, "name")),
          age_text(c),
          left == 0 ? "-" : config::duration_text(left),
          number_text(c, "sessions"),
          number_text(c, "opens"),
          number_text(c, "locks"),
          number_text(c, "delegations")};
}

Cells session_row(const json& s) {
  return {text(s, "id"),
          text(s, "client"),
          or_dash(text(s, "address")),
          version_text(s),
          age_text(s),
          number_text(s, "slots"),
          number_text(s, "slots_target"),
          number_text(s, "slots_used"),
          number_text(s, "running"),
          config::bytes_text(number(s, "kept_bytes")),
          number_text(s, "back_slots"),
          number_text(s, "back_connections")};
}

Cells open_row(const json& o) {
  return {text(o, "client"), or_dash(text(o, "address")),  version_text(o), age_text(o), text(o, "access"),
          text(o, "deny"),   owner_text(text(o, "owner")), text(o, "file")};
}

std::string ranges_text(const json& line) {
  constexpr std::uint64_t end = UINT64_MAX;
  std::string out;
  for (const json& range : line.at("ranges")) {
    const std::uint64_t last = number(range, "last");
    out += fmt::format("{}{} {}-{}", out.empty() ? "" : ", ", text(range, "type"), number(range, "first"),
                       last == end ? std::string("end") : std::to_string(last));
  }
  const std::uint64_t more = number(line, "range_count") - line.at("ranges").size();
  if (more > 0) out += fmt::format(" and {} more", more);
  return or_dash(out);
}

Cells lock_row(const json& l) {
  return {text(l, "client"), or_dash(text(l, "address")),  version_text(l), age_text(l),
          ranges_text(l),    owner_text(text(l, "owner")), text(l, "file")};
}

Cells delegation_row(const json& d) {
  return {text(d, "client"), or_dash(text(d, "address")),
          version_text(d),   age_text(d),
          text(d, "type"),   d.at("recalled").get<bool>() ? "recalled" : "granted",
          text(d, "file")};
}

Cells layout_row(const json& l) {
  return {text(l, "client"), or_dash(text(l, "address")),
          version_text(l),   age_text(l),
          text(l, "iomode"), l.at("recalled").get<bool>() ? "recalled" : "granted",
          text(l, "file")};
}

Cells data_server_row(const json& d) {
  std::string addresses;
  for (const json& one : d.at("addresses"))
    addresses += (addresses.empty() ? "" : ", ") + one.get<std::string>();
  return {text(d, "name"),
          text(d, "state"),
          or_dash(addresses),
          number_text(d, "number"),
          config::bytes_text(number(d, "bytes_total")),
          config::bytes_text(number(d, "bytes_available")),
          number_text(d, "objects_free"),
          number_text(d, "load"),
          number_text(d, "generation")};
}

struct Layout {
  std::string_view what;
  Cells titles;
  std::size_t text_columns = 0;
  Cells (*row)(const json& line) = nullptr;
};

const Layout* layout_of(std::string_view what) {
  static const std::vector<Layout> layouts{
      {"clients",
       {"CLIENT", "ADDRESS", "NFS", "STATE", "NAME", "AGE", "LEASE LEFT", "SESSIONS", "OPENS", "LOCKS",
        "DELEGATIONS"},
       5,
       client_row},
      {"sessions",
       {"SESSION", "CLIENT", "ADDRESS", "NFS", "AGE", "SLOTS", "TARGET", "USED", "RUNNING", "KEPT",
        "BACK SLOTS", "BACK CONNECTIONS"},
       4,
       session_row},
      {"opens", {"CLIENT", "ADDRESS", "NFS", "AGE", "ACCESS", "DENY", "OWNER", "FILE"}, 8, open_row},
      {"locks", {"CLIENT", "ADDRESS", "NFS", "AGE", "RANGES", "OWNER", "FILE"}, 7, lock_row},
      {"delegations", {"CLIENT", "ADDRESS", "NFS", "AGE", "TYPE", "STATE", "FILE"}, 7, delegation_row},
      {"layouts", {"CLIENT", "ADDRESS", "NFS", "AGE", "IOMODE", "STATE", "FILE"}, 7, layout_row},
      {"data-servers",
       {"NAME", "STATE", "ADDRESSES", "NUMBER", "ROOM", "AVAILABLE", "OBJECTS FREE", "LOAD", "GENERATION"},
       3,
       data_server_row}};
  for (const Layout& layout : layouts)
    if (layout.what == what) return &layout;
  return nullptr;
}

}  // namespace

std::optional<std::string> state_table(std::string_view what, std::string_view list) {
  constexpr bool no_exceptions = false;
  const Layout* const layout = layout_of(what);
  const json report = json::parse(list, nullptr, no_exceptions);
  if (layout == nullptr || !report.is_object()) return std::nullopt;
  try {
    std::vector<Cells> rows{layout->titles};
    for (const json& line : report.at(std::string(what))) rows.push_back(layout->row(line));
    return rows.size() == 1 ? fmt::format("  No {}.\n", what) : table_text(rows, layout->text_columns);
  } catch (const json::exception&) {  // a member is missing or of another type
    return std::nullopt;
  }
}

}  // namespace braid::server::cli
