// A client table, and clients that come to it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string_view>
#include <utility>

#include "nfs4/state/clients/client_table.h"

namespace braid::nfs4::state {

using namespace std::chrono_literals;

inline base::Bytes bytes(std::string_view text) {
  const base::BytesView view = base::bytes_of(text);
  return {view.begin(), view.end()};
}

inline Verifier verifier(std::uint8_t number) {
  Verifier out{};
  out[0] = std::byte{number};
  return out;
}

inline Principal user(std::uint32_t uid) {
  return {.flavor = Principal::sys, .uid = uid, .gid = uid, .name = {}};
}

inline PeerBytes address(std::uint8_t number) {
  PeerBytes out{};
  out.back() = number;
  return out;
}

class ClientTableTest : public testing::Test {
 protected:
  static constexpr std::uint32_t epoch = 5;

  static Introduction who(std::string_view owner, std::uint8_t verifier_number = 1, std::uint32_t uid = 10,
                          std::uint32_t minor = 1) {
    return {.minor_version = minor,
            .owner = bytes(owner),
            .verifier = verifier(verifier_number),
            .principal = user(uid),
            .address = address(1),
            .peer = "192.0.2.1:700",
            .implementation = {},
            .machine = std::nullopt};
  }
  static CreateSessionRequest request(clientid4 client, std::uint32_t sequence, std::uint32_t uid = 10) {
    const ChannelAttributes channel{.request_bytes_max = 8192,
                                    .response_bytes_max = 8192,
                                    .cached_bytes_max = 2048,
                                    .operations_max = 16,
                                    .slots = 8};
    return {.client = client,
            .sequence = sequence,
            .flags = 0,
            .fore = channel,
            .back = channel,
            .callback = {},
            .principal = user(uid),
            .address = address(1),
            .connection = {}};
  }
  ExchangeIdOutcome introduce(Introduction introduction) {
    const auto outcome = table_.exchange_id(std::move(introduction), false, now_);
    EXPECT_TRUE(outcome);
    return outcome.value_or(ExchangeIdOutcome());
  }
  // A confirmed client with a session.
  CreateSessionOutcome confirmed(std::string_view owner, std::uint8_t verifier_number = 1,
                                 std::uint32_t uid = 10) {
    const ExchangeIdOutcome outcome = introduce(who(owner, verifier_number, uid));
    const auto session = table_.create_session(request(outcome.client, outcome.sequence, uid), now_);
    EXPECT_TRUE(session);
    return session.value_or(CreateSessionOutcome());
  }
  static clientid4 client_of(const SessionId& id) {
    clientid4 out = 0;
    for (std::size_t i = 0; i < 8; ++i) out = (out << 8) | std::to_integer<clientid4>(id[i]);
    return out;
  }
  std::set<clientid4> gone() {
    std::set<clientid4> out;
    for (const auto& one : table_.take_gone()) out.insert(one.client->id);
    return out;
  }

  ClientOptions options_{.lease = 90s, .courtesy = 1h};
  std::set<clientid4> holders_;
  base::TimePoint now_{1000s};
  ClientTable table_{options_, epoch, base::SipKey{1, 2},
                     [this](clientid4 id) { return holders_.contains(id); }};
};

}  // namespace braid::nfs4::state
