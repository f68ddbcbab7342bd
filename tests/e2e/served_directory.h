// A server in this process, with directories to serve in memory.
//
// Includes no header of the server: libnfs' headers define macros with the names of the protocol's constants.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

namespace braid::e2e {

// "/" is a directory that may be written, "/frozen" one that may not. Both end with this object.
class ServedDirectory {
 public:
  // Root of a client is root here, if this process may do that; otherwise every client is this process' user.
  ServedDirectory();
  ~ServedDirectory();
  ServedDirectory(const ServedDirectory&) = delete;
  ServedDirectory& operator=(const ServedDirectory&) = delete;

  // Ends the server as SIGTERM would and starts another one.
  void restart();
  // Changes with a restart.
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] const std::filesystem::path& directory() const;
  [[nodiscard]] const std::filesystem::path& frozen() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace braid::e2e
