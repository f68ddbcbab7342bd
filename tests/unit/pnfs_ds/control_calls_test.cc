// What the metadata server gets done by a data server.
#include "tests/unit/pnfs_ds/data_server_fixture.h"

namespace braid::pnfs_ds::test {
namespace {

using Args = pnfs::to_data_args;

class ControlCallsTest : public DataServerTest {
 protected:
  pnfs::data_status write_in_band(std::string_view text, std::uint64_t offset = 0) {
    const auto res =
        call(Args::with_write({.of = key(), .offset = offset, .stable = 0, .uid = 0, .gid = 0}), text);
    return res.write()->status;
  }
  std::string read_in_band(std::uint64_t* end = nullptr) {
    const auto res = call(Args::with_read({.of = key(), .offset = 0, .count = 1000}));
    EXPECT_EQ(res.read()->status, 0U);
    if (end != nullptr) *end = res.read()->read()->end;
    return bulk_;
  }
  pnfs::object_stat stat(bool stay_announced = false) {
    const std::array<pnfs::object_key, 1> of{key()};
    const auto res = call(Args::with_stat({of, stay_announced}));
    return res.stat()->objects[0];
  }
  pnfs::data_status truncate(std::uint64_t end, std::uint32_t epoch = 2) {
    return truncate_as(epoch, epoch, end);
  }
  pnfs::data_status truncate_as(std::uint64_t number, std::uint32_t epoch, std::uint64_t end) {
    const std::array<pnfs::object_truncation, 1> one{
        {{.fence = {.of = key(), .epoch = epoch, .last = 100}, .number = number, .end = end}}};
    const auto res = call(Args::with_truncate({one}));
    return res.truncate()->objects[0];
  }
  pnfs::data_status remove() {
    const std::array<pnfs::object_removal, 1> one{{{.of = key(), .last = 100}}};
    const auto res = call(Args::with_remove({one}));
    return res.remove()->objects[0];
  }
  pnfs::data_status fence(const pnfs::fence& one) {
    const std::array<pnfs::fence, 1> fences{one};
    return call(Args::with_fence({fences})).fence()->status;
  }
  static pnfs::data_status number(nfsstat4 status) { return static_cast<pnfs::data_status>(status); }
};

TEST_F(ControlCallsTest, in_band_and_by_handles_it_is_the_same_object) {
  std::uint64_t end = 9;
  EXPECT_EQ(read_in_band(&end), "");
  EXPECT_EQ(end, 0U);
  EXPECT_EQ(write_in_band("by the server"), 0U);
  EXPECT_EQ(write(handle(), 3, "THE"), NFS4_OK);
  EXPECT_EQ(read_in_band(&end), "by THE server");
  EXPECT_EQ(end, 13U);
  EXPECT_EQ(read(handle(13), 0, 13).data, "by THE server");
  const auto committed = call(Args::with_commit({key()}));
  EXPECT_EQ(committed.commit()->status, 0U);
  EXPECT_EQ(committed.commit()->committed()->verifier, objects_->verifier().bytes);
  EXPECT_EQ(call(Args::with_commit({key(2)})).commit()->status, 0U);
}

TEST_F(ControlCallsTest, a_change_is_told_once) {
  EXPECT_EQ(stat(), (pnfs::object_stat{.status = 0, .end = 0, .space_used = 0, .changed = false}));
  EXPECT_EQ(write(handle(), 0, "12345"), NFS4_OK);
  const pnfs::object_stat first = stat();
  EXPECT_EQ(first.end, 5U);
  EXPECT_TRUE(first.changed);
  EXPECT_FALSE(stat().changed);
  EXPECT_EQ(write_in_band("x"), 0U);
  EXPECT_TRUE(stat().changed);
}

TEST_F(ControlCallsTest, an_object_stays_announced_if_the_metadata_server_says_so) {
  EXPECT_EQ(write(handle(), 0, "12345"), NFS4_OK);
  EXPECT_EQ(metadata_.told.size(), 1U);
  EXPECT_TRUE(stat(true).changed);
  EXPECT_EQ(write(handle(), 5, "678"), NFS4_OK);
  EXPECT_EQ(metadata_.told.size(), 1U);
  const pnfs::object_stat second = stat(true);
  EXPECT_TRUE(second.changed);
  EXPECT_EQ(second.end, 8U);
  EXPECT_FALSE(stat().changed);
  EXPECT_EQ(write(handle(), 8, "9"), NFS4_OK);
  EXPECT_EQ(metadata_.told.size(), 2U);
}

// The metadata server has taken it for settled before.
TEST_F(ControlCallsTest, nothing_is_announced_by_being_asked) {
  EXPECT_EQ(write(handle(), 0, "12345"), NFS4_OK);
  (void)stat();
  (void)stat(true);
  EXPECT_EQ(write(handle(), 5, "6"), NFS4_OK);
  EXPECT_EQ(metadata_.told.size(), 2U);
}

TEST_F(ControlCallsTest, a_change_of_an_object_that_was_forgotten_is_told_too) {
  objects_max_ = 1;
  restart();
  EXPECT_EQ(write(handle(), 0, "12345"), NFS4_OK);
  for (std::uint64_t object = 2; object < 5; ++object) (void)call(Args::with_commit({key(object)}));
  EXPECT_TRUE(stat().changed);
  EXPECT_FALSE(stat().changed);
}

TEST_F(ControlCallsTest, truncation_raises_the_epoch_and_cuts) {
  EXPECT_EQ(write(handle(), 0, "0123456789"), NFS4_OK);
  EXPECT_EQ(truncate(4), 0U);
  EXPECT_EQ(stat().end, 4U);
  EXPECT_EQ(write(handle(), 8, "late"), NFS4ERR_PNFS_NO_LAYOUT);
  EXPECT_EQ(read(handle(), 0, 4).status, NFS4ERR_PNFS_NO_LAYOUT);
  pnfs::DataHandle renewed = handle(20);
  renewed.epoch = pnfs::Epoch(2);
  EXPECT_EQ(write(renewed, 6, "67"), NFS4_OK);
  EXPECT_EQ(read(renewed, 0, 10).data, std::string("0123\0\0"
                                                   "67\0\0",
                                                   10));
  EXPECT_EQ(truncate(100, 3), 0U);
  EXPECT_EQ(stat().end, 100U);
  EXPECT_EQ(truncate(~0ULL, 4), number(NFS4ERR_FBIG));
}

// The metadata server takes the file for settled then, and asks nobody.
TEST_F(ControlCallsTest, what_is_written_after_a_truncation_is_told) {
  EXPECT_EQ(write(handle(), 0, "0123456789"), NFS4_OK);
  EXPECT_EQ(metadata_.told.size(), 1U);
  EXPECT_EQ(truncate(0), 0U);
  pnfs::DataHandle renewed = handle();
  renewed.epoch = pnfs::Epoch(2);
  EXPECT_EQ(write(renewed, 0, "01234"), NFS4_OK);
  EXPECT_EQ(metadata_.told.size(), 2U);
}

TEST_F(ControlCallsTest, a_truncation_that_is_late_cuts_nothing_that_was_written_since) {
  EXPECT_EQ(write(handle(), 0, "0123456789"), NFS4_OK);
  EXPECT_EQ(truncate_as(7, 2, 4), 0U);
  EXPECT_EQ(write_in_band("newer bytes"), 0U);
  EXPECT_EQ(truncate_as(7, 2, 4), 0U);
  EXPECT_EQ(truncate_as(6, 2, 1), 0U);
  EXPECT_EQ(read_in_band(), "newer bytes");
  EXPECT_EQ(truncate_as(8, 2, 5), 0U);
  EXPECT_EQ(read_in_band(), "newer");
}

TEST_F(ControlCallsTest, a_truncation_in_the_epoch_that_is_in_force_only_cuts) {
  const auto log_bytes = [&] {
    return std::filesystem::file_size(world_.state_directory() + "/" + FenceLog::file_name);
  };
  EXPECT_EQ(write(handle(), 0, "0123456789"), NFS4_OK);
  const auto before = log_bytes();
  EXPECT_EQ(truncate_as(1, 1, 6), 0U);
  EXPECT_EQ(write(handle(), 8, "89"), NFS4_OK) << "the handle is as good as before";
  EXPECT_EQ(log_bytes(), before);
  EXPECT_EQ(read(handle(10), 0, 10).data, std::string("012345\0\0"
                                                      "89",
                                                      10));
  EXPECT_EQ(truncate_as(2, 2, 4), 0U);
  const auto raised = log_bytes();
  EXPECT_GT(raised, before);
  EXPECT_EQ(truncate_as(3, 2, 2), 0U);
  EXPECT_EQ(log_bytes(), raised);
  EXPECT_EQ(stat().end, 2U);
}

TEST_F(ControlCallsTest, an_object_that_is_not_there_is_not_made_by_a_truncation) {
  EXPECT_EQ(truncate(4), 0U);
  EXPECT_FALSE(std::filesystem::exists(object_path()));
}

TEST_F(ControlCallsTest, a_removed_object_never_comes_back) {
  EXPECT_EQ(write(handle(), 0, "x"), NFS4_OK);
  ASSERT_TRUE(std::filesystem::exists(object_path()));
  EXPECT_EQ(remove(), 0U);
  EXPECT_EQ(remove(), 0U);
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(write(handle(), 0, "x"), NFS4ERR_PNFS_NO_LAYOUT);
    EXPECT_EQ(read(handle(1), 0, 1).status, NFS4ERR_PNFS_NO_LAYOUT);
    EXPECT_EQ(write_in_band("x"), number(NFS4ERR_STALE));
    EXPECT_FALSE(std::filesystem::exists(object_path()));
    restart();
  }
}

TEST_F(ControlCallsTest, fences_outlive_a_restart) {
  pnfs::fence_epoch epoch{.of = key(), .epoch = 5, .last = 100};
  EXPECT_EQ(fence(pnfs::fence::with_epoch(epoch)), 0U);
  restart();
  EXPECT_EQ(write(handle(), 0, "x"), NFS4ERR_PNFS_NO_LAYOUT);
  pnfs::DataHandle newer = handle();
  newer.epoch = pnfs::Epoch(5);
  EXPECT_EQ(write(newer, 0, "x"), NFS4_OK);
  EXPECT_EQ(fence(pnfs::fence::with_client({.client = newer.client.value(), .last = 10})), 0U);
  EXPECT_EQ(write(newer, 0, "x"), NFS4ERR_PNFS_NO_LAYOUT);
  newer.grant = pnfs::GrantNumber(11);
  EXPECT_EQ(write(newer, 0, "x"), NFS4_OK);
  EXPECT_EQ(fence(pnfs::fence::with_lowest(12)), 0U);
  EXPECT_EQ(write(newer, 0, "x"), NFS4ERR_PNFS_NO_LAYOUT);
}

TEST_F(ControlCallsTest, what_a_truncation_leaves_in_force_outlives_a_restart) {
  EXPECT_EQ(write(handle(), 0, "bytes"), NFS4_OK);
  const std::array<pnfs::object_truncation, 1> one{{{.fence = {.of = key(),
                                                               .epoch = 2,
                                                               .last = 100,
                                                               .kept_client = handle().client.value(),
                                                               .kept_from = handle().grant.value()},
                                                     .number = 1,
                                                     .end = 0}}};
  EXPECT_EQ(call(Args::with_truncate({one})).truncate()->objects[0], 0U);
  pnfs::DataHandle returned = handle();
  returned.grant = pnfs::GrantNumber(handle().grant.value() - 1);
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(write(returned, 0, "old"), NFS4ERR_PNFS_NO_LAYOUT);
    EXPECT_EQ(write(handle(), 0, "new"), NFS4_OK);
    EXPECT_EQ(read_in_band(nullptr), "new");
    restart();
  }
}

TEST_F(ControlCallsTest, arguments_out_of_range_are_refused) {
  EXPECT_EQ(
      call(Args::with_read({.of = key(), .offset = 0, .count = pnfs::BULK_BYTES_MAX + 1})).read()->status,
      number(NFS4ERR_INVAL));
  EXPECT_EQ(
      call(Args::with_write({.of = key(), .offset = 0, .stable = 3, .uid = 0, .gid = 0})).write()->status,
      number(NFS4ERR_INVAL));
  EXPECT_EQ(write_in_band("x", 0x7fff'ffff'ffff'ffff), number(NFS4ERR_FBIG));
}

}  // namespace
}  // namespace braid::pnfs_ds::test
