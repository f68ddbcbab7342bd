// The Unix socket that `braid status` talks to: one line of JSON in, one line of JSON out, then closed.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"

namespace braid::server {

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
// The answer to {"command":"status"}: what `status` returns, a JSON object as text; {"error":"..."} to
// anything else. Either ends with a line feed.
std::string admin_answer(std::string_view request, const std::function<std::string()>& status);

}  // namespace braid::server
