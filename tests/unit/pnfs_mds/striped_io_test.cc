// READ, WRITE and COMMIT of striped files by the metadata server.
#include <gmock/gmock.h>

#include "tests/unit/pnfs_mds/striped_fixture.h"

namespace braid::pnfs_mds::test {
namespace {

using namespace std::chrono_literals;
using vfs::Error;
using vfs::Stability;

class StripedIo : public StripedTest {
 protected:
  StripedIo() { add("f"); }
  static io::Op<> keep_error(vfs::VfsOp<vfs::WriteResult> op, std::optional<Error>& error) {
    const auto done = co_await std::move(op).as_result();
    if (!done) error = done.error();
  }
};

TEST_F(StripedIo, bytes_are_spread_over_the_servers_and_read_as_they_were_written) {
  constexpr std::size_t size = 5 * unit + 777;
  const auto written = now(write("f", 0, pattern(0, size)));
  ASSERT_TRUE(written);
  EXPECT_EQ(written->count, size);
  EXPECT_EQ(objects_.count(), 3U);
  for (std::uint64_t stripe = 0; stripe < 5; ++stripe) {
    const auto [server, key] = place_of("f", stripe * unit);
    EXPECT_EQ(objects_.bytes(server, key)->substr(stripe * unit, unit), pattern(stripe * unit, unit));
  }
  const auto all = now(read("f", 0, 10 * unit));
  EXPECT_EQ(all->text, pattern(0, size));
  EXPECT_TRUE(all->eof);
  const auto part = now(read("f", unit - 5, 10));
  EXPECT_EQ(part->text, pattern(unit - 5, 10));
  EXPECT_FALSE(part->eof);
  EXPECT_TRUE(now(read("f", size, 10))->eof);
  EXPECT_TRUE(now(read("f", ~std::uint64_t{0} - 10, 10))->eof);
}

TEST_F(StripedIo, dense_objects_have_no_holes) {
  start({.unit = unit, .width = 3, .packing = pnfs::Packing::dense});
  for (std::uint32_t number = 1; number <= 3; ++number) beat(number);
  constexpr std::size_t size = 7 * unit + 5;
  EXPECT_TRUE(now(write("f", 0, pattern(0, size))));
  EXPECT_EQ(now(read("f", 0, 10 * unit))->text, pattern(0, size));
  const auto [server, key] = place_of("f", 4 * unit);
  EXPECT_EQ(objects_.bytes(server, key)->substr(unit, unit), pattern(4 * unit, unit));
}

TEST_F(StripedIo, holes_and_objects_that_are_short_are_zeros_up_to_the_end_of_the_file) {
  EXPECT_TRUE(now(write("f", 4 * unit, "end")));
  const auto all = now(read("f", 0, 5 * unit));
  EXPECT_EQ(all->text, std::string(4 * unit, '\0') + "end");
  EXPECT_TRUE(all->eof);
  EXPECT_EQ(now(read("f", 100, 10))->text, std::string(10, '\0'));
}

TEST_F(StripedIo, all_servers_are_asked_before_the_first_has_answered) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit))));
  for (std::uint32_t i = 1; i <= 3; ++i) objects_.set_slow(pnfs::ServerNumber(i), 1ms);
  std::vector<std::size_t> asked;
  objects_.set_hook([&](std::string_view operation, pnfs::ServerNumber /*server*/) {
    asked.push_back(objects_.calls(operation));
  });
  run([&]() -> io::Op<> {
    const auto all = co_await read("f", 0, 3 * unit).as_result();
    EXPECT_EQ(all->text, pattern(0, 3 * unit));
  });
  EXPECT_THAT(asked, testing::ElementsAre(3U, 3U, 3U));
}

TEST_F(StripedIo, who_waits_for_a_change_that_may_run_keeps_nobody_from_cutting_the_file) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit))));
  const pnfs::ServerNumber away = place_of("f", unit).first;
  objects_.set_error(away, vfs::Error::delay);
  objects_.set_running(away, true);
  run([&]() -> io::Op<> {
    std::optional<vfs::Error> error;
    io::Gate gate;
    io::spawn(gate, keep_error(write("f", unit, pattern(unit, 10)), error));
    while (objects_.calls("write") < 4) (void)co_await io::Reactor::current()->sleep(1ms).as_result();
    objects_.set_error(away, std::nullopt);
    EXPECT_TRUE(co_await resize("f", 5).as_result());
    EXPECT_FALSE(error);
    objects_.set_running(away, false);
    co_await gate.drained();
    EXPECT_EQ(error, vfs::Error::delay);
  });
}

TEST_F(StripedIo, a_silent_server_is_waited_for_so_long_and_no_longer) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit))));
  objects_.set_silent(place_of("f", unit).first, true);
  run([&]() -> io::Op<> {
    const auto whole = co_await read("f", 0, 3 * unit).as_result();
    EXPECT_EQ(whole->text, pattern(0, unit)) << "what comes before is there";
    EXPECT_FALSE(whole->eof);
    const auto rest = co_await read("f", unit, unit).as_result();
    EXPECT_EQ(rest.error(), Error::delay);
    const auto other = co_await read("f", 2 * unit, unit).as_result();
    EXPECT_EQ(other->text, pattern(2 * unit, unit));
    const auto written = co_await write("f", unit, "x").as_result();
    EXPECT_EQ(written.error(), Error::delay);
    const auto committed = co_await commit("f").as_result();
    EXPECT_EQ(committed.error(), Error::delay);
  });
}

