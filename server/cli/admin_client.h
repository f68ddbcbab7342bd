// Asking a running server on its admin socket, for the commands that do.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace braid::server::cli {

// Which server, if several run here.
struct ServerChoice {
  std::string admin_socket;   // empty: that of the file, of `port`, or of the only server
  std::string config_file{};  // of the server
  std::optional<std::uint16_t> port;
  std::chrono::milliseconds patience{30'000};  // while nothing comes
};

// The answer to one line, which carries a command as JSON. Errors, here and below, are sentences.
std::expected<std::string, std::string> ask_server(const ServerChoice& server, std::string_view request);

// The same of a request as a JSON object; an answer that is one, and no error of the server.
std::expected<nlohmann::json, std::string> ask_json(const ServerChoice& server,
                                                    const nlohmann::json& request);

// Says on standard error why `command` failed; returns the exit code.
int failed(std::string_view command, std::string_view why);

}  // namespace braid::server::cli
