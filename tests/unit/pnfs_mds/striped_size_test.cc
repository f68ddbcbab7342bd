// Size, times and space of striped files: who tells of them, and what a truncation ends.
#include <gmock/gmock.h>

#include "tests/unit/pnfs_mds/striped_fixture.h"

namespace braid::pnfs_mds::test {
namespace {

using namespace std::chrono_literals;
using vfs::Error;

class StripedSizes : public StripedTest {
 protected:
  StripedSizes() {
    add("f");
    EXPECT_TRUE(now(fs_->place(file("f"), cluster_->source(), {})));
  }
  static constexpr vfs::LeaseHolder alice{1};
  static constexpr vfs::LeaseHolder bob{2};
  static io::Op<> look(StripedSizes& self, std::uint64_t& size) {
    const vfs::FileRef at = self.file("f");
    const auto got = co_await self.fs_->getattr(at).as_result();
    size = got ? got->size : 0;
  }
  static io::Op<> grow(StripedSizes& self, std::uint64_t offset, std::string bytes, bool& written) {
    const auto done = co_await self.write("f", offset, std::move(bytes)).as_result();
    written = done.has_value();
  }
  std::optional<std::optional<pnfs::KeptHandles>> left_to_clients();
  static io::Op<> cut(StripedSizes& self, std::uint64_t size) {
    const auto done = co_await self.resize("f", size).as_result();
    EXPECT_TRUE(done.has_value());
  }
};

TEST_F(StripedSizes, a_write_raises_the_size_and_never_lowers_it) {
  EXPECT_TRUE(now(write("f", 1000, "bytes")));
  EXPECT_EQ(node("f").attributes.size, 1005U);
  const vfs::Time before = node("f").attributes.mtime;
  EXPECT_TRUE(now(write("f", 0, "bytes")));
  EXPECT_EQ(node("f").attributes.size, 1005U);
  EXPECT_GT(node("f").attributes.mtime, before);
  EXPECT_EQ(attributes("f")->size, 1005U);
  EXPECT_EQ(objects_.calls("stat"), 0U) << "nobody else writes";
}

TEST_F(StripedSizes, servers_are_asked_after_they_said_that_they_are_written_to) {
  EXPECT_FALSE(content("f")->unsettled()) << "nobody has written";
  write_elsewhere("f", 2 * unit + 10, "bytes");
  EXPECT_TRUE(content("f")->unsettled());
  EXPECT_EQ(attributes("f")->size, 2 * unit + 15);
  EXPECT_EQ(node("f").attributes.size, 2 * unit + 15);
  EXPECT_FALSE(content("f")->unsettled());
  EXPECT_EQ(objects_.calls("stat"), 3U);
  EXPECT_TRUE(attributes("f"));
  EXPECT_EQ(objects_.calls("stat"), 3U) << "they have not said so again";
  write_elsewhere("f", 2 * unit + 20, "bytes");
  EXPECT_EQ(attributes("f")->size, 2 * unit + 25);
}

// The striped content as LAYOUTCOMMIT finds it.
TEST_F(StripedSizes, a_writer_that_commits_again_and_again_need_not_be_announced_again) {
  StripedContent& striped = *content("f");
  const auto commit = [&] {
    striped.note_commit();
    return attributes("f");
  };
  write_elsewhere("f", 0, "bytes");
  EXPECT_EQ(commit()->size, 5U);
  EXPECT_FALSE(striped.unsettled()) << "the first may be the last";
  EXPECT_EQ(objects_.expecting(), 0U);
  write_elsewhere("f", 5, "bytes");
  const auto second = commit();
  EXPECT_EQ(second->size, 10U);
  EXPECT_EQ(objects_.expecting(), 3U);
  EXPECT_TRUE(striped.unsettled()) << "the servers say nothing of what is written next";
  write_unannounced("f", 10, "bytes");
  const auto third = commit();
  EXPECT_EQ(third->size, 15U);
  EXPECT_GT(third->change, second->change);
  EXPECT_EQ(objects_.expecting(), 6U);
  write_unannounced("f", 15, "bytes");
  EXPECT_EQ(attributes("f")->size, 20U) << "somebody else looks";
  EXPECT_EQ(objects_.expecting(), 6U);
  EXPECT_FALSE(striped.unsettled());
  write_elsewhere("f", 20, "bytes");
  EXPECT_EQ(commit()->size, 25U);
  EXPECT_FALSE(striped.unsettled()) << "it begins anew";
}

TEST_F(StripedSizes, a_commit_of_what_is_settled_asks_for_nobody) {
  StripedContent& striped = *content("f");
  for (int i = 0; i < 3; ++i) striped.note_commit();
  write_elsewhere("f", 0, "bytes");
  EXPECT_EQ(attributes("f")->size, 5U);
  EXPECT_FALSE(striped.unsettled());
}

TEST_F(StripedSizes, what_was_written_elsewhere_changes_the_times) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, 10))));
  const auto before = attributes("f");
  EXPECT_EQ(attributes("f")->change, before->change) << "nothing was written";
  write_elsewhere("f", 0, "other");
  const auto after = attributes("f");
  EXPECT_GT(after->change, before->change);
  EXPECT_GT(after->mtime, before->mtime);
  EXPECT_EQ(after->size, 10U);
  announce("f");
  EXPECT_GT(attributes("f")->change, after->change) << "it may have been";
}

