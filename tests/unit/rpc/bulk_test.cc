// Calls whose bulk data comes by a pipe (rpc::BulkReceiver), and replies with such data that would be kept.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "tests/unit/rpc/tcp_fixture.h"

namespace braid::rpc {
namespace {

using namespace std::chrono_literals;
using base::Bytes;
using base::BytesView;
using test::append;
using test::fragment;
using test::opaque_of;
using test::pattern;
using test::RawClient;
using test::record;
using test::TcpServer;
using test::test_call;
using test::words;

struct Storing {
  explicit Storing(const test::TcpServerOptions& options = {})
      : file(::memfd_create("stored", MFD_CLOEXEC)), server(options) {
    server.service.file = file.get();
  }
  static Bytes call(std::uint32_t where, BytesView data, std::uint32_t last) {
    Bytes args = words({where});
    append(args, opaque_of(data));
    append(args, words({last}));
    return test_call(last, test::proc_store, args);
  }
  static Bytes reply(std::uint32_t last) { return words({last, 1, 0, 0, 0, 0, last}); }
  [[nodiscard]] Bytes stored(std::uint32_t where, std::size_t bytes) const {
    Bytes out(bytes);
    out.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::pread(file.get(), out.data(), bytes, where))));
    return out;
  }
  base::UniqueFd file;
  TcpServer server;
};

TEST(BulkTest, bulk_data_of_calls_comes_by_a_pipe_and_what_follows_it_in_memory) {
  Storing test;
  RawClient client(test.server.address);
  // A pipe may be full of small pieces at first; the record is received in memory then.
  constexpr auto sizes = std::to_array<std::size_t>({1'048'576, 1'048'573, 300'001});
  for (std::size_t i = 0; i < 60 && test.server.service.piped < 3; ++i) {
    const std::size_t size = sizes[i % sizes.size()];
    const Bytes data = pattern(size);
    Bytes stream = record(Storing::call(77, data, 5));
    append(stream, record(test_call(6, test::proc_null)));
    ASSERT_TRUE(client.send(stream));
    EXPECT_TRUE(client.receives(Storing::reply(5)));
    EXPECT_TRUE(client.receives(words({6, 1, 0, 0, 0, 0})));
    EXPECT_EQ(test.stored(77, size), data) << size;
  }
  EXPECT_GE(test.server.service.piped, 3U);
}

TEST(BulkTest, data_that_is_too_short_for_a_pipe_comes_in_memory) {
  Storing test;
  RawClient client(test.server.address);
  const Bytes data = pattern(100'000);
  ASSERT_TRUE(client.send(record(Storing::call(0, data, 5))));
  EXPECT_TRUE(client.receives(Storing::reply(5)));
  EXPECT_EQ(test.stored(0, data.size()), data);
  EXPECT_EQ(test.server.service.piped, 0U);
}

TEST(BulkTest, where_nobody_takes_pipes_all_data_comes_in_memory) {
  test::TcpServerOptions options;
  options.server.piped_arguments = false;
  Storing test(options);
  RawClient client(test.server.address);
  const Bytes data = pattern(1'048'576);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(client.send(record(Storing::call(3, data, 5))));
    EXPECT_TRUE(client.receives(Storing::reply(5)));
  }
  EXPECT_EQ(test.stored(3, data.size()), data);
  EXPECT_EQ(test.server.service.piped, 0U);
}

TEST(BulkTest, bulk_data_may_come_in_any_pieces) {
  Storing test;
  RawClient client(test.server.address);
  const Bytes data = pattern(700'003);
  const Bytes whole = record(Storing::call(0, data, 5));
  for (const std::size_t first : {3U, 30U, 47U, 52U, 200U, 70'000U, 700'040U}) {
    ASSERT_TRUE(client.send(base::BytesView(whole).first(first)));
    std::this_thread::sleep_for(5ms);
    ASSERT_TRUE(client.send(base::BytesView(whole).subspan(first)));
    EXPECT_TRUE(client.receives(Storing::reply(5)));
    EXPECT_EQ(test.stored(0, data.size()), data) << first;
  }
}

TEST(BulkTest, bulk_data_may_be_spread_over_fragments) {
  Storing test;
  RawClient client(test.server.address);
  const Bytes data = pattern(900'000);
  const Bytes body = Storing::call(0, data, 5);
  Bytes stream = fragment(base::BytesView(body).first(400'000), false);
  append(stream, fragment(base::BytesView(body).subspan(400'000), true));
  ASSERT_TRUE(client.send(stream));
  EXPECT_TRUE(client.receives(Storing::reply(5)));
  EXPECT_EQ(test.stored(0, data.size()), data);
}

TEST(BulkTest, a_length_that_lies_about_bulk_data_is_garbage) {
  Storing test;
  RawClient client(test.server.address);
  Bytes call = Storing::call(0, pattern(400'000), 5);
  // Ten header words and `where` precede it.
  for (const std::uint32_t length : {500'000U, 0xffff'ffffU}) {
    const Bytes lie = words({length});
    std::ranges::copy(lie, call.begin() + 44);
    ASSERT_TRUE(client.send(record(call)));
    EXPECT_TRUE(client.receives(words({5, 1, 0, 0, 0, 4}))) << length;
  }
  const Bytes data = pattern(200'000);
  ASSERT_TRUE(client.send(record(Storing::call(0, data, 7))));
  EXPECT_TRUE(client.receives(Storing::reply(7)));
  EXPECT_EQ(test.stored(0, data.size()), data);
}

TEST(BulkTest, a_reply_with_bytes_in_a_pipe_is_sent_and_not_kept) {
  Storing test;
  const Bytes data = pattern(100'000);
  ASSERT_EQ(::write(test.file.get(), data.data(), data.size()), static_cast<ssize_t>(data.size()));
  RawClient client(test.server.address);
  Bytes reply = words({7, 1, 0, 0, 0, 0});
  append(reply, opaque_of(data));
  for (std::uint32_t executed = 1; executed <= 2; ++executed) {
    ASSERT_TRUE(client.send(record(test_call(7, test::proc_piped_kept, words({100'000})))));
    EXPECT_TRUE(client.receives(reply));
    EXPECT_EQ(test.server.service.piped, executed);
  }
}

}  // namespace
}  // namespace braid::rpc
