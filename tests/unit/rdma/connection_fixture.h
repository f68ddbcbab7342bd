// What tests of connections have in common: a world with the test program, its calls and replies.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/gate.h"
#include "tests/unit/rdma/test_program.h"
#include "tests/unit/rdma/world.h"

namespace braid::rdma::test {

using base::Bytes;

inline Bytes call(std::uint32_t xid, std::uint32_t procedure, const Bytes& args = {}) {
  return rpc::test::call_of(xid, program_number, 1, procedure, args);
}
inline Bytes success(std::uint32_t xid, const Bytes& results = {}) {
  Bytes out = words({xid, 1, 0, 0, 0, 0});
  append(out, results);
  return out;
}
inline Bytes patterned(std::size_t bytes) {
  Bytes out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = pattern(i);
  return out;
}
inline std::uint32_t sum_of(const Bytes& bytes) {
  std::uint32_t sum = 0;
  for (const std::byte byte : bytes) sum += std::to_integer<std::uint32_t>(byte);
  return sum;
}
inline Bytes joined(Bytes first, const Bytes& second) {
  append(first, second);
  return first;
}
inline Bytes opaque(const Bytes& content) {
  Bytes out = words({static_cast<std::uint32_t>(content.size())});
  append(out, content);
  out.resize((out.size() + 3) / 4 * 4);
  return out;
}

class ConnectionTest : public testing::Test {
 protected:
  void make(const WorldOptions& options = {}) {
    programs_ = {program_of(service_)};
    world_.emplace(programs_, options);
  }
  template <class Body>
  void run(Body body, const WorldOptions& options = {}) {
    make(options);
    world_->run(body);
  }
  // What has come last since the last time; empty when nothing has.
  io::Op<Bytes> answer_to(SimClient& client) {
    co_await world_->settle();
    const std::size_t before = std::exchange(client.seen, client.messages.size());
    if (client.messages.size() == before) co_return Bytes();
    co_return client.messages.back();
  }

  TestService service_;
  std::vector<rpc::Program> programs_;
  std::optional<World> world_;
};

constexpr std::uint32_t credits_max = 128;

}  // namespace braid::rdma::test