TEST_F(StripedSizes, who_looks_at_the_same_time_shares_a_round) {
  write_elsewhere("f", 0, "bytes");
  for (std::uint32_t i = 1; i <= 3; ++i) objects_.set_slow(pnfs::ServerNumber(i), 5ms);
  run([&]() -> io::Op<> {
    std::vector<std::uint64_t> sizes(20);
    io::Gate gate;
    for (std::uint64_t& size : sizes) io::spawn(gate, look(*this, size));
    co_await gate.drained();
    EXPECT_THAT(sizes, testing::Each(5U));
  });
  EXPECT_EQ(objects_.calls("stat"), 3U);
}

TEST_F(StripedSizes, attributes_of_an_unsettled_file_wait_for_its_servers) {
  announce("f");
  objects_.set_silent(pnfs::ServerNumber(2), true);
  EXPECT_EQ(attributes("f").error(), Error::delay);
  objects_.set_silent(pnfs::ServerNumber(2), false);
  EXPECT_TRUE(attributes("f"));
  objects_.set_silent(pnfs::ServerNumber(2), true);
  EXPECT_TRUE(attributes("f")) << "it is settled";
}

TEST_F(StripedSizes, a_reader_without_a_layout_sees_what_was_written_elsewhere) {
  write_elsewhere("f", 0, "first");
  auto open = now(fs_->open(nobody_, file("f"), vfs::OpenAccess::read, vfs::OpenRule::caller)).value();
  const auto first = now(open->read(0, 100, cursor_));
  EXPECT_EQ(first->data.size(), 5U);
  EXPECT_TRUE(first->eof);
}

TEST_F(StripedSizes, after_a_restart_servers_are_asked_about_what_was_dirty) {
  write_elsewhere("f", 0, "bytes");
  start();
  EXPECT_TRUE(content("f")->unsettled());
  beat_all();
  EXPECT_EQ(attributes("f")->size, 5U);
  EXPECT_FALSE(content("f")->unsettled());
}

TEST_F(StripedSizes, after_a_restart_nobody_is_asked_about_the_others) {
  EXPECT_TRUE(now(write("f", 0, "bytes")));
  // Its stub is on the medium.
  std::vector<DirtyLog::Known> known = cluster_->dirty().look({}, 10);
  for (DirtyLog::Known& one : known) one.settled = true;
  EXPECT_TRUE(now(cluster_->dirty().clean(known)));
  start();
  EXPECT_FALSE(content("f")->unsettled());
  EXPECT_EQ(attributes("f")->size, 5U);
  EXPECT_EQ(objects_.calls("stat"), 0U);
}

