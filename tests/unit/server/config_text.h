// Configurations for tests, as text.
#pragma once

#include <string>
#include <string_view>

#include "server/config/config.h"

namespace braid::server::config {

inline constexpr std::string_view one_export = R"(
[[export]]
path = "/data"
directory = "/srv/data"
)";

// All complaints about a file of this text, or "right".
inline std::string complaints(const std::string& text) {
  const auto config = parse_config(text);
  return config ? "right" : problems_text("braid.toml", config.error());
}

}  // namespace braid::server::config
