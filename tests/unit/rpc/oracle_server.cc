#include "tests/unit/rpc/oracle_server.h"

#include "tests/unit/rpc/tcp_fixture.h"

namespace braid::rpc::test {

struct OracleServer::Parts {
  TcpServer server;
};

OracleServer::OracleServer() : parts_(std::make_unique<Parts>()) { static_assert(program == program_number); }
OracleServer::~OracleServer() = default;

std::uint16_t OracleServer::port() const { return parts_->server.address.port; }

std::vector<char> OracleServer::exchange(const std::vector<char>& message) const {
  RawClient client(parts_->server.address);
  if (!client.send(record(base::bytes_of({message.data(), message.size()})))) return {};
  const base::Bytes reply = client.receive().value_or(base::Bytes{});
  const std::string_view text = base::text_of(reply);
  return {text.begin(), text.end()};
}

}  // namespace braid::rpc::test
