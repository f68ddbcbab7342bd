// The test server for tests that include libtirpc, whose names clash with those of rpc_msg.x: nothing of ours
// shows.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace braid::rpc::test {

// Serves the test program (tests/unit/rpc/test_program.h) on the loopback address until it is destroyed.
class OracleServer {
 public:
  static constexpr std::uint32_t program = 0x2000'0101;
  OracleServer();
  ~OracleServer();
  OracleServer(const OracleServer&) = delete;
  OracleServer& operator=(const OracleServer&) = delete;
  [[nodiscard]] std::uint16_t port() const;
  // Sends one record on a connection of its own and returns the record that comes back; empty when none does.
  [[nodiscard]] std::vector<char> exchange(const std::vector<char>& message) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace braid::rpc::test
