// READ, WRITE and COMMIT.
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>

#include "posix_fixture.h"

namespace braid::vfs {
namespace {

class DataTest : public PosixTest {};
BRAID_ON_EVERY_FILE_SYSTEM(DataTest);

TEST_P(DataTest, what_is_written_is_read) {
  const auto file = create("file")->file;
  const auto written = write(file, "hello world");
  ASSERT_TRUE(written);
  EXPECT_EQ(written->count, 11U);
  EXPECT_EQ(read(file, 6, 3), "wor");
  EXPECT_EQ(read(file, 6, 100), "world");
  EXPECT_EQ(local_read("file"), "hello world");
}

TEST_P(DataTest, sizes_above_a_slab_arrive_whole) {
  const auto file = create("file")->file;
  std::string text(3 * base::MiB + 12345, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i * 7 % 26 + i / 4096 % 3);
  ASSERT_EQ(write(file, text)->count, text.size());
  for (const std::uint32_t count : {65536U, 65537U, 1048576U, 2500000U})
    EXPECT_EQ(read(file, 1000, count), text.substr(1000, count)) << count;
  EXPECT_EQ(read(file, 0, 4U << 20), text);
}

TEST_P(DataTest, the_end_of_the_file_is_told) {
  const auto file = create("file")->file;
  ASSERT_TRUE(write(file, "0123456789"));
  const auto eof = [&](std::uint64_t offset, std::uint32_t count) {
    const auto got = read_from(file, offset, count, *cursor_);
    return std::pair{got->data.size(), got->eof};
  };
  EXPECT_EQ(eof(0, 9), (std::pair{std::size_t{9}, false}));
  EXPECT_EQ(eof(0, 10), (std::pair{std::size_t{10}, true}));
  EXPECT_EQ(eof(5, 100), (std::pair{std::size_t{5}, true}));
  EXPECT_EQ(eof(10, 1), (std::pair{std::size_t{0}, true}));
  EXPECT_EQ(eof(std::numeric_limits<std::uint64_t>::max(), 100), (std::pair{std::size_t{0}, true}));
  EXPECT_EQ(eof(0, 0), (std::pair{std::size_t{0}, false}));
}

TEST_P(DataTest, a_hole_reads_as_zeros) {
  const auto file = create("file")->file;
  ASSERT_TRUE(write(file, "x", 100000));
  EXPECT_EQ(read(file, 99990, 11), std::string(10, '\0') + "x");
}

TEST_P(DataTest, reading_needs_memory_only_for_what_is_there) {
  const auto file = create("file")->file;
  ASSERT_TRUE(write(file, "small"));
  io::SlabPool tight({.bytes_max = io::region_bytes, .huge_pages = false});
  io::SlabCursor cursor(tight);
  const auto got = read_from(file, 0, 1U << 30, cursor);
  ASSERT_TRUE(got);
  EXPECT_LE(tight.stats().bytes_used, io::small_slab_bytes);
}

TEST_P(DataTest, without_memory_the_client_is_asked_to_wait) {
  const auto file = create("file")->file;
  ASSERT_TRUE(write(file, std::string(3 * base::MiB, 'x')));
  io::SlabPool tight({.bytes_max = io::region_bytes, .huge_pages = false});
  io::SlabCursor cursor(tight);
  std::vector<io::SlabRef> held;
  for (int i = 0; i < 2; ++i) held.push_back(tight.acquire(io::SlabSize::large).value());
  EXPECT_EQ(read_from(file, 0, 3U << 20, cursor).error(), Error::delay);
  held.clear();
  EXPECT_TRUE(read_from(file, 0, 3U << 20, cursor));
}

TEST_P(DataTest, large_reads_may_come_as_pages_in_a_pipe) {
  const auto file = create("file")->file;
  std::string text(200000, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 26);
  ASSERT_TRUE(write(file, text));
  io::PipePool pipes;
  const auto got = read_from(file, 5, 150000, {*cursor_, &pipes});
  ASSERT_TRUE(got);
  ASSERT_EQ(got->data.piped(), kernel_splices());
  if (!got->data.piped()) GTEST_SKIP() << "this file system does not splice";
  EXPECT_FALSE(got->eof);
  std::array<int, 2> sockets;
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()), 0);
  std::string received;
  io::Pipe& pipe = *got->data.ranges()[0].slab.pipe();
  while (received.size() < got->data.size()) {
    const auto moved = pipe.drain_to(sockets[0], std::min<std::size_t>(pipe.size(), 4096), false);
    ASSERT_TRUE(moved);
    std::string part(*moved, '\0');
    ASSERT_EQ(::recv(sockets[1], part.data(), part.size(), MSG_WAITALL), static_cast<ssize_t>(part.size()));
    received += part;
  }
  EXPECT_EQ(received, text.substr(5, received.size()));
  ::close(sockets[0]);
  ::close(sockets[1]);
}

