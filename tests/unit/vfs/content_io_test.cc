// Files whose bytes are a content's: which they are, reading, writing, CLONE and COPY.
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>

#include "content_fixture.h"
#include "io/pipe.h"

namespace braid::vfs {
namespace {

class ContentIoTest : public ContentFixture {};
BRAID_ON_EVERY_FILE_SYSTEM(ContentIoTest);

TEST_P(ContentIoTest, bytes_come_from_the_content_through_opened_and_borrowed_files) {
  EXPECT_EQ(local_read("file"), std::string(10, '\0')) << "the stub has none of them";
  EXPECT_EQ(read(file_), "0123456789");
  EXPECT_EQ(read(file_, 4, 3), "456");
  const OpenFileRef io = open(file_);
  EXPECT_EQ(text_of(*io), "0123456789");
  EXPECT_EQ(read(find("plain")), "own bytes");
}

TEST_P(ContentIoTest, writes_go_to_the_content_and_are_seen_by_everybody) {
  ASSERT_TRUE(write(file_, "ab", 2));
  const OpenFileRef io = open(file_);
  const io::Payload data = payload("XY");
  const auto wrote = run(io->write({}, 9, data, Stability::unstable));
  ASSERT_TRUE(wrote);
  EXPECT_EQ(wrote->count, 2U);
  EXPECT_EQ(wrote->verifier, FakeContent::verifier);
  EXPECT_EQ(io->write_verifier(), FakeContent::verifier);
  EXPECT_EQ(content().bytes(), "01ab45678XY");
  EXPECT_EQ(attributes(file_).size, 11U);
  EXPECT_EQ(run(io->commit({}, 0, 0)), FakeContent::verifier);
  EXPECT_EQ(commit(file_), FakeContent::verifier);
  EXPECT_EQ(content().commits, 2);
}

TEST_P(ContentIoTest, the_callers_rights_are_asked_for_before_the_content_is) {
  ASSERT_TRUE(setattr(file_, with_mode(0640)));
  const Credentials stranger = user(4000, 4000);
  EXPECT_EQ(read(file_, 0, 10, stranger).error(), Error::acces);
  EXPECT_EQ(write(file_, "no", 0, stranger).error(), Error::acces);
  EXPECT_EQ(commit(file_, stranger).error(), Error::acces);
  SetAttributes shorter;
  shorter.size = 1;
  EXPECT_EQ(setattr(file_, shorter, stranger).error(), Error::acces);
  const io::Payload data = payload("no");
  const OpenFileRef reader = open(file_, OpenAccess::read);
  EXPECT_EQ(run(reader->write({}, 0, data, Stability::unstable)).error(), Error::acces);
  EXPECT_EQ(run(reader->allocate({}, 0, 1)).error(), Error::acces);
  const OpenFileRef writer = open(file_, OpenAccess::write);
  EXPECT_EQ(text_of(*writer).error(), Error::acces);
  EXPECT_EQ(content().bytes(), "0123456789");
}

TEST_P(ContentIoTest, a_read_only_export_writes_to_no_content) {
  const OpenFileRef io = open(file_);
  options_.tree.read_only = true;
  const auto other = opened();
  const FileRef file = run(other->resolve(file_->handle().view())).value();
  const io::Payload data = payload("no");
  EXPECT_EQ(run(other->borrow({}, file)->write({}, 0, data, Stability::unstable)).error(), Error::rofs);
  EXPECT_EQ(run(other->open({}, file, OpenAccess::write, OpenRule::caller)).error(), Error::rofs);
}

TEST_P(ContentIoTest, a_write_by_others_than_root_takes_the_set_id_bits) {
  ASSERT_TRUE(setattr(file_, with_mode(06777)));
  ASSERT_TRUE(write(file_, "x", 0, user(4000, 4000)));
  EXPECT_EQ(attributes(file_).mode, 0777U);
}

TEST_P(ContentIoTest, set_id_bits_are_gone_before_the_first_byte_changes) {
  ASSERT_TRUE(setattr(file_, with_mode(06777)));
  struct stat during{};
  source_.before_write = [&] { EXPECT_EQ(::stat(local("file").c_str(), &during), 0); };
  ASSERT_TRUE(write(file_, "x", 0, user(4000, 4000)));
  EXPECT_EQ(during.st_mode & 07777U, 0777U);
}

TEST_P(ContentIoTest, wcc_shows_the_file_before_and_after_a_write) {
  Wcc wcc;
  const io::Payload data = payload("abc");
  ASSERT_TRUE(write_to(file_, 10, data, Stability::unstable, &wcc));
  ASSERT_TRUE(wcc.before && wcc.after);
  EXPECT_EQ(wcc.before->size, 10U);
  EXPECT_EQ(wcc.after->size, 13U);
  EXPECT_EQ(wcc.after->space, FakeContent::space_of);
  EXPECT_NE(wcc.before->change, wcc.after->change);
}

TEST_P(ContentIoTest, the_record_is_looked_up_once_for_each_time_in_the_cache) {
  restart();
  file_ = find("file");
  const int before = source_.loads;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(read(file_), "0123456789");
  const OpenFileRef io = open(file_);
  EXPECT_EQ(text_of(*io), "0123456789");
  EXPECT_LE(source_.loads - before, 1);
  EXPECT_EQ(source_.loads, 1);
}

TEST_P(ContentIoTest, a_file_that_left_the_cache_is_loaded_again) {
  const FileHandle handle = file_->handle();
  file_ = {};
  fs_->tree().cache().shrink(1000);
  file_ = run(fs_->resolve(handle.view())).value();
  EXPECT_EQ(read(file_), "0123456789");
  EXPECT_EQ(source_.loads, 1);
}

TEST_P(ContentIoTest, first_users_at_the_same_time_share_one_load) {
  restart();
  file_ = find("plain");
  source_.slow = true;
  on_reactor([&]() -> io::Op<> {
    const Credentials who;
    const auto found = co_await fs_->resolve(root_->handle().view()).as_result();
    std::vector<VfsOp<Found>> calls;
    for (int i = 0; i < 4; ++i) calls.push_back(fs_->lookup(who, *found, "file"));
    for (auto& call : calls) call.start({});
    for (auto& call : calls) {
      const auto looked = co_await std::move(call).as_result();
      EXPECT_TRUE(looked.has_value());
    }
  });
  EXPECT_EQ(source_.loads, 1);
}

TEST_P(ContentIoTest, a_damaged_record_is_an_io_error_of_its_own_file_alone) {
  ASSERT_EQ(::setxattr(local("plain").c_str(), FakeSource::record_name, "damaged", 7, 0), 0);
  const FileRef damaged = find("plain");
  EXPECT_EQ(read(damaged).error(), Error::io);
  EXPECT_EQ(write(damaged, "x").error(), Error::io);
  EXPECT_EQ(run(fs_->open({}, damaged, OpenAccess::read, OpenRule::caller)).error(), Error::io);
  EXPECT_EQ(attributes(damaged).size, 9U) << "it can be looked at";
  EXPECT_EQ(read(file_), "0123456789");
  EXPECT_TRUE(remove("plain")) << "and removed";
}

TEST_P(ContentIoTest, a_load_that_failed_is_tried_again) {
  restart();
  file_ = find("plain");
  source_.loads_fail = true;
  source_.load_error = Error::delay;
  EXPECT_EQ(lookup(root_, "file").error(), Error::delay);
  source_.loads_fail = false;
  file_ = find("file");
  EXPECT_EQ(read(file_), "0123456789");
}

TEST_P(ContentIoTest, an_export_without_sources_has_no_contents) {
  options_.sources.clear();
  const auto other = opened();
  const FileRef file = run(other->resolve(file_->handle().view())).value();
  EXPECT_EQ(run(other->content(file)).error(), Error::notsupp);
  EXPECT_EQ(run(other->place(file, source_, {})).error(), Error::notsupp);
  EXPECT_EQ(run(other->exchange(file, nullptr)).error(), Error::notsupp);
}

TEST_P(ContentIoTest, an_empty_file_is_placed_before_its_first_write) {
  source_.places = true;
  const FileRef made = create("new", 0600).value().file;
  EXPECT_EQ(write(made, "no", 0, user(4001)).error(), Error::acces);
  EXPECT_EQ(run(fs_->content(made)).value(), nullptr) << "who may not write places nothing";
  ASSERT_TRUE(write(made, "first", 3));
  EXPECT_EQ(source_.of(attributes(made).fileid)->bytes(), std::string("\0\0\0first", 8));
  EXPECT_EQ(source_.log(), (std::vector<std::string>{"placed for 3+5"}));
  ASSERT_TRUE(write(find("plain"), "more")) << "what has bytes stays as it is";
  EXPECT_EQ(local_read("plain"), "morebytes");
}

TEST_P(ContentIoTest, holes_and_space_are_the_contents) {
  const OpenFileRef io = open(file_);
  ASSERT_TRUE(run(io->allocate({}, 10, 2)));
  EXPECT_EQ(attributes(file_).size, 12U);
  ASSERT_TRUE(run(io->deallocate({}, 0, 2)));
  EXPECT_EQ(content().bytes(), std::string("\0\0"
                                           "23456789\0\0",
                                           12));
  EXPECT_EQ(run(io->seek(0, SeekTo::hole))->offset, 12U);
  EXPECT_EQ(run(io->seek(12, SeekTo::data)).error(), Error::nxio);
  EXPECT_TRUE(run(io->advise(0, 10, Advice::sequential)));
  const OpenFileRef plain = open(find("plain"));
  EXPECT_EQ(run(plain->seek(0, SeekTo::hole))->offset, 9U);
}

TEST_P(ContentIoTest, contents_of_one_source_clone_and_copy_from_each_other) {
  local_write("second", "abcdef");
  const FileRef second = find("second");
  place(second);
  const OpenFileRef from = open(second), to = open(file_);
  EXPECT_EQ(run(to->copy_from({}, *from, 1, 0, 3)), 3U);
  EXPECT_EQ(content().bytes(), "bcd3456789");
  ASSERT_TRUE(run(to->clone_from({}, *from, 0, 8, 6)));
  EXPECT_EQ(content().bytes(), "bcd34567abcdef");
  EXPECT_EQ(source_.log(), (std::vector<std::string>{"copied", "copied"}));
}

TEST_P(ContentIoTest, what_a_source_cannot_copy_goes_through_memory) {
  source_.copies = false;
  local_write("second", "abcdef");
  const FileRef second = find("second");
  place(second);
  const OpenFileRef from = open(second), to = open(file_);
  EXPECT_EQ(run(to->copy_from({}, *from, 1, 0, 3)), 3U);
  EXPECT_EQ(content().bytes(), "bcd3456789");
  EXPECT_EQ(run(to->copy_from({}, *to, 0, 10, 2)), 2U) << "within one file";
  EXPECT_EQ(content().bytes(), "bcd3456789bc");
  EXPECT_EQ(run(to->clone_from({}, *from, 0, 8, 6)).error(), Error::notsupp);
  EXPECT_TRUE(source_.log().empty());
}

TEST_P(ContentIoTest, an_empty_file_is_placed_before_it_gets_bytes_in_any_way) {
  source_.places = true;
  const OpenFileRef plain = open(find("plain"));
  const OpenFileRef reserved = open(create("reserved").value().file);
  ASSERT_TRUE(run(reserved->deallocate({}, 0, 10)));
  EXPECT_TRUE(source_.log().empty()) << "a hole is no bytes";
  ASSERT_TRUE(run(reserved->allocate({}, 5, 2)));
  const OpenFileRef copied = open(create("copied").value().file);
  EXPECT_EQ(run(copied->copy_from({}, *plain, 0, 1, 9)), 9U);
  const FileRef longer = create("longer").value().file;
  SetAttributes set;
  set.size = 0;
  ASSERT_TRUE(setattr(longer, set));
  set.size = 7;
  ASSERT_TRUE(setattr(longer, set));
  EXPECT_EQ(source_.log(), (std::vector<std::string>{"placed for 5+2", "placed for 1+9"}));
  ASSERT_NE(source_.of(attributes(longer).fileid), nullptr) << "of no bytes the hint says nothing";
  EXPECT_EQ(source_.of(attributes(longer).fileid)->bytes(), std::string(7, '\0'));
}

TEST_P(ContentIoTest, between_a_content_and_a_plain_file_copies_go_through_memory_and_clones_do_not) {
  const OpenFileRef plain = open(find("plain")), placed = open(file_);
  EXPECT_EQ(run(plain->copy_from({}, *placed, 2, 9, 0)), 8U);
  EXPECT_EQ(local_read("plain"), "own bytes23456789");
  EXPECT_EQ(run(placed->copy_from({}, *plain, 0, 0, 3)), 3U);
  EXPECT_EQ(content().bytes(), "own3456789");
  EXPECT_EQ(run(placed->copy_from({}, *plain, 100, 0, 3)), 0U) << "at the end";
  EXPECT_EQ(run(plain->clone_from({}, *placed, 0, 0, 0)).error(), Error::notsupp);
  EXPECT_EQ(run(placed->clone_from({}, *plain, 0, 0, 0)).error(), Error::notsupp);
  EXPECT_TRUE(source_.log().empty());
}

TEST_P(ContentIoTest, a_plain_file_that_gets_bytes_of_a_content_is_placed_where_sources_share_them) {
  source_.shares = true;
  const OpenFileRef plain = open(find("plain")), placed = open(file_);
  EXPECT_TRUE(run(plain->clone_from({}, *placed, 2, 9, 3)));
  const FakeContent* const content = source_.of(attributes(find("plain")).fileid).get();
  ASSERT_NE(content, nullptr);
  EXPECT_EQ(content->bytes(), "own bytes234");
  EXPECT_EQ(source_.log(), (std::vector<std::string>{"placed for 9+3 of another", "copied"}));
  local_write("second", "");
  EXPECT_EQ(run(open(find("second"))->copy_from({}, *placed, 2, 0, 3)), 3U);
  EXPECT_NE(source_.of(attributes(find("second")).fileid), nullptr);
  local_write("third", "");
  const OpenFileRef readable = open(find("third"), OpenAccess::read);
  EXPECT_FALSE(run(readable->clone_from({}, *placed, 2, 0, 3)));
  EXPECT_EQ(source_.of(attributes(find("third")).fileid), nullptr) << "who may not write places nothing";
}

TEST_P(ContentIoTest, plain_files_beside_contents_are_copied_by_the_kernel) {
  local_write("target", "");
  const OpenFileRef plain = open(find("plain")), target = open(find("target"));
  EXPECT_EQ(run(target->copy_from({}, *plain, 0, 0, 0)), 9U);
  EXPECT_EQ(local_read("target"), "own bytes");
}

TEST_P(ContentIoTest, data_in_a_pipe_is_brought_to_memory_for_who_takes_no_pipes) {
  EXPECT_FALSE(fs_->takes_pipes());
  if (!kernel_splices()) GTEST_SKIP() << "nothing is spliced here";
  io::PipePool pipes;
  const std::string text(200'000, 'p');
  local_write("data", text);
  const base::UniqueFd data(::open(local("data").c_str(), O_RDONLY | O_CLOEXEC));
  auto pipe = pipes.take();
  if (!pipe) GTEST_SKIP() << "no pipes";
  ASSERT_EQ(pipe->pipe()->fill(data.get(), 0, text.size()), text.size());
  io::Payload piped = payload("front");
  piped.append({std::move(*pipe), 0, static_cast<std::uint32_t>(text.size())});
  ASSERT_TRUE(piped.piped());
  const auto wrote = write_to(file_, 0, piped, Stability::unstable);
  ASSERT_TRUE(wrote);
  EXPECT_EQ(wrote->count, text.size() + 5);
  EXPECT_EQ(content().bytes(), "front" + text);
  // As after `delay`.
  const auto again = write_to(file_, 0, piped, Stability::unstable);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->count, text.size() + 5);
  EXPECT_EQ(content().bytes(), "front" + text);
  EXPECT_EQ(source_.wrong, 0);
}

TEST_P(ContentIoTest, an_export_takes_pipes_if_all_its_sources_do) {
  source_.pipes = true;
  EXPECT_TRUE(fs_->takes_pipes());
  FakeSource other;
  options_.sources.push_back(&other);
  EXPECT_FALSE(opened()->takes_pipes());
}

}  // namespace
}  // namespace braid::vfs