TEST_F(StripedSizes, a_file_that_leaves_the_cache_stays_settled_or_not) {
  const auto forget = [&] {
    fs_ = std::make_shared<vfs::memory::MemoryFileSystem>(
        storage_, recorder_, std::vector<vfs::ContentSource*>{&cluster_->source()});
  };
  EXPECT_TRUE(now(write("f", 0, "bytes")));
  forget();
  EXPECT_FALSE(content("f")->unsettled());
  const pnfs::ObjectId object = content("f")->object();
  forget();
  EXPECT_TRUE(now(cluster_->written({object})));
  EXPECT_TRUE(content("f")->unsettled());
  forget();
  EXPECT_TRUE(content("f")->unsettled());
}

TEST_F(StripedSizes, there_is_one_content_for_who_holds_it) {
  const vfs::ContentRef held = now(fs_->content(file("f"))).value();
  cluster_->source().of(held)->begin_writing();
  fs_ = std::make_shared<vfs::memory::MemoryFileSystem>(
      storage_, recorder_, std::vector<vfs::ContentSource*>{&cluster_->source()});
  EXPECT_EQ(content("f"), held.get());
  cluster_->source().of(held)->end_writing();
}

TEST_F(StripedSizes, a_truncation_raises_the_epoch_and_cuts_all_objects) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit))));
  give_handles("f", alice);
  EXPECT_TRUE(now(resize("f", unit + 100)));
  EXPECT_EQ(content("f")->record().epoch, pnfs::Epoch(2));
  for (std::uint64_t at = 0; at < 3 * unit; at += unit) {
    const auto [server, key] = place_of("f", at);
    EXPECT_EQ(objects_.epoch(server, key), pnfs::Epoch(2));
    EXPECT_EQ(objects_.bytes(server, key)->size(), unit + 100);
  }
  EXPECT_EQ(attributes("f")->size, unit + 100);
  EXPECT_FALSE(content("f")->unsettled());
  EXPECT_EQ(now(read("f", 0, 3 * unit))->text, pattern(0, unit + 100));
  start();
  EXPECT_EQ(content("f")->record().epoch, pnfs::Epoch(2)) << "it is in the record";
}

TEST_F(StripedSizes, who_truncates_keeps_its_own_handles) {
  const auto epoch_after = [&](std::uint64_t size, vfs::LeaseHolder by) {
    EXPECT_TRUE(now(resize("f", size, by)));
    for (std::uint64_t at = 0; at < 3 * unit; at += unit) {
      const auto [server, key] = place_of("f", at);
      EXPECT_LE(objects_.bytes(server, key).value_or("").size(), size);
    }
    return content("f")->record().epoch.value();
  };
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit))));
  EXPECT_EQ(epoch_after(3 * unit - 10, {}), 1U) << "nobody has any";
  give_handles("f", alice);
  EXPECT_EQ(epoch_after(2 * unit, alice), 1U);
  EXPECT_EQ(epoch_after(2 * unit - 10, bob), 2U) << "they are not bob's";
  EXPECT_EQ(epoch_after(2 * unit - 20, bob), 2U) << "nobody has any of this epoch";
  give_handles("f", alice);
  give_handles("f", bob);
  EXPECT_EQ(epoch_after(unit, alice), 3U) << "bob has some, too";
  give_handles("f", alice);
  EXPECT_EQ(epoch_after(unit - 10, {}), 4U) << "an NFSv3 client has none";
  start();
  beat_all();
  EXPECT_EQ(epoch_after(unit - 20, alice), 5U) << "who has had any in the run before?";
}