TEST_P(DataTest, data_may_come_in_a_pipe_between_data_in_memory) {
  const auto file = create("file")->file;
  std::string text(150000, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i * 3 % 26);
  base::UniqueFd source(::memfd_create("source", MFD_CLOEXEC));
  ASSERT_EQ(::pwrite(source.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  for (const Stability stability : {Stability::unstable, Stability::data_sync, Stability::file_sync}) {
    io::PipePool pipes;
    io::SlabRef piped = pipes.take().value();
    ASSERT_EQ(piped.pipe()->fill(source.get(), 1000, 148000).value(), 148000U);
    io::Payload data = payload(text.substr(0, 1000));
    data.append({std::move(piped), 0, 148000});
    data.append(payload(text.substr(149000)));
    const auto written = write_to(file, 77, data, stability);
    ASSERT_TRUE(written);
    EXPECT_EQ(written->count, text.size());
    EXPECT_EQ(local_read("file").substr(77), text);
    ASSERT_EQ(::truncate(local("file").c_str(), 0), 0);
  }
}

TEST_P(DataTest, whoever_borrows_a_file_is_asked_for_rights_in_each_call) {
  const auto file = create("file", 0644)->file;
  const Credentials who = user(1001, 1001);
  const io::Payload data = payload("text");
  SetAttributes empty;
  empty.size = 0;
  const Borrowed lent = fs_->borrow(who, file);
  EXPECT_TRUE(run(lent->read(0, 10, *cursor_)));
  EXPECT_EQ(run(lent->write(who, 0, data, Stability::unstable)).error(), Error::acces);
  EXPECT_EQ(run(lent->commit(who, 0, 0)).error(), Error::acces);
  EXPECT_EQ(run(lent->set(who, empty)).error(), Error::acces);
  ASSERT_TRUE(setattr(file, with_mode(0666)));
  EXPECT_TRUE(run(lent->write(who, 0, data, Stability::unstable)));
  EXPECT_TRUE(run(lent->commit(who, 0, 0)));
  EXPECT_TRUE(run(lent->set(who, empty)));
  ASSERT_TRUE(setattr(file, with_mode(0600)));
  EXPECT_EQ(run(lent->read(0, 10, *cursor_)).error(), Error::acces);
}

TEST_P(DataTest, data_belongs_to_regular_files) {
  EXPECT_EQ(read(root_).error(), Error::isdir);
  EXPECT_EQ(write(root_, "x").error(), Error::isdir);
  ASSERT_EQ(::symlink("t", local("link").c_str()), 0);
  EXPECT_EQ(read(find("link")).error(), Error::inval);
  EXPECT_EQ(write(find("link"), "x").error(), Error::inval);
  EXPECT_EQ(commit(root_).error(), Error::isdir);
}

TEST_P(DataTest, no_byte_lies_beyond_the_largest_offset) {
  const auto file = create("file")->file;
  EXPECT_EQ(write(file, "xy", std::numeric_limits<std::uint64_t>::max()).error(), Error::fbig);
  EXPECT_EQ(write(file, "xy", std::numeric_limits<std::int64_t>::max()).error(), Error::fbig);
  EXPECT_EQ(attributes(file).size, 0U);
}

TEST_P(DataTest, stable_writes_say_so) {
  const auto file = create("file")->file;
  const bool in_memory = GetParam() == "tmpfs";
  EXPECT_EQ(write(file, "a", 0, {}, Stability::data_sync)->committed,
            in_memory ? Stability::file_sync : Stability::data_sync);
  EXPECT_EQ(write(file, "b", 0, {}, Stability::file_sync)->committed, Stability::file_sync);
  // Where nothing outlives a power loss, nothing is gained by a COMMIT either.
  EXPECT_EQ(write(file, "c")->committed, in_memory ? Stability::file_sync : Stability::unstable);
  const Verifier before = verifier();
  EXPECT_EQ(commit(file), before);
  EXPECT_EQ(verifier(), before);
  EXPECT_EQ(local_read("file"), "c");
}

TEST_P(DataTest, a_commit_is_no_change) {
  const auto file = create("file")->file;
  ASSERT_TRUE(write(file, "abc"));
  const std::uint64_t before = attributes(file).change;
  Wcc wcc;
  ASSERT_TRUE(commit(file, {}, &wcc));
  ASSERT_TRUE(wcc.before && wcc.after);
  EXPECT_EQ(wcc.before->change, before);
  EXPECT_EQ(wcc.after->change, before);
  EXPECT_EQ(attributes(file).change, before);
}

TEST_P(DataTest, a_restart_changes_the_write_verifier) {
  const Verifier before = verifier();
  restart();
  EXPECT_FALSE(verifier() == before);
}

TEST_P(DataTest, an_empty_write_changes_nothing_but_is_checked) {
  const auto file = create("file", 0600)->file;
  EXPECT_EQ(write(file, "")->count, 0U);
  EXPECT_EQ(write(file, "", 0, user(1001, 1001)).error(), Error::acces);
}

TEST_P(DataTest, writing_as_another_user_clears_the_set_id_bits) {
  local_write("file", "x");
  ASSERT_EQ(::chmod(local("file").c_str(), 06777), 0);
  const FileRef file = find("file");
  ASSERT_TRUE(write(file, "y", 0, user(1001, 1001)));
  EXPECT_EQ(attributes(file).mode, 0777U);
}

TEST_P(DataTest, nothing_is_written_into_a_file_without_a_name) {
  const auto file = create("file")->file;
  ASSERT_TRUE(write(file, "x"));
  ASSERT_EQ(::unlink(local("file").c_str()), 0);
  EXPECT_EQ(write(file, "y").error(), Error::stale);
  EXPECT_EQ(read(file).error(), Error::stale);
}

TEST_P(DataTest, a_file_that_was_replaced_locally_is_not_the_old_one) {
  const auto file = create("file")->file;
  local_write("new", "new");
  ASSERT_EQ(::rename(local("new").c_str(), local("file").c_str()), 0);
  EXPECT_EQ(write(file, "y").error(), Error::stale);
  EXPECT_EQ(read(find("file")), "new");
}

class FullTest : public PosixFixture {
 protected:
  void SetUp() override {
    const auto mount = mount_tmpfs("size=1m");
    if (!mount) GTEST_SKIP() << mount.error();
    start(*mount);
  }
};

TEST_F(FullTest, a_full_file_system_says_so_and_keeps_what_it_acknowledged) {
  const auto file = create("file")->file;
  const std::string block(64 * base::KiB, 'x');
  std::uint64_t acknowledged = 0;
  Outcome<WriteResult> written;
  while ((written = write(file, block, acknowledged))) acknowledged += written->count;
  EXPECT_EQ(written.error(), Error::nospc);
  ASSERT_TRUE(wcc_.after);
  EXPECT_GE(wcc_.after->size, acknowledged);
  EXPECT_EQ(read(file, acknowledged - 1000, 1000), std::string(1000, 'x'));
}

TEST_F(FullTest, removing_a_file_frees_its_space_at_once) {
  const auto free_bytes = [&] { return run(fs_->status(root_)).value().bytes_free; };
  const std::uint64_t before = free_bytes();
  {
    const auto file = create("file")->file;
    ASSERT_TRUE(write(file, std::string(512 * base::KiB, 'x')));
    ASSERT_LE(free_bytes(), before - 512 * base::KiB);
  }
  ASSERT_TRUE(remove("file"));
  EXPECT_EQ(free_bytes(), before);
}

TEST_F(FullTest, renaming_over_a_file_frees_its_space_at_once) {
  const auto free_bytes = [&] { return run(fs_->status(root_)).value().bytes_free; };
  const std::uint64_t before = free_bytes();
  ASSERT_TRUE(write(create("victim")->file, std::string(512 * base::KiB, 'x')));
  ASSERT_TRUE(create("file"));
  Wcc other;
  ASSERT_TRUE(run(fs_->rename({}, root_, "file", root_, "victim", wcc_, other)));
  EXPECT_EQ(free_bytes(), before);
}

}  // namespace
}  // namespace braid::vfs
