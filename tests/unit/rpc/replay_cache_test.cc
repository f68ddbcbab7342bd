#include "rpc/replay_cache.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/manual/manual_clock.h"
#include "base/unique_fd.h"
#include "io/pipe.h"
#include "rpc/bulk_receiver.h"
#include "rpc/call_header.h"
#include "tests/unit/rpc/bytes.h"

namespace braid::rpc {
namespace {

using namespace std::chrono_literals;

KeptReply reply_of(std::string_view text) {
  auto data = std::make_shared_for_overwrite<std::byte[]>(text.size());
  std::ranges::copy(base::bytes_of(text), data.get());
  return {std::move(data), static_cast<std::uint32_t>(text.size())};
}
std::string text_of(const KeptReply& reply) { return std::string(base::text_of(reply.view())); }

ReplayKey key_of(std::uint32_t xid, std::uint64_t checksum = 1) {
  return {.client = {}, .xid = xid, .program = 3, .version = 4, .procedure = 5, .checksum = checksum};
}

class ReplayShardTest : public testing::Test {
 protected:
  // Executes a call and keeps its reply.
  void execute(ReplayShard& shard, const ReplayKey& key, std::string_view reply, base::TimePoint now) {
    ReplayWaiter waiter;
    const ReplayLookup looked = shard.look_up(key, &waiter, now);
    ASSERT_EQ(looked.state, ReplayState::execute);
    ASSERT_EQ(shard.finish(looked.entry, reply_of(reply), now), nullptr);
  }
  ReplayState state_of(ReplayShard& shard, const ReplayKey& key, base::TimePoint now) {
    return shard.look_up(key, &waiter_, now).state;
  }