// What all servers of the file leave to a client of the epochs before; nothing: they do not agree.
std::optional<std::optional<pnfs::KeptHandles>> StripedSizes::left_to_clients() {
  std::vector<std::optional<pnfs::KeptHandles>> all;
  for (std::uint64_t at = 0; at < 3 * unit; at += unit) {
    const auto [server, key] = place_of("f", at);
    all.push_back(objects_.kept(server, key));
  }
  if (all[0] != all[1] || all[0] != all[2]) return std::nullopt;
  return all[0];
}

constexpr auto nothing = std::make_optional(std::optional<pnfs::KeptHandles>());

TEST_F(StripedSizes, who_truncates_keeps_its_layout_when_all_others_end) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit))));
  start();
  beat_all();
  give_handles("f", alice);
  const auto of_alice = layouts_.handles({}, alice);
  EXPECT_TRUE(now(resize("f", unit, alice)));
  EXPECT_EQ(content("f")->record().epoch, pnfs::Epoch(2)) << "a run before may have granted others";
  EXPECT_EQ(left_to_clients(), of_alice);
  EXPECT_TRUE(now(resize("f", 10, alice)));
  EXPECT_EQ(content("f")->record().epoch, pnfs::Epoch(2)) << "there is only alice now";
  give_handles("f", bob);
  EXPECT_TRUE(now(resize("f", 9, alice)));
  EXPECT_EQ(content("f")->record().epoch, pnfs::Epoch(3));
  EXPECT_EQ(left_to_clients(), of_alice);
  EXPECT_TRUE(now(resize("f", 8, {})));
  EXPECT_EQ(content("f")->record().epoch, pnfs::Epoch(4));
  EXPECT_EQ(left_to_clients(), nothing);
}

TEST_F(StripedSizes, handles_of_a_layout_that_was_returned_end_by_a_truncation) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit))));
  give_handles("f", alice);
  layouts_.take_back(alice);
  give_handles("f", alice);
  const auto second = layouts_.handles({}, alice);
  EXPECT_TRUE(now(resize("f", unit, alice)));
  EXPECT_EQ(content("f")->record().epoch, pnfs::Epoch(2));
  EXPECT_EQ(left_to_clients(), second);
  layouts_.take_back(alice);
  EXPECT_TRUE(now(resize("f", 10, alice)));
  EXPECT_EQ(content("f")->record().epoch, pnfs::Epoch(3)) << "the second one was left in force";
  EXPECT_EQ(left_to_clients(), nothing);
}

// A WRITE that was sent again in-band may still come to the data server that did not answer it.
TEST_F(StripedSizes, who_has_written_in_band_by_the_side_of_its_layout_loses_it_by_a_truncation) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit))));
  give_handles("f", alice);
  EXPECT_TRUE(now(write("f", 0, "again", vfs::Stability::file_sync, alice)));
  EXPECT_TRUE(now(resize("f", unit, alice)));
  EXPECT_EQ(content("f")->record().epoch, pnfs::Epoch(2));
  EXPECT_EQ(left_to_clients(), nothing);
  EXPECT_TRUE(now(write("f", 0, "again", vfs::Stability::file_sync, alice)));
  layouts_.take_back(alice);
  give_handles("f", alice);
  EXPECT_TRUE(now(resize("f", 10, alice)));
  EXPECT_EQ(content("f")->record().epoch, pnfs::Epoch(2)) << "it has written before it got the layout";
}

TEST_F(StripedSizes, what_others_write_in_band_takes_no_layout_from_who_truncates) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit))));
  give_handles("f", alice);
  give_handles("f", bob);
  EXPECT_TRUE(now(write("f", 0, "in-band", vfs::Stability::file_sync, bob)));
  EXPECT_TRUE(now(resize("f", unit, alice)));
  EXPECT_EQ(left_to_clients(), layouts_.handles({}, alice));
  give_handles("f", bob);
  EXPECT_TRUE(now(write("f", 0, "in-band", vfs::Stability::file_sync, bob)));
  EXPECT_TRUE(now(write("f", 0, "in-band", vfs::Stability::file_sync, alice)));
  EXPECT_TRUE(now(resize("f", 10, alice)));
  EXPECT_EQ(left_to_clients(), nothing);
}

