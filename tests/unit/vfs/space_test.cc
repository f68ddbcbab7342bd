// Holes, reserved space, clones and copies.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "posix_fixture.h"

namespace braid::vfs {
namespace {

class SpaceTest : public PosixTest {
 protected:
  OpenFileRef made(std::string_view name, std::string_view text = {}) {
    const CreateHow how{CreateHow::Mode::guarded, with_mode(0644), {}};
    auto out = run(fs_->open_create({}, root_, name, OpenAccess::both, how, wcc_)).value().open;
    if (!text.empty()) put(out, 0, text);
    return out;
  }
  void put(const OpenFileRef& open, std::uint64_t offset, std::string_view text) {
    const io::Payload data = payload(text);
    ASSERT_TRUE(run(open->write({}, offset, data, Stability::unstable)));
  }
  Outcome<SeekResult> seek(const OpenFileRef& open, std::uint64_t offset, SeekTo what) {
    return run(open->seek(offset, what));
  }
  Outcome<std::uint64_t> copy(const OpenFileRef& from, std::uint64_t from_offset, const OpenFileRef& to,
                              std::uint64_t to_offset, std::uint64_t length) {
    return run(to->copy_from({}, *from, from_offset, to_offset, length));
  }
  [[nodiscard]] std::uint64_t blocks(std::string_view name) const {
    struct stat stat{};
    return ::stat(local(name).c_str(), &stat) == 0 ? static_cast<std::uint64_t>(stat.st_blocks) * 512 : 0;
  }
};
BRAID_ON_EVERY_FILE_SYSTEM(SpaceTest);

TEST_P(SpaceTest, seek_tells_data_from_holes) {
  const auto file = made("file");
  put(file, 0, std::string(64 * base::KiB, 'a'));
  put(file, base::MiB, std::string(64 * base::KiB, 'b'));
  EXPECT_EQ(seek(file, 0, SeekTo::data)->offset, 0U);
  EXPECT_EQ(seek(file, 100, SeekTo::data)->offset, 100U);
  const auto hole = seek(file, 0, SeekTo::hole);
  EXPECT_EQ(hole->offset, 64 * base::KiB);
  EXPECT_FALSE(hole->eof);
  EXPECT_EQ(seek(file, 64 * base::KiB, SeekTo::data)->offset, base::MiB);
}

TEST_P(SpaceTest, seek_says_where_the_file_ends) {
  const auto file = made("file", "0123456789");
  const auto hole = seek(file, 0, SeekTo::hole);
  EXPECT_TRUE(hole->eof);
  EXPECT_EQ(hole->offset, 10U);
  EXPECT_EQ(seek(file, 10, SeekTo::data).error(), Error::nxio);
  EXPECT_EQ(seek(file, 10, SeekTo::hole).error(), Error::nxio);
  EXPECT_EQ(seek(file, ~std::uint64_t{0}, SeekTo::data).error(), Error::nxio);
  SetAttributes larger;
  larger.size = base::MiB;
  ASSERT_TRUE(run(file->set({}, larger)));
  const auto data = seek(file, 512 * base::KiB, SeekTo::data);
  ASSERT_TRUE(data);
  EXPECT_TRUE(data->eof) << "no more data, but inside the file";
  EXPECT_EQ(data->offset, base::MiB);
}

TEST_P(SpaceTest, allocated_space_is_there_and_extends_the_file) {
  const auto file = made("file", "text");
  ASSERT_TRUE(run(file->allocate({}, 0, base::MiB)));
  EXPECT_EQ(attributes(file->file()).size, base::MiB);
  EXPECT_GE(blocks("file"), base::MiB);
  EXPECT_EQ(read(file->file(), 0, 6), std::string("text\0\0", 6));
}

TEST_P(SpaceTest, a_hole_reads_as_zeros_and_gives_its_space_back) {
  const auto file = made("file", std::string(base::MiB, 'x'));
  ASSERT_TRUE(commit(file->file()));
  const std::uint64_t before = blocks("file");
  ASSERT_TRUE(run(file->deallocate({}, 128 * base::KiB, 512 * base::KiB)));
  EXPECT_LT(blocks("file"), before);
  EXPECT_EQ(attributes(file->file()).size, base::MiB);
  EXPECT_EQ(read(file->file(), 128 * base::KiB - 1, 3), std::string("x\0\0", 3));
  EXPECT_EQ(seek(file, 0, SeekTo::hole)->offset, 128 * base::KiB);
  EXPECT_EQ(seek(file, 128 * base::KiB, SeekTo::data)->offset, 640 * base::KiB);
}

TEST_P(SpaceTest, space_needs_an_open_for_writing_and_a_range_that_exists) {
  const auto file = made("file", "text");
  const auto reader = run(fs_->open({}, file->file(), OpenAccess::read, OpenRule::caller)).value();
  EXPECT_EQ(run(reader->allocate({}, 0, 10)).error(), Error::acces);
  EXPECT_EQ(run(file->allocate({}, 0, 0)).error(), Error::inval);
  EXPECT_EQ(run(file->allocate({}, ~std::uint64_t{0} - 5, 10)).error(), Error::fbig);
  EXPECT_EQ(run(file->deallocate({}, 1, ~std::uint64_t{0})).error(), Error::fbig);
  EXPECT_EQ(attributes(file->file()).size, 4U);
}

TEST_P(SpaceTest, advice_is_taken) {
  const auto file = made("file", "text");
  for (const Advice advice : {Advice::normal, Advice::sequential, Advice::random, Advice::will_need,
                              Advice::dont_need, Advice::once})
    EXPECT_TRUE(run(file->advise(0, 0, advice)));
  EXPECT_TRUE(run(file->advise(~std::uint64_t{0}, ~std::uint64_t{0}, Advice::will_need)));
}

TEST_P(SpaceTest, a_copy_goes_in_bounded_slices_to_the_end_of_the_source) {
  std::string text(9 * base::MiB + 321, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i * 7 % 26 + i / 4096 % 3);
  const auto from = made("from", text);
  const auto to = made("to", "0123456789");
  std::uint64_t done = 0;
  for (;;) {
    const auto copied = copy(from, done, to, 10 + done, 0);
    ASSERT_TRUE(copied);
    EXPECT_LE(*copied, posix::FileData::copy_slice_bytes);
    if (*copied == 0) break;
    done += *copied;
  }
  EXPECT_EQ(done, text.size());
  EXPECT_EQ(local_read("to"), "0123456789" + text);
  EXPECT_EQ(copy(from, 3, to, 0, 4), 4U);
  EXPECT_EQ(local_read("to").substr(0, 5), text.substr(3, 4) + "4");
}

// The kernel copies between file systems of one kind at most.
TEST_P(SpaceTest, a_copy_may_come_from_another_export_on_another_file_system) {
  for (const std::string& kind : file_system_kinds()) {
    SCOPED_TRACE(kind);
    const auto at = mounted(kind);
    if (!at) continue;
    std::string elsewhere = *at + "/copied-XXXXXX";
    ASSERT_NE(::mkdtemp(elsewhere.data()), nullptr);
    const std::string text = std::string(base::MiB + 5, 'x') + "end";
    std::ofstream(elsewhere + "/from") << text;
    PosixOptions options = options_;
    options.directory = elsewhere;
    options.tree.id = ExportId(6);
    const auto other = PosixFileSystem::open(options, clock_).value();
    const FileRef root = other->root();
    const FileRef file = run(other->lookup({}, root, "from"))->file;
    const OpenFileRef from = run(other->open({}, file, OpenAccess::read, OpenRule::caller)).value();
    const OpenFileRef to = made(kind);
    std::uint64_t done = 0;
    while (const std::uint64_t copied = copy(from, done, to, done, text.size() - done).value())
      done += copied;
    EXPECT_EQ(done, text.size());
    EXPECT_EQ(local_read(kind), text);
    std::filesystem::remove_all(elsewhere);
  }
}

TEST_P(SpaceTest, a_copy_onto_itself_may_not_overlap) {
  const auto file = made("file", std::string(64 * base::KiB, 'x'));
  EXPECT_EQ(copy(file, 0, file, 100, 1000).error(), Error::inval);
  EXPECT_EQ(copy(file, 0, file, 64 * base::KiB, 1000), 1000U);
}

TEST_P(SpaceTest, a_copy_needs_the_rights_of_both_opens) {
  const auto file = made("file", "text");
  const auto reader = run(fs_->open({}, file->file(), OpenAccess::read, OpenRule::caller)).value();
  const auto writer = run(fs_->open({}, file->file(), OpenAccess::write, OpenRule::caller)).value();
  EXPECT_EQ(copy(writer, 0, file, 10, 4).error(), Error::acces);
  EXPECT_EQ(copy(file, 0, reader, 10, 4).error(), Error::acces);
  EXPECT_EQ(run(file->clone_from({}, *writer, 0, 4096, 0)).error(), Error::acces);
}

TEST_P(SpaceTest, a_clone_shares_blocks_until_one_side_changes) {
  const std::uint32_t block = run(fs_->limits(root_))->clone_block_bytes;
  ASSERT_EQ(block != 0, kernel_clones());
  const auto from = made("from", std::string(64 * base::KiB, 'x'));
  const auto to = made("to");
  if (block == 0) {
    EXPECT_FALSE(run(to->clone_from({}, *from, 0, 0, 0)));
    return;
  }
  ASSERT_TRUE(run(to->clone_from({}, *from, 0, 0, 0)));
  EXPECT_EQ(local_read("to"), std::string(64 * base::KiB, 'x'));
  put(to, 0, "y");
  EXPECT_EQ(local_read("from")[0], 'x');
  ASSERT_TRUE(run(to->clone_from({}, *from, block, 3 * block, block)));
  EXPECT_EQ(run(to->clone_from({}, *from, 1, 0, block)).error(), Error::inval);
  EXPECT_EQ(run(to->clone_from({}, *from, 0, block - 1, block)).error(), Error::inval);
}

}  // namespace
}  // namespace braid::vfs