  base::ManualClock clock_;
  ReplayWaiter waiter_;
  const ReplayLimits wide_{.entries_max = 100, .bytes_max = 100'000, .age_max = 60s};
};

TEST_F(ReplayShardTest, a_repeated_call_gets_the_first_reply) {
  ReplayShard shard(wide_);
  execute(shard, key_of(1), "first", clock_.now());
  const ReplayLookup again = shard.look_up(key_of(1), &waiter_, clock_.now());
  ASSERT_EQ(again.state, ReplayState::done);
  EXPECT_EQ(text_of(again.reply), "first");
  EXPECT_EQ(shard.stats().hits, 1U);
  EXPECT_EQ(shard.stats().misses, 1U);
}

TEST_F(ReplayShardTest, any_part_of_the_key_makes_another_call) {
  ReplayShard shard(wide_);
  execute(shard, key_of(1), "first", clock_.now());
  std::vector<ReplayKey> others(6, key_of(1));
  others[0].client[15] = 9;
  others[1].xid = 2;
  others[2].program = 9;
  others[3].version = 9;
  others[4].procedure = 9;
  others[5].checksum = 9;
  for (const ReplayKey& other : others) EXPECT_EQ(state_of(shard, other, clock_.now()), ReplayState::execute);
}

TEST_F(ReplayShardTest, a_duplicate_of_a_running_call_waits_and_is_handed_back) {
  ReplayShard shard(wide_);
  const ReplayLookup first = shard.look_up(key_of(1), &waiter_, clock_.now());
  ReplayWaiter second;
  ReplayWaiter third;
  EXPECT_EQ(shard.look_up(key_of(1), &second, clock_.now()).state, ReplayState::running);
  EXPECT_EQ(shard.look_up(key_of(1), &third, clock_.now()).state, ReplayState::running);
  const ReplayWaiter* waiters = shard.finish(first.entry, reply_of("x"), clock_.now());
  EXPECT_EQ(waiters, &third);
  EXPECT_EQ(waiters->next, &second);
  EXPECT_EQ(second.next, nullptr);
  EXPECT_EQ(shard.stats().running_hits, 2U);
}

TEST_F(ReplayShardTest, an_abandoned_call_is_executed_by_the_next_one) {
  ReplayShard shard(wide_);
  const ReplayLookup first = shard.look_up(key_of(1), &waiter_, clock_.now());
  ReplayWaiter second;
  EXPECT_EQ(shard.look_up(key_of(1), &second, clock_.now()).state, ReplayState::running);
  EXPECT_EQ(shard.abandon(first.entry), &second);
  EXPECT_EQ(state_of(shard, key_of(1), clock_.now()), ReplayState::execute);
  EXPECT_EQ(shard.stats().entries, 1U);
}

TEST_F(ReplayShardTest, the_least_recently_used_entry_goes_first) {
  ReplayShard shard({.entries_max = 3, .bytes_max = 100'000, .age_max = 60s});
  for (std::uint32_t xid = 1; xid <= 3; ++xid) execute(shard, key_of(xid), "r", clock_.now());
  ASSERT_EQ(state_of(shard, key_of(1), clock_.now()), ReplayState::done);  // 2 is the oldest now
  execute(shard, key_of(4), "r", clock_.now());
  EXPECT_EQ(state_of(shard, key_of(1), clock_.now()), ReplayState::done);
  EXPECT_EQ(state_of(shard, key_of(3), clock_.now()), ReplayState::done);
  EXPECT_EQ(state_of(shard, key_of(4), clock_.now()), ReplayState::done);
  EXPECT_EQ(shard.stats().evictions, 1U);
  EXPECT_EQ(state_of(shard, key_of(2), clock_.now()), ReplayState::execute);
}

TEST_F(ReplayShardTest, who_has_the_most_makes_room_for_others) {
  ReplayShard shard({.entries_max = 8, .bytes_max = 100'000, .age_max = 60s});
  const auto of = [](std::uint8_t host, std::uint32_t xid) {
    ReplayKey key = key_of(xid);
    key.client.back() = static_cast<std::uint8_t>(host);
    key.client[0] = host;  // another network of IPv6
    return key;
  };
  for (std::uint32_t xid = 1; xid <= 2; ++xid) execute(shard, of(1, xid), "r", clock_.now());
  for (std::uint32_t xid = 1; xid <= 1000; ++xid) execute(shard, of(2, xid), "r", clock_.now());
  for (std::uint32_t xid = 1; xid <= 2; ++xid)
    EXPECT_EQ(state_of(shard, of(1, xid), clock_.now()), ReplayState::done) << xid;
  for (std::uint32_t xid = 1; xid <= 3; ++xid) execute(shard, of(3, xid), "r", clock_.now());
  EXPECT_EQ(state_of(shard, of(2, 1000), clock_.now()), ReplayState::done);
  for (std::uint32_t xid = 1; xid <= 2; ++xid)
    EXPECT_EQ(state_of(shard, of(1, xid), clock_.now()), ReplayState::done) << xid;
  EXPECT_EQ(shard.stats().entries, 8U);
}

TEST_F(ReplayShardTest, bytes_are_bounded_by_giving_up_old_entries) {
  const std::string large(1000, 'x');
  ReplayShard shard({.entries_max = 1000, .bytes_max = 10'000, .age_max = 60s});
  for (std::uint32_t xid = 0; xid < 100; ++xid) {
    execute(shard, key_of(xid), large, clock_.now());
    ASSERT_LE(shard.stats().bytes, 10'000U);
  }
  EXPECT_EQ(state_of(shard, key_of(99), clock_.now()), ReplayState::done);
  EXPECT_GT(shard.stats().evictions, 80U);
}

TEST_F(ReplayShardTest, a_reply_larger_than_the_cache_is_not_kept) {
  ReplayShard shard({.entries_max = 1000, .bytes_max = 1'000, .age_max = 60s});
  execute(shard, key_of(1), std::string(2000, 'x'), clock_.now());
  EXPECT_EQ(shard.stats().entries, 0U);
  EXPECT_EQ(shard.stats().bytes, 0U);
}

TEST_F(ReplayShardTest, running_entries_are_never_given_up) {
  ReplayShard shard({.entries_max = 2, .bytes_max = 100'000, .age_max = 60s});
  ASSERT_EQ(state_of(shard, key_of(1), clock_.now()), ReplayState::execute);
  ASSERT_EQ(state_of(shard, key_of(2), clock_.now()), ReplayState::execute);
  clock_.advance(1h);
  EXPECT_EQ(state_of(shard, key_of(3), clock_.now()), ReplayState::uncached);
  ReplayWaiter duplicate;
  EXPECT_EQ(shard.look_up(key_of(1), &duplicate, clock_.now()).state, ReplayState::running);
  EXPECT_EQ(shard.stats().uncached, 1U);
}

TEST_F(ReplayShardTest, an_entry_ends_with_its_age_since_its_last_use) {
  ReplayShard shard(wide_);
  execute(shard, key_of(1), "r", clock_.now());
  clock_.advance(50s);
  EXPECT_EQ(state_of(shard, key_of(1), clock_.now()), ReplayState::done);
  clock_.advance(60s);
  EXPECT_EQ(state_of(shard, key_of(1), clock_.now()), ReplayState::done);
  clock_.advance(60s + 1ns);
  EXPECT_EQ(state_of(shard, key_of(1), clock_.now()), ReplayState::execute);
}

TEST_F(ReplayShardTest, aged_entries_go_when_others_come) {
  ReplayShard shard(wide_);
  for (std::uint32_t xid = 1; xid <= 10; ++xid) execute(shard, key_of(xid), "r", clock_.now());
  clock_.advance(61s);
  execute(shard, key_of(11), "r", clock_.now());
  EXPECT_EQ(shard.stats().entries, 1U);
  EXPECT_EQ(shard.stats().evictions, 10U);
}

TEST_F(ReplayShardTest, addresses_come_and_go_with_their_calls) {
  ReplayShard shard(wide_);
  const auto key_from = [](std::uint32_t address, std::uint32_t xid) {
    ReplayKey key = key_of(xid, address * 0x9e37'79b9'7f4a'7c15U);
    key.client[0] = static_cast<std::uint8_t>(address);
    return key;
  };
  for (std::uint32_t round = 0; round < 3; ++round)
    for (std::uint32_t address = 1; address <= 3; ++address) {
      const ReplayLookup looked = shard.look_up(key_from(address, round), &waiter_, clock_.now());
      ASSERT_EQ(looked.state, ReplayState::execute);
      if (address == 2)
        EXPECT_EQ(shard.finish(looked.entry, reply_of("two"), clock_.now()), nullptr);
      else
        EXPECT_EQ(shard.abandon(looked.entry), nullptr);
    }
  EXPECT_EQ(shard.stats().entries, 3U);
  for (std::uint32_t round = 0; round < 3; ++round)
    EXPECT_EQ(state_of(shard, key_from(2, round), clock_.now()), ReplayState::done);
  clock_.advance(61s);
  EXPECT_EQ(state_of(shard, key_from(1, 0), clock_.now()), ReplayState::execute);
  EXPECT_EQ(shard.stats().entries, 1U);
}

TEST_F(ReplayShardTest, many_calls_come_and_go) {
  ReplayShard shard({.entries_max = 64, .bytes_max = 100'000, .age_max = 60s});
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    const ReplayKey key = key_of(i, i * 0x9e37'79b9'7f4a'7c15U);
    execute(shard, key, std::to_string(i), clock_.now());
    if (i < 64) continue;
    const std::uint32_t back = i - i % 64;
    const ReplayLookup looked =
        shard.look_up(key_of(back, back * 0x9e37'79b9'7f4a'7c15U), &waiter_, clock_.now());
    ASSERT_EQ(looked.state, ReplayState::done);
    ASSERT_EQ(text_of(looked.reply), std::to_string(back));
  }
  EXPECT_EQ(shard.stats().entries, 64U);
}

class ReplayKeyTest : public testing::Test {
 protected:
  ReplayKeyTest() : pool_({.bytes_max = 64 * base::MiB, .huge_pages = false}), cursor_(pool_) {}
  ReplayKey key_of_message(const base::Bytes& message, std::uint16_t port = 700) {
    PeerAddress peer;
    peer.bytes[15] = 1;
    peer.port = port;
    Call call(test::payload_of(pool_, message), peer, cursor_);
    EXPECT_EQ(decode_call_header(call).verdict, HeaderVerdict::call);
    return replay_key_of(call, sip_key_);
  }
  static base::Bytes as_user(std::uint32_t stamp, std::uint32_t uid, base::BytesView args) {
    base::Bytes out = test::words({1, 0, 2, 3, 4, 5, 1, 20, stamp, 0, uid, 0, 0, 0, 0});
    test::append(out, args);
    return out;
  }
  io::SlabPool pool_;
  io::SlabCursor cursor_;
  const base::SipKey sip_key_{1, 2};
};

TEST_F(ReplayKeyTest, the_port_and_the_stamp_do_not_matter) {
  const base::Bytes args = test::words({1, 2, 3});
  EXPECT_EQ(key_of_message(as_user(1, 5, args), 700), key_of_message(as_user(2, 5, args), 900));
}

TEST_F(ReplayKeyTest, the_user_and_the_arguments_matter) {
  const base::Bytes args = test::words({1, 2, 3});
  const ReplayKey key = key_of_message(as_user(1, 5, args));
  EXPECT_NE(key, key_of_message(as_user(1, 6, args)));
  EXPECT_NE(key, key_of_message(as_user(1, 5, test::words({1, 2, 4}))));
  EXPECT_NE(key, key_of_message(as_user(1, 5, test::words({1, 2, 3, 0}))));
}

TEST_F(ReplayKeyTest, of_a_kib_all_matters_and_of_more_the_beginning_and_the_length) {
  const auto differs_at = [&](std::size_t size, std::size_t at) {
    base::Bytes args(size);
    const ReplayKey key = key_of_message(as_user(1, 5, args));
    args[at] = std::byte{1};
    return key_of_message(as_user(1, 5, args)) != key;
  };
  EXPECT_TRUE(differs_at(1024, 1023));
  EXPECT_TRUE(differs_at(5000, 255));
  EXPECT_FALSE(differs_at(5000, 256));
  EXPECT_NE(key_of_message(as_user(1, 5, base::Bytes(5000))),
            key_of_message(as_user(1, 5, base::Bytes(5004))));
}

TEST_F(ReplayKeyTest, bulk_data_does_not_matter_whether_it_is_in_a_pipe_or_in_memory) {
  base::Bytes head = test::words({0, 0, 3, 22, 4, 7, 38, 1, 0, 0, 0, 0, 0, 2, 16 * base::KiB});
  io::PipePool pipes;
  const base::UniqueFd file(::memfd_create("piped", MFD_CLOEXEC));
  constexpr std::size_t piece = 16 * base::KiB;
  ASSERT_EQ(::ftruncate(file.get(), piece), 0);
  const base::Bytes rest(2 * BulkReceiver::bytes_min);
  const auto key_of_parts = [&](bool piped) {
    io::Payload message = test::payload_of(pool_, as_user(1, 5, head));
    io::SlabRef pipe = pipes.take().value();
    EXPECT_EQ(pipe.pipe()->fill(file.get(), 0, piece).value(), piece);
    if (piped)
      message.append({std::move(pipe), 0, piece});
    else
      message.append(test::payload_of(pool_, base::Bytes(piece)));
    message.append(test::payload_of(pool_, rest));
    Call call(std::move(message), PeerAddress{}, cursor_);
    EXPECT_EQ(decode_call_header(call).verdict, HeaderVerdict::call);
    return replay_key_of(call, sip_key_);
  };
  const ReplayKey key = key_of_parts(false);
  EXPECT_EQ(key, key_of_parts(true));
  head[23] = std::byte{8};
  EXPECT_NE(key, key_of_parts(true));
}

TEST_F(ReplayKeyTest, a_kept_reply_is_a_copy_without_headroom) {
  base::Bytes message = test::words({0x11111111, 1, 2, 3});
  KeptReply kept;
  {
    const io::Payload payload = test::payload_of(pool_, message, 6);
    kept = copy_reply(payload, 4);
  }
  EXPECT_EQ(pool_.stats().bytes_used, 0U);
  EXPECT_TRUE(base::equal(kept.view(), test::words({1, 2, 3})));
}

TEST_F(ReplayKeyTest, no_copy_is_kept_of_a_reply_with_bytes_in_a_pipe) {
  io::PipePool pipes;
  const base::UniqueFd file(::memfd_create("piped", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), 4096), 0);
  io::SlabRef pipe = pipes.take().value();
  ASSERT_EQ(pipe.pipe()->fill(file.get(), 0, 4096).value(), 4096U);
  io::Payload message = test::payload_of(pool_, test::words({1, 2, 3}));
  message.append({std::move(pipe), 0, 4096});
  EXPECT_EQ(copy_reply(message, 4).data, nullptr);
}

TEST(ReplayCacheTest, stats_are_those_of_all_shards) {
  ReplayCache cache({}, {1, 2});
  ReplayWaiter waiter;
  for (std::uint64_t i = 0; i < 32; ++i) {
    const ReplayKey key = key_of(1, i << 59);
    const ReplayLookup looked = cache.look_up(key, &waiter, {});
    ASSERT_EQ(looked.state, ReplayState::execute);
    EXPECT_EQ(cache.finish(key, looked.entry, reply_of("abc"), {}), nullptr);
    EXPECT_EQ(cache.look_up(key, &waiter, {}).state, ReplayState::done);
  }
  EXPECT_EQ(cache.stats().misses, 32U);
  EXPECT_EQ(cache.stats().hits, 32U);
  EXPECT_EQ(cache.stats().entries, 32U);
}

}  // namespace
}  // namespace braid::rpc