TEST_F(StripedSizes, a_server_that_was_away_leaves_the_same_layout_in_force) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit))));
  give_handles("f", bob);
  give_handles("f", alice);
  const auto [server, key] = place_of("f", unit);
  objects_.set_silent(server, true);
  EXPECT_EQ(now(resize("f", 0, alice)).error(), Error::delay);
  EXPECT_EQ(objects_.kept(server, key), std::nullopt);
  objects_.set_silent(server, false);
  EXPECT_TRUE(now(cluster_->truncations().deliver(server, Truncations::What::all)));
  EXPECT_EQ(objects_.kept(server, key), layouts_.handles({}, alice));
}

TEST_F(StripedSizes, handles_that_tell_of_more_than_there_is_left_end) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit))));
  EXPECT_EQ(give_handles("f", alice, unit), unit);
  EXPECT_TRUE(now(resize("f", unit, alice)));
  EXPECT_EQ(content("f")->record().epoch, pnfs::Epoch(1));
  EXPECT_TRUE(now(resize("f", unit - 1, alice)));
  EXPECT_EQ(content("f")->record().epoch, pnfs::Epoch(2));
}

TEST_F(StripedSizes, a_size_from_before_a_truncation_is_told_to_nobody) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit))));
  const EpochHolders holders = content("f")->holders();
  const EpochHolders::Moment before = holders.moment();
  EXPECT_TRUE(now(resize("f", unit, alice)));
  EXPECT_EQ(holders.note(alice, std::nullopt, 3 * unit, before), 0U);
  EXPECT_EQ(holders.note(alice, std::nullopt, unit, holders.moment()), unit);
  const EpochHolders::Resizing resizing(holders);
  EXPECT_EQ(holders.note(alice, std::nullopt, unit, holders.moment()), 0U);
}

TEST_F(StripedSizes, handles_end_by_a_truncation_that_failed_first) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit))));
  give_handles("f", alice);
  const auto [server, key] = place_of("f", unit);
  objects_.set_silent(server, true);
  EXPECT_EQ(now(resize("f", 10, bob)).error(), Error::delay);
  objects_.set_silent(server, false);
  EXPECT_TRUE(now(resize("f", 10, bob)));
  EXPECT_EQ(objects_.epoch(server, key), pnfs::Epoch(2)) << "this server is told, too";
}

TEST_F(StripedSizes, what_is_written_while_a_truncation_waits_is_cut_by_the_next_one) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit))));
  give_handles("f", alice);
  const pnfs::ServerNumber away = place_of("f", unit).first;
  objects_.set_silent(away, true);
  EXPECT_EQ(now(resize("f", 0, alice)).error(), Error::delay);
  write_elsewhere("f", 10, "late");
  objects_.set_silent(away, false);
  EXPECT_TRUE(now(resize("f", 0, alice)));
  const auto [server, key] = place_of("f", 10);
  EXPECT_EQ(objects_.bytes(server, key).value_or(""), "");
  EXPECT_EQ(attributes("f")->size, 0U);
}

TEST_F(StripedSizes, grown_again_it_reads_as_zeros) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit))));
  EXPECT_TRUE(now(resize("f", 10)));
  EXPECT_TRUE(now(resize("f", 2 * unit)));
  EXPECT_EQ(attributes("f")->size, 2 * unit);
  EXPECT_EQ(now(read("f", 0, 3 * unit))->text, pattern(0, 10) + std::string(2 * unit - 10, '\0'));
}

