// The Unix socket that `braid status` and others talk to: one line of JSON in, one line of JSON out, then
// closed. docs/admin-socket.md describes the lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "io/op.h"

namespace braid::server::admin {

// A listening socket file of mode 0600, removed with its owner. A file left over by a dead server is
// replaced; one that a server answers on is not.
class AdminSocket {
 public:
  // The error is a sentence. Changes the process' umask for a moment: to be called before there are threads.
  static std::expected<AdminSocket, std::string> create(const std::string& path);
  AdminSocket(AdminSocket&& other) noexcept
      : path_(std::exchange(other.path_, {})), listener_(std::move(other.listener_)) {}
  AdminSocket& operator=(AdminSocket&&) = delete;
  AdminSocket(const AdminSocket&) = delete;
  ~AdminSocket();

  [[nodiscard]] const std::string& path() const { return path_; }
  // Hands out the listening descriptor, once.
  base::UniqueFd take_listener() { return std::move(listener_); }

 private:
  AdminSocket(std::string path, base::UniqueFd listener)
      : path_(std::move(path)), listener_(std::move(listener)) {}
  std::string path_;  // empty once moved from
  base::UniqueFd listener_;
};

// Connects to the socket of a running server. The error is a sentence.
std::expected<base::UniqueFd, std::string> connect_admin(const std::string& path);

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
// Something that may be asked for: `answer` returns JSON without line feeds. The request outlives the Op.
struct AdminCommand {
  std::string_view name;
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
