// The calling side against our own server: every form of call and reply.
#include <gtest/gtest.h>

#include <array>
#include <span>

#include "tests/unit/rdma/client_fixture.h"
#include "tests/unit/rdma/connection_fixture.h"

namespace braid::rdma {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): the words of these tests

// Lengths of items. Trivial, as g++ 12 destroys twice what is made in an expression that is awaited.
struct Lengths {
  std::array<std::uint32_t, 4> of{};
  std::size_t count = 0;
  [[nodiscard]] std::span<const std::uint32_t> all() const { return std::span(of).first(count); }
};
template <class... Bytes>
Lengths lengths(Bytes... bytes) {
  return {{static_cast<std::uint32_t>(bytes)...}, sizeof...(bytes)};
}
// Room for results that are eligible items of these lengths and nothing else.
template <class... Bytes>
rpc::CallOptions room_for(Bytes... bytes) {
  rpc::CallOptions options;
  const Lengths all = lengths(bytes...);
  for (const std::uint32_t one : all.all()) options.room.items.at(options.room.item_count++) = one;
  options.room.rest_bytes = 4 * sizeof...(bytes);
  return options;
}
// Room for results without such items.
rpc::CallOptions room_for_rest(std::uint32_t bytes) {
  rpc::CallOptions options;
  options.room.rest_bytes = bytes;
  return options;
}

class ClientTest : public ConnectionTest {
 protected:
  // Runs body(), a coroutine, with a caller that is connected to the world's server.
  template <class Body>
  void call_server(Body body, const RdmaClientOptions& options = {}, const WorldOptions& world = {}) {
    run(
        [&]() -> io::Op<> {
          caller_.emplace(world_->loop.reactor(), pool_, world_->client_host, options);
          co_await caller_->connector.connect(world_->address, caller_->client);
          co_await body();
          // Of what was offered nothing is left before the connection ends.
          EXPECT_EQ(world_->client_host.stats().regions,
                    caller_->pool.stats().bytes_mapped / io::region_bytes);
          co_await caller_->close();
          co_await world_->settle();
          caller_.reset();
          EXPECT_EQ(pool_.stats().bytes_used, 0U);
        },
        world);
    EXPECT_EQ(world_->client_host.stats().regions, 0U);
  }
  static rpc::ProcedureId id(std::uint32_t procedure) { return {program_number, 1, procedure}; }
  // WRITE of so many bytes: what the server says of them.
  io::Op<Bytes> write(std::size_t bytes) {
    const io::Payload data = caller_->payload(patterned(bytes));
    auto results = co_await caller_->client
                       .call(id(proc_write), {},
                             [&](xdr::Encoder& out) {
                               out.ddp_payload(data);
                               out.u32(99);
                             })
                       .as_result();
    co_return results ? results_bytes(*results) : Bytes();
  }
  static Bytes results_bytes(const rpc::Results& results) {
    const Bytes all = bytes_of(results.message);
    return {all.begin() + static_cast<std::ptrdiff_t>(results.offset), all.end()};
  }
  static Bytes written(std::size_t bytes) {
    return words({static_cast<std::uint32_t>(bytes), sum_of(patterned(bytes)), 99});
  }
  // READ of items of these lengths.
  io::Op<std::vector<Bytes>> read(Lengths wanted, rpc::CallOptions options) {
    auto results = co_await caller_->client
                       .call(id(proc_read), options,
                             [&](xdr::Encoder& out) {
                               out.u32(static_cast<std::uint32_t>(wanted.count));
                               for (const std::uint32_t one : wanted.all()) out.u32(one);
                             })
                       .as_result();
    std::vector<Bytes> out;
    if (!results) co_return out;
    xdr::Arena arena;
    xdr::Decoder in = results->decoder(arena);
    for (std::size_t i = 0; i < wanted.count; ++i) {
      io::Payload item;
      EXPECT_TRUE(in.ddp_payload(item, 2'000'000));
      out.push_back(bytes_of(item));
    }
    EXPECT_EQ(in.remaining(), 0U);
    co_return out;
  }
  [[nodiscard]] const RdmaMetrics& metrics() const { return world_->metrics; }

  io::SlabPool pool_{{.bytes_max = 64 * base::MiB, .huge_pages = false}};
  std::optional<Caller> caller_;
};