TEST_F(StripedSizes, the_same_size_once_more_changes_the_times_alone) {
  EXPECT_TRUE(now(write("f", 0, "bytes")));
  const vfs::Time before = node("f").attributes.mtime;
  objects_.forget_calls();
  EXPECT_TRUE(now(resize("f", 5)));
  EXPECT_EQ(objects_.calls(), 0U);
  EXPECT_GT(node("f").attributes.mtime, before);
  EXPECT_EQ(content("f")->record().epoch, pnfs::Epoch(1));
}

TEST_F(StripedSizes, the_same_size_once_more_ends_what_others_have_had) {
  EXPECT_TRUE(now(write("f", 0, "bytes")));
  give_handles("f", alice);
  EXPECT_TRUE(now(resize("f", 0, alice)));
  objects_.forget_calls();
  EXPECT_TRUE(now(resize("f", 0, alice)));
  EXPECT_EQ(objects_.calls(), 0U) << "there is only alice";
  // The layout of alice is recalled for bob.
  layouts_.take_back(alice);
  EXPECT_TRUE(now(resize("f", 0, bob)));
  EXPECT_EQ(content("f")->record().epoch, pnfs::Epoch(2));
  EXPECT_EQ(left_to_clients(), nothing);
  const auto [server, key] = place_of("f", 0);
  EXPECT_EQ(objects_.epoch(server, key), pnfs::Epoch(2));
  objects_.forget_calls();
  EXPECT_TRUE(now(resize("f", 0, bob)));
  EXPECT_EQ(objects_.calls(), 0U) << "there is nobody";
}

TEST_F(StripedSizes, an_unsettled_file_is_cut_whatever_its_size_seems_to_be) {
  write_elsewhere("f", 0, "bytes");
  EXPECT_TRUE(now(resize("f", 0)));
  EXPECT_EQ(attributes("f")->size, 0U);
}

// What ran before the truncation does not lengthen the file after it.
TEST_F(StripedSizes, writes_and_settlings_are_before_a_truncation_or_after_it) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, 10))));
  for (std::uint32_t i = 1; i <= 3; ++i) objects_.set_slow(pnfs::ServerNumber(i), 3ms);
  announce("f");
  run([&]() -> io::Op<> {
    io::Gate gate;
    bool first = false, second = false;
    std::uint64_t seen = 0;
    io::spawn(gate, grow(*this, unit, std::string(10, 'x'), first));
    io::spawn(gate, look(*this, seen));
    io::spawn(gate, cut(*this, 5));
    io::spawn(gate, grow(*this, 5, "y", second));
    co_await gate.drained();
    EXPECT_TRUE(first && second);
    const auto all = co_await read("f", 0, 2 * unit).as_result();
    EXPECT_EQ(all->text, pattern(0, 5) + "y");
  });
  EXPECT_EQ(attributes("f")->size, 6U);
}

TEST_F(StripedSizes, a_file_that_is_not_empty_takes_space) {
  EXPECT_EQ(attributes("f")->space, 0U);
  EXPECT_TRUE(now(write("f", 0, "x")));
  EXPECT_EQ(attributes("f")->space, 512U);
  announce("f");
  EXPECT_TRUE(now(write("f", 3 * unit - 1, "x")));
  EXPECT_TRUE(attributes("f"));
  const std::uint64_t settled = attributes("f")->space;
  EXPECT_GE(settled, unit);
  objects_.forget_calls();
  EXPECT_TRUE(now(write("f", 3 * unit, "more")));
  EXPECT_EQ(attributes("f")->space, settled + 4);
  EXPECT_EQ(objects_.calls("stat"), 0U);
}

TEST_F(StripedSizes, objects_that_are_gone_for_ever_are_an_error) {
  announce("f");
  objects_.set_error(pnfs::ServerNumber(2), Error::stale);
  EXPECT_EQ(attributes("f").error(), Error::io) << "the file is not";
  EXPECT_EQ(now(resize("f", 5)).error(), Error::io);
}

}  // namespace
}  // namespace braid::pnfs_mds::test
