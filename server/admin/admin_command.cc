#include "server/admin/admin_command.h"

#include <fmt/format.h>

#include <charconv>
#include <expected>
#include <nlohmann/json.hpp>
#include <utility>

namespace braid::server::admin {
namespace {

constexpr bool no_exceptions = false;

// The request, or what is wrong with it.
std::expected<AdminRequest, std::string_view> parse_request(std::string_view line) {
  const nlohmann::json object =
      nlohmann::json::parse(line.substr(0, line.find('\n')), nullptr, no_exceptions);
  if (!object.is_object()) return std::unexpected("the request is no JSON object");
  const auto command = object.find("command");
  if (command == object.end() || !command->is_string())
    return std::unexpected("the request has no \"command\"");
  AdminRequest request{.command = *command, .client = std::nullopt, .path = {}, .from = {}};
  if (const auto client = object.find("client"); client != object.end()) {
    if (client->is_string()) request.client = parse_client(client->get<std::string>());
    if (!request.client) return std::unexpected("\"client\" is no client's id, such as \"0x500000001\"");
  }
  if (const auto path = object.find("path"); path != object.end()) {
    if (!path->is_string()) return std::unexpected("\"path\" is no text");
    request.path = *path;
  }
  if (const auto from = object.find("from"); from != object.end()) {
    if (!from->is_string()) return std::unexpected("\"from\" is no text");
    request.from = *from;
  }
  return request;
}

io::Op<std::string> run(const AdminCommand& command, AdminRequest request) {
  const std::string answer = co_await command.answer(request);
  co_return answer + "\n";
}

}  // namespace

bool admin_complete(std::string_view so_far) { return so_far.find('\n') != std::string_view::npos; }

std::string admin_error(std::string_view what) { return nlohmann::json{{"error", what}}.dump(); }

io::Op<std::string> admin_answer(std::string_view line, const std::vector<AdminCommand>& commands) {
  if (!admin_complete(line)) return admin_error("the request is no line of at most 4096 bytes") + "\n";
  auto request = parse_request(line);
  if (!request) return admin_error(request.error()) + "\n";
  for (const AdminCommand& command : commands)
    if (command.called.name == request->command) return run(command, std::move(*request));
  std::string known;
  for (const AdminCommand& command : commands) known += fmt::format(" {}", command.called.name);
  return admin_error("unknown command; known:" + known) + "\n";
}

std::optional<std::uint64_t> parse_client(std::string_view text) {
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id, hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return id;
}

}  // namespace braid::server::admin
