// The form for people of the report that `braid status` asks a server for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace braid::server::cli {

// The report as tables; nothing if `json` is no such report (another version's, or an error).
std::optional<std::string> status_table(std::string_view json);

}  // namespace braid::server::cli
