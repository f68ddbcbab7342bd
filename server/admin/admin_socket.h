// The Unix socket that `braid status` and others talk to.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <utility>

#include "base/unique_fd.h"

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

// A symbolic link to a socket that is not where it is looked for; removed with its owner. One that a server
// answers through, and what is no link, stays as it is: then there is none.
class AdminLink {
 public:
  static std::optional<AdminLink> create(const std::string& path, const std::string& socket);
  AdminLink(AdminLink&& other) noexcept
      : path_(std::exchange(other.path_, {})), socket_(std::move(other.socket_)) {}
  AdminLink& operator=(AdminLink&&) = delete;
  AdminLink(const AdminLink&) = delete;
  ~AdminLink();

 private:
  AdminLink(std::string path, std::string socket) : path_(std::move(path)), socket_(std::move(socket)) {}
  std::string path_;  // empty once moved from
  std::string socket_;
};

// Connects to the socket of a running server. The error is a sentence.
std::expected<base::UniqueFd, std::string> connect_admin(const std::string& path);

}  // namespace braid::server::admin
