// What is said on the admin socket: one line of JSON in, one line of JSON out, then it is closed.
// docs/admin-socket.md describes the lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/op.h"

namespace braid::server::admin {

constexpr std::size_t admin_request_bytes_max = 4096;

// Whether a line has ended.
bool admin_complete(std::string_view so_far);

// What a line asks for.
struct AdminRequest {
  std::string command;
  std::optional<std::uint64_t> client;
  std::string path;  // of an export; empty: none
  std::string from;  // what the page before said to go on with; empty: from the beginning
};
// What a command is called, on the admin socket and on the command line, and what it does, in a line.
struct CommandName {
  std::string_view name;
  std::string_view help;
};
// Something that may be asked for: `answer` returns JSON without line feeds. The request outlives the Op.
struct AdminCommand {
  CommandName called;
  std::function<io::Op<std::string>(const AdminRequest& request)> answer;
};
// The answer to a line: what the command of that name says; {"error":"..."} if there is none. Ends with a
// line feed. The commands outlive the Op.
io::Op<std::string> admin_answer(std::string_view line, const std::vector<AdminCommand>& commands);
// {"error":"..."}
std::string admin_error(std::string_view what);

// A client's id as people write it: "0x500000001", or decimal.
std::optional<std::uint64_t> parse_client(std::string_view text);

}  // namespace braid::server::admin
