// Calls to clients over the back channel of a session.
#include "callbacks_fixture.h"

namespace braid::nfs4::callback {
namespace {

constexpr std::uint32_t path_down = SEQ4_STATUS_CB_PATH_DOWN | SEQ4_STATUS_CB_PATH_DOWN_SESSION;

TEST_F(CallbacksTest, a_call_has_the_bytes_of_the_rfc) {
  run([&]() -> io::Op<> {
    const auto session = make_session();
    EXPECT_TRUE(callbacks_->reachable(session->client->id));
    Outcome out;
    recall(out, session->client->id);
    co_await settle();
    EXPECT_EQ(peer_.calls.size(), 1U);
    Bytes expected = words({0, 2, program, 1, 1, 0, 0, 0, 0});  // CALL to CB_COMPOUND, AUTH_NONE
    append(expected, words({0, 1, 0, 2}));                      // tag, minor version, ident, operations
    append(expected, words({11}));                              // CB_SEQUENCE
    append(expected, session->id);                              //
    append(expected, words({1, 0, 0, 0, 0}));                   // sequence id, slot, highest, cache, lists
    append(expected, words({4, 9, 0, 0, 0, 1, 0}));             // CB_RECALL: stateid, truncate, handle
    const Bytes& call = peer_.calls.back();
    EXPECT_EQ(Bytes(call.begin() + 4, call.end()), expected);
    answer(done(*session, 1));
    co_await settle();
    EXPECT_TRUE(out && *out);
    EXPECT_EQ(**out, NFS4_OK);
  });
}

TEST_F(CallbacksTest, the_clients_status_comes_back_and_the_slot_counts_on) {
  run([&]() -> io::Op<> {
    const auto session = make_session();
    for (std::uint32_t i = 1; i <= 3; ++i) {
      Outcome out;
      recall(out, session->client->id);
      co_await settle();
      EXPECT_EQ(sequence_of_call(), i);
      answer(done(*session, i, 0, 10008));
      co_await settle();
      EXPECT_TRUE(out && *out);
      EXPECT_EQ(**out, NFS4ERR_DELAY);
    }
  });
}

TEST_F(CallbacksTest, calls_side_by_side_use_slots_of_their_own_and_end_when_there_are_none) {
  run([&]() -> io::Op<> {
    const auto session = make_session(2);
    Outcome first;
    Outcome second;
    Outcome third;
    recall(first, session->client->id);
    recall(second, session->client->id);
    recall(third, session->client->id);
    co_await settle();
    EXPECT_EQ(peer_.calls.size(), 2U);
    EXPECT_TRUE(third && !*third && third->error() == Failure::busy);
    answer(done(*session, 1, 1));
    co_await settle();
    EXPECT_TRUE(second && *second);
    EXPECT_FALSE(first);
  });
  EXPECT_EQ(gate_.count(), 0U);
}

TEST_F(CallbacksTest, a_slot_that_is_out_of_step_counts_from_one_again) {
  run([&]() -> io::Op<> {
    const auto session = make_session();
    Outcome out;
    recall(out, session->client->id);
    co_await settle();
    answer(done(*session, 1));
    co_await settle();
    Outcome later;
    recall(later, session->client->id);
    co_await settle();
    EXPECT_EQ(sequence_of_call(), 2U);
    answer(sequence_failed(NFS4ERR_SEQ_MISORDERED));
    co_await settle();
    EXPECT_EQ(sequence_of_call(), 1U);
    answer(done(*session, 1));
    co_await settle();
    EXPECT_TRUE(later && *later);
    EXPECT_FALSE(session->back_health().fault);
  });
}

TEST_F(CallbacksTest, a_sequence_id_that_the_client_has_seen_is_not_used_again) {
  run([&]() -> io::Op<> {
    const auto session = make_session();
    Outcome out;
    recall(out, session->client->id);
    co_await settle();
    answer(sequence_failed(NFS4ERR_RETRY_UNCACHED_REP));
    co_await settle();
    EXPECT_EQ(sequence_of_call(), 2U);
    answer(done(*session, 2));
    co_await settle();
    EXPECT_TRUE(out && *out);
  });
}

TEST_F(CallbacksTest, a_client_that_refuses_the_session_is_reachable_no_more) {
  run([&]() -> io::Op<> {
    const auto session = make_session();
    Outcome out;
    recall(out, session->client->id);
    co_await settle();
    answer(sequence_failed(NFS4ERR_BADSESSION));
    co_await settle();
    EXPECT_TRUE(out && !*out && out->error() == Failure::refused);
    EXPECT_FALSE(callbacks_->reachable(session->client->id));
    EXPECT_EQ(clients_->status_flags(*session) & SEQ4_STATUS_BACKCHANNEL_FAULT,
              SEQ4_STATUS_BACKCHANNEL_FAULT);
    // Binding a connection anew clears it.
    session->bind_back(way_back_);
    EXPECT_TRUE(callbacks_->reachable(session->client->id));
  });
}

TEST_F(CallbacksTest, nonsense_is_refused) {
  const auto session_of_nobody =
      std::make_shared<state::Session>(state::SessionId(), nullptr, state::SessionOptions());
  const Bytes cases[] = {{},
                         words({0}),
                         words({0, 0, 0}),
                         words({0, 0, 1, 12, 0}),
                         done(*session_of_nobody, 1),
                         words({0, 0, 0xffffffff, 11, 0})};
  for (const Bytes& nonsense : cases) {
    SCOPED_TRACE(nonsense.size());
    rpc::Results results{rpc::test::payload_of(pool_, nonsense), 0};
    state::SessionOptions options;
    options.back.slots = 1;
    const state::Session session({std::byte{1}}, nullptr, options);
    const auto decoded = decode_in_session(results, session, {.slot = 0, .sequence = 1, .highest = 0},
                                           nfs_cb_opnum4::OP_CB_RECALL);
    EXPECT_TRUE(!decoded && decoded.error() == Failure::refused);
  }
}

TEST_F(CallbacksTest, a_connection_that_ends_ends_the_call) {
  run([&]() -> io::Op<> {
    const auto session = make_session();
    Outcome out;
    recall(out, session->client->id);
    co_await settle();
    pair_.client_end().close();
    co_await settle();
    EXPECT_TRUE(out && !*out && out->error() == Failure::no_path);
    EXPECT_FALSE(callbacks_->reachable(session->client->id));
    EXPECT_EQ(clients_->status_flags(*session), path_down);
  });
}

TEST_F(CallbacksTest, a_client_that_never_answers_ends_the_call_in_time) {
  run([&]() -> io::Op<> {
    const auto session = make_session(1);
    Outcome out;
    recall(out, session->client->id);
    co_await settle();
    co_await let_time_run_out();
    EXPECT_TRUE(out && !*out && out->error() == Failure::timed_out);
    // The client may or may not have seen it: the same sequence id finds out.
    Outcome later;
    recall(later, session->client->id);
    co_await settle();
    EXPECT_EQ(sequence_of_call(), 1U);
    answer(done(*session, 1));
    co_await settle();
    EXPECT_TRUE(later && *later);
  });
}

TEST_F(CallbacksTest, who_does_not_answer_is_told_and_trusted_again_after_the_next_answer) {
  run([&]() -> io::Op<> {
    const auto session = make_session();
    co_await miss_a_call(*session);
    EXPECT_FALSE(callbacks_->reachable(session->client->id));
    EXPECT_EQ(clients_->status_flags(*session), path_down);
    // It is called all the same: whatever the answer is, it is one.
    Outcome later;
    recall(later, session->client->id);
    co_await settle();
    answer(done(*session, 1, 0, 10008));
    co_await settle();
    EXPECT_TRUE(later && *later);
    EXPECT_TRUE(callbacks_->reachable(session->client->id));
    EXPECT_EQ(clients_->status_flags(*session), 0U);
  });
}

TEST_F(CallbacksTest, another_session_that_answers_is_a_way_to_the_client) {
  run([&]() -> io::Op<> {
    const auto session = make_session();
    co_await miss_a_call(*session);
    const auto other = clients_->with([&](state::ClientTable& table) {
      const auto made = table.create_session(session_request(session->client->id, 2), clock_.now());
      return table.find_session(made->session);
    });
    EXPECT_TRUE(callbacks_->reachable(session->client->id));
    EXPECT_EQ(clients_->status_flags(*session), SEQ4_STATUS_CB_PATH_DOWN_SESSION);
    EXPECT_EQ(clients_->status_flags(*other), 0U);
    EXPECT_EQ(clients_->back_channel_of(session->client->id), other);
  });
}

// RFC 8881 18.46.3: binding a connection ends the status. Whether anybody answers there is another matter.
TEST_F(CallbacksTest, who_binds_a_connection_after_silence_is_asked_before_it_is_trusted) {
  run([&]() -> io::Op<> {
    const auto session = make_session();
    callbacks_->probe(session);
    co_await settle();
    EXPECT_TRUE(peer_.calls.empty());
    co_await miss_a_call(*session);
    for (const bool answers : {false, true}) {
      session->bind_back(way_back_);
      EXPECT_EQ(clients_->status_flags(*session), 0U);
      EXPECT_FALSE(callbacks_->reachable(session->client->id));
      callbacks_->probe(session);
      co_await settle();
      Bytes expected = words({0, 1, 0, 1, 11});  // tag, minor version, ident, operations; CB_SEQUENCE
      append(expected, session->id);
      append(expected, words({1, 0, 0, 0, 0}));
      const Bytes& call = peer_.calls.back();
      EXPECT_EQ(Bytes(call.begin() + 40, call.end()), expected);
      if (!answers) {
        co_await let_time_run_out();
        EXPECT_EQ(clients_->status_flags(*session), path_down);
        continue;
      }
      Bytes alone = words({0, 0, 1});
      append(alone, sequence_ok(*session, 1, 0, 1));
      answer(alone);
      co_await settle();
    }
    EXPECT_TRUE(callbacks_->reachable(session->client->id));
    EXPECT_EQ(peer_.calls.size(), 3U);
  });
}

TEST_F(CallbacksTest, who_says_anew_how_to_call_it_is_asked_too) {
  run([&]() -> io::Op<> {
    const auto session = make_session();
    co_await miss_a_call(*session);
    session->set_callback(session->callback());
    EXPECT_EQ(clients_->status_flags(*session), 0U);
    callbacks_->probe(session);
    co_await settle();
    EXPECT_EQ(peer_.calls.size(), 2U);
  });
}

TEST_F(CallbacksTest, a_client_without_a_way_back_is_not_called) {
  run([&]() -> io::Op<> {
    Outcome out;
    recall(out, 77);
    co_await settle();
    EXPECT_TRUE(out && !*out && out->error() == Failure::no_path);
    EXPECT_FALSE(callbacks_->reachable(77));
  });
}

TEST_F(CallbacksTest, delegations_and_slots_are_asked_for_by_number) {
  run([&]() -> io::Op<> {
    const auto session = make_session();
    callbacks_->recall_any(session->client->id, 77);
    callbacks_->recall_slots(session, 3);
    co_await settle();
    EXPECT_EQ(peer_.calls.size(), 2U);
    const auto tail = [](const Bytes& call, std::size_t count) {
      return Bytes(call.end() - static_cast<std::ptrdiff_t>(count), call.end());
    };
    EXPECT_EQ(tail(peer_.calls[0], 16), words({8, 77, 1, 7}));  // CB_RECALL_ANY: how many, of which types
    EXPECT_EQ(tail(peer_.calls[1], 8), words({10, 3}));         // CB_RECALL_SLOT
    answer(done(*session, 1, 1));
    co_await settle();
  });
}

// RFC 8881 2.10.6.4
TEST_F(CallbacksTest, a_call_that_is_longer_than_the_client_takes_is_not_sent) {
  run([&]() -> io::Op<> {
    auto request = session_request(0, 0);
    request.back.request_bytes_max = 400;
    const auto session = make_session(request);
    const auto notify = [&](std::size_t owner_bytes) {
      callbacks_->notify_lock(
          {.client = session->client->id, .owner = std::string(owner_bytes, 'o'), .file = longest_handle()});
    };
    notify(1024);
    co_await settle();
    EXPECT_TRUE(peer_.calls.empty());
    notify(16);
    co_await settle();
    EXPECT_EQ(peer_.calls.size(), 1U);
    // The longest of those that must arrive.
    callbacks_->recall({.client = session->client, .id = {}, .file = longest_handle()});
    co_await settle();
    EXPECT_EQ(peer_.calls.size(), 2U);
    EXPECT_LE(peer_.calls.back().size(), 400U);
    answer(done(*session, 1, 1));
    co_await settle();
  });
}

}  // namespace
}  // namespace braid::nfs4::callback