TEST_F(StripedIo, an_object_that_is_gone_is_an_error_of_the_medium) {
  EXPECT_TRUE(now(write("f", 0, "bytes")));
  objects_.set_error(place_of("f", 0).first, Error::stale);
  EXPECT_EQ(now(read("f", 0, 5)).error(), Error::io);
  EXPECT_EQ(now(write("f", 0, "bytes")).error(), Error::io);
}

TEST_F(StripedIo, errors_that_a_user_can_mend_stay_what_they_are) {
  EXPECT_TRUE(now(write("f", 0, "bytes")));
  objects_.set_error(place_of("f", 0).first, Error::dquot);
  EXPECT_EQ(now(write("f", 0, "bytes")).error(), Error::dquot);
}

TEST_F(StripedIo, of_a_write_that_fails_in_the_middle_the_beginning_counts) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, unit))));
  objects_.set_error(place_of("f", 2 * unit).first, Error::nospc);
  const auto written = now(write("f", unit, pattern(unit, 3 * unit)));
  ASSERT_TRUE(written);
  EXPECT_EQ(written->count, unit);
  objects_.set_error(place_of("f", 2 * unit).first, std::nullopt);
  // What lies behind has been written, and nobody was told: the servers are asked.
  EXPECT_TRUE(content("f")->unsettled());
  EXPECT_EQ(attributes("f")->size, 4 * unit);
  EXPECT_EQ(now(read("f", unit, unit))->text, pattern(unit, unit));
}

TEST_F(StripedIo, of_a_write_that_is_short_the_beginning_counts) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, unit))));
  objects_.set_short_write(place_of("f", unit).first, 100);
  const auto written = now(write("f", 0, pattern(0, 2 * unit)));
  EXPECT_EQ(written->count, unit + 100);
}

TEST_F(StripedIo, a_result_is_as_stable_as_its_least_stable_part) {
  const auto stable = now(write("f", 0, pattern(0, 2 * unit), Stability::file_sync));
  EXPECT_EQ(stable->committed, Stability::file_sync);
  const auto unstable = now(write("f", 0, pattern(0, 2 * unit), Stability::unstable));
  EXPECT_EQ(unstable->committed, Stability::unstable);
}

TEST_F(StripedIo, objects_belong_to_the_owner_of_their_file) {
  node("f").attributes.uid = 1234;
  EXPECT_TRUE(now(write("f", 0, "bytes")));
  const auto [server, key] = place_of("f", 0);
  EXPECT_EQ(objects_.owner(server, key), 1234U);
}

TEST_F(StripedIo, a_commit_after_writes_has_their_verifier) {
  const auto first = now(write("f", 0, pattern(0, unit)));
  const auto second = now(write("f", unit, pattern(unit, 2 * unit)));
  EXPECT_EQ(first->verifier, second->verifier);
  EXPECT_EQ(now(commit("f")), first->verifier);
  EXPECT_EQ(objects_.calls("commit"), 3U);
  EXPECT_EQ(content("f")->write_verifier({}), first->verifier);
}

TEST_F(StripedIo, the_restart_of_any_server_of_the_file_changes_the_verifier) {
  for (std::uint32_t number = 1; number <= 3; ++number) {
    const auto before = now(write("f", 0, pattern(0, 3 * unit)));
    objects_.restart(pnfs::ServerNumber(number));
    const auto committed = now(commit("f"));
    EXPECT_NE(committed.value(), before->verifier) << number;
    // Those who write again find that it stays.
    const auto again = now(write("f", 0, pattern(0, 3 * unit)));
    EXPECT_EQ(now(commit("f")), again->verifier) << number;
  }
}

TEST_F(StripedIo, a_write_to_one_server_has_the_verifier_of_all) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit))));
  const auto before = now(write("f", 0, "x"));
  const pnfs::ServerNumber other = place_of("f", unit).first;
  objects_.restart(other);
  beat(other.value());
  EXPECT_NE(now(write("f", 0, "x"))->verifier, before->verifier);
}

TEST_F(StripedIo, the_restart_of_the_metadata_server_changes_the_verifier) {
  const auto written = now(write("f", 0, "x"));
  start();
  for (std::uint32_t number = 1; number <= 3; ++number) beat(number);
  EXPECT_NE(now(commit("f")).value(), written->verifier);
}

TEST_F(StripedIo, an_offset_that_no_object_can_have_is_refused) {
  EXPECT_TRUE(now(write("f", 0, "x")));
  objects_.forget_calls();
  EXPECT_EQ(now(write("f", pnfs::Striping::offset_max - 1, "xyz")).error(), Error::fbig);
  EXPECT_EQ(objects_.calls(), 0U);
}

}  // namespace
}  // namespace braid::pnfs_mds::test
