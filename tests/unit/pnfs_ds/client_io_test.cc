// What clients get from a data server for their handles.
#include <sys/stat.h>

#include "tests/unit/pnfs_ds/data_server_fixture.h"

namespace braid::pnfs_ds::test {
namespace {

std::string zeros(std::size_t count) { return std::string(count, '\0'); }

class ClientIo : public DataServerTest {
 protected:
  Read ok(std::string data, bool eof) { return {NFS4_OK, std::move(data), eof}; }
  static Read refused(nfsstat4 status = NFS4ERR_PNFS_NO_LAYOUT) { return {status, {}, false}; }
  std::uint64_t size_on_disk() const {
    struct stat now{};
    return ::stat(object_path().c_str(), &now) == 0 ? static_cast<std::uint64_t>(now.st_size) : 0;
  }
  // As the metadata server asks.
  void stat_object() {
    const std::array<pnfs::object_key, 1> of{key()};
    EXPECT_EQ(call(pnfs::to_data_args::with_stat({of, false})).stat()->objects[0].status, 0U);
  }
  void set_size(std::uint64_t size) { metadata_.files[pnfs::ObjectId(1)].size = size; }
};

TEST_F(ClientIo, an_object_is_made_by_its_first_write_and_its_owner_asked_for_once) {
  EXPECT_EQ(write(handle(), 0, "first"), NFS4_OK);
  EXPECT_EQ(write(handle(), 5, " second"), NFS4_OK);
  EXPECT_EQ(commit(handle()), NFS4_OK);
  EXPECT_EQ(metadata_.asked, 1);
  set_size(12);
  EXPECT_EQ(read(handle(), 0, 100), ok("first second", true));
  struct stat now{};
  ASSERT_EQ(::stat(object_path().c_str(), &now), 0);
  EXPECT_EQ(now.st_size, 12);
  EXPECT_EQ(now.st_mode & 07777U, 0600U);
}

TEST_F(ClientIo, what_lies_before_the_end_of_the_file_reads_as_zeros) {
  // No object, a file of 100 bytes when the layout was granted: nobody is asked.
  EXPECT_EQ(read(handle(100), 0, 50), ok(zeros(50), false));
  EXPECT_EQ(metadata_.asked, 0);
  // It may have grown.
  set_size(120);
  EXPECT_EQ(read(handle(100), 0, 200), ok(zeros(120), true));
  set_size(65536 * 3);
  EXPECT_EQ(read(handle(100), 0, 65536), ok(zeros(65536), false));
  EXPECT_EQ(write(handle(), 10, "data"), NFS4_OK);
  EXPECT_EQ(read(handle(100), 8, 8), ok(zeros(2) + "data" + zeros(2), false));
  EXPECT_EQ(read(handle(), 65536 * 2 + 10, 100), ok(zeros(100), false));
}

TEST_F(ClientIo, the_end_is_told_at_the_end_of_the_file_alone) {
  EXPECT_EQ(write(handle(), 0, "data"), NFS4_OK);
  set_size(65536 + 7);  // the last byte is another server's
  EXPECT_EQ(read(handle(), 0, 65536), ok("data" + zeros(65532), false));
  set_size(4);
  EXPECT_EQ(read(handle(), 0, 65536), ok("data", true));
  EXPECT_EQ(read(handle(), 4, 100), ok("", true));
  EXPECT_EQ(read(handle(), 65536 * 2, 100), ok("", true));
}

TEST_F(ClientIo, a_dense_object_ends_where_its_part_of_the_file_does) {
  pnfs::DataHandle dense = handle();
  dense.striping.packing = pnfs::Packing::dense;
  dense.index = 1;
  set_size(65536 * 2 + 9);  // whole units 0 and 1, and 9 bytes on the other server
  EXPECT_EQ(read(dense, 65530, 100), ok(zeros(6), false));
  set_size(65536 * 2);
  EXPECT_EQ(read(dense, 65530, 100), ok(zeros(6), true));
}

TEST_F(ClientIo, what_is_not_in_the_stripe_is_a_hole) {
  EXPECT_EQ(write(handle(), 65536, "x"), NFS4ERR_PNFS_IO_HOLE);
  EXPECT_EQ(write(handle(), 65535, "xy"), NFS4ERR_PNFS_IO_HOLE);
  EXPECT_EQ(read(handle(), 65536, 1), refused(NFS4ERR_PNFS_IO_HOLE));
  EXPECT_EQ(read(handle(), 0, 65537), refused(NFS4ERR_PNFS_IO_HOLE));
  EXPECT_EQ(write(handle(), 65535, "x"), NFS4_OK);
  EXPECT_EQ(write(handle(), 65536 * 2, "x"), NFS4_OK);
  EXPECT_FALSE(std::filesystem::exists(object_path(1, 1)));
}

TEST_F(ClientIo, a_handle_is_for_one_client_one_mode_and_one_server) {
  pnfs::DataHandle reading = handle();
  reading.iomode = pnfs::Iomode::read;
  EXPECT_EQ(write(reading, 0, "x"), NFS4ERR_PNFS_NO_LAYOUT);
  EXPECT_EQ(commit(reading), NFS4ERR_PNFS_NO_LAYOUT);
  pnfs::DataHandle of_other = handle();
  of_other.client = pnfs::ClientTag(99);
  EXPECT_EQ(write(of_other, 0, "x"), NFS4ERR_PNFS_NO_LAYOUT);
  EXPECT_EQ(read(of_other, 0, 1), refused());
  EXPECT_FALSE(std::filesystem::exists(object_path()));
  vfs::FileHandle wire = sealed(handle());
  // The second time it is known.
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(send_io(wire, OP_READ, nfs4::READ4args{some_stateid(), 0, 1}).status(), NFS4_OK);
  nfs4::test::SessionClient other(world_, 1, "other", there_, false);
  nfs4::test::Request request = other.request();
  request.add(OP_PUTFH, nfs4::PUTFH4args{wire.view()}).add(OP_READ, nfs4::READ4args{some_stateid(), 0, 1});
  EXPECT_EQ(other.send(request).status(), NFS4ERR_PNFS_NO_LAYOUT);
  for (std::size_t i = 1; i < wire.size; ++i) {
    vfs::FileHandle forged = wire;
    forged.bytes.at(i) ^= std::byte{4};
    const auto reply = send_io(forged, OP_READ, nfs4::READ4args{some_stateid(), 0, 1});
    EXPECT_EQ(reply.status(), NFS4ERR_PNFS_NO_LAYOUT) << i;
  }
  wire.size -= 1;
  EXPECT_EQ(send_io(wire, OP_READ, nfs4::READ4args{some_stateid(), 0, 1}).status(), NFS4ERR_BADHANDLE);
}

TEST_F(ClientIo, a_special_stateid_is_none) {
  EXPECT_EQ(send_io(sealed(handle()), OP_READ, nfs4::READ4args{nfs4::test::anonymous(), 0, 1}).status(),
            NFS4ERR_BAD_STATEID);
}

TEST_F(ClientIo, nobody_is_served_without_contact) {
  EXPECT_EQ(write(handle(), 0, "x"), NFS4_OK);
  world_.advance(patience - std::chrono::milliseconds(1));
  EXPECT_EQ(write(handle(), 0, "x"), NFS4_OK);
  world_.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(write(handle(), 0, "x"), NFS4ERR_PNFS_NO_LAYOUT);
  EXPECT_EQ(read(handle(), 0, 1), refused());
  // It counts from when the heartbeat was sent.
  EXPECT_TRUE(contact_->answered(
      world_.clock().now() - patience, cluster_id,
      {.sent = 0, .lowest_grant = 0, .key_oldest = 1, .key_newest = 1, .good_for_ms = good_for_ms}));
  EXPECT_EQ(write(handle(), 0, "x"), NFS4ERR_PNFS_NO_LAYOUT);
  hear();
  EXPECT_EQ(write(handle(), 0, "x"), NFS4_OK);
}

TEST_F(ClientIo, the_metadata_server_says_for_how_long_there_is_contact) {
  const pnfs::HEARTBEATres brief{
      .sent = 0, .lowest_grant = 0, .key_oldest = 1, .key_newest = 1, .good_for_ms = 60'000};
  EXPECT_TRUE(contact_->answered(world_.clock().now(), cluster_id, brief));
  world_.advance(std::chrono::milliseconds(59'999));
  EXPECT_EQ(write(handle(), 0, "x"), NFS4_OK);
  world_.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(write(handle(), 0, "x"), NFS4ERR_PNFS_NO_LAYOUT);
  pnfs::HEARTBEATres nonsense = brief;
  nonsense.good_for_ms = 4'000'000;
  EXPECT_FALSE(contact_->answered(world_.clock().now(), cluster_id, nonsense));
  EXPECT_EQ(write(handle(), 0, "x"), NFS4ERR_PNFS_NO_LAYOUT);
}

TEST_F(ClientIo, a_server_that_starts_serves_nobody_before_it_has_been_heard) {
  EXPECT_EQ(write(handle(), 0, "x"), NFS4_OK);
  client_.reset();
  close();
  open();
  EXPECT_EQ(write(handle(), 0, "x"), NFS4ERR_PNFS_NO_LAYOUT);
  hear();
  EXPECT_EQ(write(handle(), 0, "x"), NFS4_OK);
}

TEST_F(ClientIo, a_key_that_is_not_in_use_is_good_for_nothing) {
  EXPECT_EQ(write(handle(), 0, "x"), NFS4_OK);
  const base::TimePoint now = world_.clock().now();
  const pnfs::HEARTBEATres same_number{
      .sent = 0, .lowest_grant = 0, .key_oldest = 1, .key_newest = 1, .good_for_ms = good_for_ms};
  EXPECT_TRUE(contact_->answered(now, pnfs::ClusterId{std::byte{6}}, same_number));
  EXPECT_EQ(write(handle(), 0, "x"), NFS4ERR_PNFS_NO_LAYOUT) << "of another cluster";
  EXPECT_TRUE(contact_->answered(now, cluster_id, same_number));
  EXPECT_EQ(write(handle(), 0, "x"), NFS4_OK);
  EXPECT_TRUE(contact_->answered(
      now, cluster_id,
      {.sent = 0, .lowest_grant = 0, .key_oldest = 2, .key_newest = 3, .good_for_ms = good_for_ms}));
  EXPECT_EQ(write(handle(), 0, "x"), NFS4ERR_PNFS_NO_LAYOUT);
  EXPECT_FALSE(contact_->answered(
      now, cluster_id,
      {.sent = 0, .lowest_grant = 0, .key_oldest = 2, .key_newest = 1, .good_for_ms = good_for_ms}));
  EXPECT_FALSE(contact_->answered(
      now, cluster_id,
      {.sent = 0, .lowest_grant = 0, .key_oldest = 0, .key_newest = 70000, .good_for_ms = good_for_ms}));
}

TEST_F(ClientIo, a_file_that_the_metadata_server_does_not_know_gets_no_object) {
  metadata_.files.clear();
  EXPECT_EQ(write(handle(), 0, "x"), NFS4ERR_PNFS_NO_LAYOUT);
  EXPECT_EQ(read(handle(), 0, 1), refused());
  EXPECT_FALSE(std::filesystem::exists(object_path()));
}

TEST_F(ClientIo, the_metadata_server_is_told_before_the_first_write_since_it_asked) {
  metadata_.during = [&] { EXPECT_EQ(size_on_disk(), 0U) << "it is told before"; };
  EXPECT_EQ(write(handle(), 0, "first"), NFS4_OK);
  metadata_.during = {};
  EXPECT_EQ(write(handle(), 5, "second"), NFS4_OK);
  EXPECT_EQ(commit(handle()), NFS4_OK);
  EXPECT_THAT(metadata_.told, testing::ElementsAre(testing::ElementsAre(pnfs::ObjectId(1))));
  EXPECT_EQ(read(handle(), 0, 5).data, "first");
  EXPECT_EQ(metadata_.told.size(), 1U) << "who reads changes nothing";
  stat_object();
  EXPECT_EQ(commit(handle()), NFS4_OK);
  EXPECT_EQ(metadata_.told.size(), 2U);
  stat_object();
  EXPECT_EQ(write(handle(), 5, "third", nfs4::stable_how4::FILE_SYNC4), NFS4_OK);
  EXPECT_EQ(metadata_.told.size(), 3U);
  restart();
  EXPECT_EQ(write(handle(), 5, "fourth"), NFS4_OK);
  EXPECT_EQ(metadata_.told.size(), 4U);
}

TEST_F(ClientIo, a_write_of_which_the_metadata_server_cannot_be_told_is_refused) {
  EXPECT_EQ(write(handle(), 0, "first"), NFS4_OK);
  stat_object();
  metadata_.silent = true;
  EXPECT_EQ(write(handle(), 0, "other"), NFS4ERR_PNFS_NO_LAYOUT);
  EXPECT_EQ(commit(handle()), NFS4ERR_PNFS_NO_LAYOUT);
  EXPECT_EQ(read(handle(5), 0, 5).data, "first") << "nothing was written";
  metadata_.silent = false;
  EXPECT_EQ(write(handle(), 0, "other"), NFS4_OK);
  metadata_.files.clear();
  stat_object();
  EXPECT_EQ(write(handle(), 0, "third"), NFS4ERR_PNFS_NO_LAYOUT);
}

// Whoever asks while it is told takes what is told for what has been seen, and does not see what is written
// then: that is told, too.
TEST_F(ClientIo, what_was_asked_about_before_it_was_written_is_told_again_after) {
  int calls = 0;
  metadata_.during = [&] {
    EXPECT_EQ(size_on_disk(), calls == 0 ? 0U : 5U);
    if (++calls > 1) return;
    const Objects::Use use(*objects_, {pnfs::ObjectId(1), 0});
    use.object().note_asked();
  };
  EXPECT_EQ(write(handle(), 0, "first"), NFS4_OK);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(write(handle(), 0, "other"), NFS4_OK);
  EXPECT_EQ(calls, 2);
}

TEST_F(ClientIo, an_answer_waits_until_it_is_told_again) {
  metadata_.during = [&] {
    const Objects::Use use(*objects_, {pnfs::ObjectId(1), 0});
    use.object().note_asked();
    metadata_.silent = metadata_.told.size() > 1;
  };
  EXPECT_EQ(write(handle(), 0, "first"), NFS4ERR_PNFS_NO_LAYOUT);
  EXPECT_EQ(size_on_disk(), 5U) << "the client writes it again";
  metadata_.silent = false;
  metadata_.told.clear();
  EXPECT_EQ(commit(handle()), NFS4ERR_PNFS_NO_LAYOUT);
}

TEST_F(ClientIo, errors_of_the_disk_send_the_client_away_but_for_those_that_stay_what_they_are) {
  EXPECT_EQ(write(handle(), 0, "x"), NFS4_OK);
  EXPECT_EQ(write(handle(), 0x7fff'ffff'ffff'ffff, "x"), NFS4ERR_FBIG);
  std::filesystem::remove(object_path());
  std::filesystem::create_directory(object_path());
  restart();
  EXPECT_EQ(write(handle(), 0, "x"), NFS4ERR_PNFS_NO_LAYOUT);
  EXPECT_EQ(read(handle(), 0, 1), refused());
}

TEST_F(ClientIo, other_operations_are_not_supported) {
  const auto status = [&](auto&&... more) {
    nfs4::test::Request request = client().request();
    return client().send(request.add(more...)).status();
  };
  EXPECT_EQ(status(OP_PUTROOTFH), NFS4_OK);
  EXPECT_EQ(status(OP_SAVEFH), NFS4ERR_NOTSUPP);
  EXPECT_EQ(send_io(sealed(handle()), OP_GETATTR, nfs4::GETATTR4args{}).status(), NFS4ERR_NOTSUPP);
  nfs4::test::Request old(0);
  EXPECT_EQ(world_.send(old.add(OP_PUTROOTFH), there_).status(), NFS4ERR_OP_ILLEGAL);
}

TEST_F(ClientIo, the_root_tells_the_lease_time) {
  constexpr std::array<std::uint32_t, 1> lease_time{1U << nfs4::FATTR4_LEASE_TIME};
  nfs4::test::Request request = client().request();
  const auto reply = client().send(request.add(OP_PUTROOTFH).add(OP_GETATTR, nfs4::GETATTR4args{lease_time}));
  EXPECT_EQ(reply.status(), NFS4_OK);
}

TEST_F(ClientIo, more_objects_than_are_kept_open) {
  objects_max_ = 4;
  restart();
  for (std::uint64_t object = 1; object <= 20; ++object) {
    metadata_.files[pnfs::ObjectId(object)] = {.size = 3, .owner = {}};
    pnfs::DataHandle one = handle(3);
    one.object = pnfs::ObjectId(object);
    EXPECT_EQ(write(one, 0, std::to_string(100 + object)), NFS4_OK);
  }
  EXPECT_LE(objects_->open_objects(), 5U);
  for (std::uint64_t object = 1; object <= 20; ++object) {
    pnfs::DataHandle one = handle(3);
    one.object = pnfs::ObjectId(object);
    EXPECT_EQ(read(one, 0, 3), ok(std::to_string(100 + object), false));
  }
}

TEST_F(ClientIo, refusals_are_counted_by_their_reason) {
  pnfs::DataHandle reading = handle();
  reading.iomode = pnfs::Iomode::read;
  (void)write(reading, 0, "x");
  EXPECT_THAT(
      world_.metrics().prometheus(),
      testing::HasSubstr("braid_pnfs_refused_total{role=\"data_server\",reason=\"reading_alone\"} 1\n"));
}

}  // namespace
}  // namespace braid::pnfs_ds::test