TEST_F(ClientTest, short_calls_and_replies_are_inline_and_offer_nothing) {
  call_server([&]() -> io::Op<> {
    const std::uint64_t before = world_->client_host.stats().registrations;
    auto null = co_await caller_->client.call(id(proc_null), {}, no_arguments).as_result();
    EXPECT_TRUE(null.has_value());
    const Bytes answer = co_await write(3000);
    EXPECT_EQ(answer, written(3000));
    const auto items = co_await read(lengths(1000, 0, 7), room_for(1000, 0, 7));
    EXPECT_EQ(items, (std::vector<Bytes>{patterned(1000), {}, patterned(7)}));
    EXPECT_EQ(metrics().read_chunks.value() + metrics().write_chunks.value(), 0U);
    // The pool grew at most.
    EXPECT_LE(world_->client_host.stats().registrations - before, 2U);
  });
}

TEST_F(ClientTest, data_of_a_call_goes_in_a_read_chunk) {
  call_server([&]() -> io::Op<> {
    for (const std::size_t bytes : {4097UL, 70'001UL, 1'048'576UL}) {
      const Bytes answer = co_await write(bytes);
      EXPECT_EQ(answer, written(bytes));
    }
    EXPECT_EQ(metrics().read_chunks.value(), 3U);
    EXPECT_EQ(metrics().bytes_read.value(), 4097U + 70'001 + 1'048'576);
  });
}

TEST_F(ClientTest, a_long_call_goes_as_a_chunk_itself) {
  call_server([&]() -> io::Op<> {
    const Bytes data = patterned(9001);
    auto results = co_await caller_->client
                       .call(id(proc_write), {},
                             [&](xdr::Encoder& out) {
                               out.opaque(data);
                               out.u32(99);
                             })
                       .as_result();
    EXPECT_TRUE(results.has_value());
    if (results) {
      EXPECT_EQ(results_bytes(*results), written(9001));
    }
    EXPECT_GT(metrics().bytes_read.value(), 9001U);
    EXPECT_EQ(metrics().read_chunks.value(), 1U);
  });
}

TEST_F(ClientTest, a_long_call_may_have_data_in_read_chunks_as_well) {
  const RdmaClientOptions options{.inline_bytes = 1024};
  call_server(
      [&]() -> io::Op<> {
        const io::Payload data = caller_->payload(patterned(9001));
        rpc::AuthSys sys{.stamp = 1, .machinename = "host", .uid = 1, .gid = 2, .group_count = 0};
        // Segments of 1000 bytes make the header too long for the message to fit behind it.
        rpc::CallOptions call{.auth = sys};
        auto results = co_await caller_->client
                           .call(id(proc_write), call,
                                 [&](xdr::Encoder& out) {
                                   out.ddp_payload(data);
                                   out.u32(99);
                                   for (int i = 0; i < 300; ++i) out.u32(0);
                                 })
                           .as_result();
        EXPECT_TRUE(results.has_value());
        if (results) {
          EXPECT_EQ(results_bytes(*results), written(9001));
        }
        EXPECT_EQ(metrics().read_chunks.value(), 2U);
      },
      options);
}

TEST_F(ClientTest, data_of_a_reply_comes_through_write_chunks_to_where_it_stays) {
  call_server([&]() -> io::Op<> {
    const auto items = co_await read(lengths(99'999, 0, 5000), room_for(100'000, 0, 5000));
    EXPECT_EQ(items, (std::vector<Bytes>{patterned(99'999), {}, patterned(5000)}));
    EXPECT_EQ(metrics().write_chunks.value(), 2U);
    EXPECT_EQ(metrics().bytes_written.value(), 99'999U + 5000);
  });
}

TEST_F(ClientTest, a_long_reply_comes_through_the_reply_chunk) {
  call_server([&]() -> io::Op<> {
    auto results = co_await caller_->client
                       .call(id(proc_list), room_for_rest(20'000), [](xdr::Encoder& out) { out.u32(10'001); })
                       .as_result();
    EXPECT_TRUE(results.has_value());
    if (results) {
      EXPECT_EQ(results_bytes(*results), opaque(patterned(10'001)));
    }
    EXPECT_EQ(metrics().reply_chunks.value(), 1U);
    // Room that a reply does not need goes back unused.
    auto list = co_await caller_->client
                    .call(id(proc_list), room_for_rest(20'000), [](xdr::Encoder& out) { out.u32(10); })
                    .as_result();
    EXPECT_TRUE(list.has_value());
    EXPECT_EQ(metrics().reply_chunks.value(), 1U);
  });
}

TEST_F(ClientTest, memory_is_offered_in_segments_of_at_most_the_given_size) {
  const RdmaClientOptions options{.segment_bytes_max = 4096};
  call_server(
      [&]() -> io::Op<> {
        const Bytes answer = co_await write(70'001);
        EXPECT_EQ(answer, written(70'001));
        EXPECT_EQ(world_->host.stats().count(Opcode::read), 18U);
        const auto items = co_await read(lengths(70'001), room_for(70'001));
        EXPECT_EQ(items, (std::vector<Bytes>{patterned(70'001)}));
        EXPECT_EQ(world_->host.stats().count(Opcode::write), 18U);
        // All of the latter are one registration, so the server could invalidate its key.
        EXPECT_EQ(metrics().invalidated.value(), 1U);
      },
      options);
}

TEST_F(ClientTest, what_needs_more_segments_than_a_header_has_room_for_is_refused) {
  const RdmaClientOptions options{.segment_bytes_max = 1024};
  call_server(
      [&]() -> io::Op<> {
        const io::Payload data = caller_->payload(patterned(300'000));
        auto results = co_await caller_->client
                           .call(id(proc_write), {}, [&](xdr::Encoder& out) { out.ddp_payload(data); })
                           .as_result();
        EXPECT_TRUE(!results && results.error() == rpc::CallError::refused);
        const Bytes answer = co_await write(5000);
        EXPECT_EQ(answer, written(5000));
      },
      options);
}

TEST_F(ClientTest, a_reply_that_has_no_room_fails_its_call_alone) {
  call_server([&]() -> io::Op<> {
    auto list = co_await caller_->client
                    .call(id(proc_list), room_for_rest(0), [](xdr::Encoder& out) { out.u32(10'000); })
                    .as_result();
    EXPECT_TRUE(!list && list.error() == rpc::CallError::refused);
    const auto items = co_await read(lengths(5001), room_for(5000));
    EXPECT_TRUE(items.empty());
    const Bytes answer = co_await write(5000);
    EXPECT_EQ(answer, written(5000));
  });
}

TEST_F(ClientTest, more_calls_than_credits_wait_and_all_are_answered) {
  WorldOptions world;
  world.rdma.credits = 4;
  call_server(
      [&]() -> io::Op<> {
        std::vector<Caller::Outcome> outcomes(50);
        for (Caller::Outcome& outcome : outcomes) caller_->start(outcome, proc_wait, {}, no_arguments);
        std::size_t most = 0;
        for (int round = 0; round < 60; ++round) {
          co_await world_->settle();
          most = std::max(most, service_.waiting.size());
          service_.release();
        }
        EXPECT_EQ(most, 4U);
        for (const Caller::Outcome& outcome : outcomes) EXPECT_TRUE(outcome && outcome->has_value());
        EXPECT_EQ(metrics().closed_credits.value(), 0U);
      },
      {}, world);
}

TEST_F(ClientTest, memory_that_is_exhausted_fails_the_call_alone) {
  call_server([&]() -> io::Op<> {
    std::vector<io::SlabRef> hog;
    for (;;) {
      auto slab = caller_->pool.acquire(io::SlabSize::large);
      if (!slab) break;
      hog.push_back(std::move(*slab));
    }
    auto none = co_await read(lengths(1'000'000), room_for(1'000'000));
    EXPECT_TRUE(none.empty());
    hog.clear();
    const auto items = co_await read(lengths(1'000'000), room_for(1'000'000));
    EXPECT_EQ(items, (std::vector<Bytes>{patterned(1'000'000)}));
  });
}

TEST_F(ClientTest, a_registration_that_fails_fails_the_call_alone) {
  call_server([&]() -> io::Op<> {
    const io::Payload data = caller_->payload(patterned(5000));
    world_->client_host.refuse_registrations(1);
    auto results =
        co_await caller_->client.call(id(proc_write), {}, [&](xdr::Encoder& out) { out.ddp_payload(data); })
            .as_result();
    EXPECT_TRUE(!results && results.error() == rpc::CallError::no_memory);
    const Bytes answer = co_await write(5000);
    EXPECT_EQ(answer, written(5000));
  });
}

TEST_F(ClientTest, a_server_that_goes_away_ends_every_call) {
  call_server([&]() -> io::Op<> {
    std::vector<Caller::Outcome> outcomes(5);
    for (Caller::Outcome& outcome : outcomes)
      caller_->start(outcome, proc_wait, room_for(100'000), no_arguments);
    co_await world_->settle();
    co_await world_->rdma->close();
    co_await world_->settle();
    for (const Caller::Outcome& outcome : outcomes)
      EXPECT_TRUE(outcome && !*outcome && outcome->error() == rpc::CallError::closed);
    EXPECT_FALSE(caller_->client.connected());
    EXPECT_EQ(caller_->connector.connections(), 0U);
    service_.release();
    co_await world_->settle();
  });
}

}  // namespace
}  // namespace braid::rdma
