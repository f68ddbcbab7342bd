// The file system in memory that stands for a real one in tests.
#include <algorithm>
#include <string>
#include <vector>

#include "io/ready_queue.h"
#include "tests/unit/vfs/memory_fixture.h"

namespace braid::vfs::memory::test {
namespace {

class MemoryNames : public MemoryTest {
 protected:
  MemoryNames() { io::ReadyQueue::make_current(&queue_); }
  ~MemoryNames() override { io::ReadyQueue::make_current(nullptr); }
  std::vector<std::string> names(std::uint64_t after, std::size_t count) {
    std::vector<std::string> out;
    const EntrySink sink = [&](const DirectoryEntry& entry) {
      if (out.size() == count) return false;
      last_cookie_ = entry.cookie;
      out.emplace_back(entry.name);
      return true;
    };
    const ReadDirectoryRequest request{after, false};
    EXPECT_TRUE(now(fs_->readdir(nobody_, fs_->root(), request, sink)).has_value());
    return out;
  }
  Error rename(std::uint64_t from, std::string_view name, std::uint64_t to, std::string_view to_name) {
    Wcc to_wcc;
    const auto done = now(fs_->rename(nobody_, at(*fs_, from), name, at(*fs_, to), to_name, wcc_, to_wcc));
    return done ? Error::server_fault : done.error();
  }
  static constexpr Error none = Error::server_fault;

  io::ReadyQueue queue_;
  std::shared_ptr<MemoryFileSystem> fs_ = mount();
  std::uint64_t last_cookie_ = 0;
};

TEST_F(MemoryNames, what_is_stored_outlives_the_file_system_that_stored_it) {
  const Found made = *now(fs_->create(nobody_, fs_->root(), "f", {}, wcc_));
  const FileHandle handle = made.file->handle();
  EXPECT_TRUE(now(write(fs_, made.file, 3, "abc")).has_value());
  fs_ = mount();
  const FileRef file = *now(fs_->resolve(handle.view()));
  EXPECT_EQ(*now(read(fs_, file)), std::string("\0\0\0abc", 6));
}

TEST_F(MemoryNames, a_handle_is_good_only_as_it_was_signed_and_as_long_as_its_file_is_there) {
  const std::uint64_t id = storage_.add(top, "f", FileType::regular);
  FileHandle handle = storage_.handle_of(id);
  EXPECT_TRUE(now(fs_->resolve(handle.view())).has_value());
  EXPECT_TRUE(now(fs_->remove(nobody_, fs_->root(), "f", wcc_)).has_value());
  EXPECT_EQ(now(fs_->resolve(handle.view())).error(), Error::stale);
  handle.bytes.at(20) ^= std::byte{1};
  EXPECT_EQ(now(fs_->resolve(handle.view())).error(), Error::badhandle);
}

TEST_F(MemoryNames, a_file_without_a_name_stays_while_it_is_open) {
  const FileRef file = at(*fs_, storage_.add(top, "f", FileType::regular, "bytes"));
  OpenFileRef open = *now(fs_->open(nobody_, file, OpenAccess::both, OpenRule::caller));
  LeaseRef lease = *now(fs_->lease(open, LeaseType::read, LeaseHolder{1}, [] {}));
  EXPECT_TRUE(now(fs_->remove(nobody_, fs_->root(), "f", wcc_)).has_value());
  EXPECT_EQ(now(fs_->getattr(file))->nlink, 0U);
  EXPECT_EQ(*now(read(fs_, file)), "bytes");
  open.reset();
  EXPECT_TRUE(now(fs_->getattr(file)).has_value()) << "the lease keeps its file open";
  lease.reset();
  EXPECT_EQ(now(fs_->getattr(file)).error(), Error::stale);
}

TEST_F(MemoryNames, cookies_stay_valid_while_names_come_and_go) {
  for (const char* name : {"a", "b", "c"}) storage_.add(top, name, FileType::regular);
  EXPECT_EQ(names(0, 3), (std::vector<std::string>{".", "..", "a"}));
  const std::uint64_t after_a = last_cookie_;
  EXPECT_TRUE(now(fs_->remove(nobody_, fs_->root(), "a", wcc_)).has_value());
  storage_.add(top, "d", FileType::regular);
  EXPECT_EQ(names(after_a, 9), (std::vector<std::string>{"b", "c", "d"}));
}

TEST_F(MemoryNames, rename_replaces_what_posix_lets_it_replace) {
  const std::uint64_t d = storage_.add(top, "d", FileType::directory);
  const std::uint64_t e = storage_.add(d, "e", FileType::directory);
  const std::uint64_t f = storage_.add(top, "f", FileType::regular);
  storage_.add(top, "g", FileType::regular);
  EXPECT_EQ(rename(top, "x", top, "y"), Error::noent);
  EXPECT_EQ(rename(top, "d", e, "d"), Error::inval) << "a directory into itself";
  EXPECT_EQ(rename(top, "f", top, "d"), Error::isdir);
  EXPECT_EQ(rename(top, "d", top, "f"), Error::notdir);
  storage_.add(top, "empty", FileType::directory);
  EXPECT_EQ(rename(top, "empty", top, "d"), Error::notempty);
  EXPECT_EQ(rename(d, "e", top, "empty"), none);
  EXPECT_EQ(*storage_.find(e, ".."), top);
  EXPECT_EQ(rename(top, "f", top, "g"), none);
  EXPECT_EQ(storage_.find(top, "g"), f);
  EXPECT_EQ(storage_.node(f).attributes.nlink, 1U);
  Wcc wcc;
  EXPECT_TRUE(now(fs_->link(nobody_, at(*fs_, f), fs_->root(), "h", wcc)).has_value());
  EXPECT_EQ(rename(top, "g", top, "h"), none);
  EXPECT_TRUE(storage_.find(top, "g").has_value()) << "two names of one file stay";
}

TEST_F(MemoryNames, an_error_of_the_test_changes_nothing) {
  recorder_.fail("mkdir", Error::dquot);
  EXPECT_EQ(now(fs_->mkdir(nobody_, fs_->root(), "d", {}, wcc_)).error(), Error::dquot);
  EXPECT_FALSE(storage_.find(top, "d").has_value());
  ASSERT_TRUE(wcc_.before && wcc_.after);
  EXPECT_EQ(wcc_.before->change, wcc_.after->change);
  recorder_.read_only = true;
  EXPECT_EQ(now(fs_->remove(nobody_, fs_->root(), "d", wcc_)).error(), Error::rofs);
  EXPECT_TRUE(now(fs_->getattr(fs_->root())).has_value());
}

TEST_F(MemoryNames, a_parked_call_sees_what_happened_meanwhile) {
  recorder_.park(true);
  const FileRef root = fs_->root();
  auto lookup = fs_->lookup(nobody_, root, "f");
  lookup.start({});
  EXPECT_EQ(recorder_.parked(), 1U);
  storage_.add(top, "f", FileType::regular);
  recorder_.resume_one();
  queue_.run(10);
  EXPECT_TRUE(lookup.done() && lookup.result().has_value());
}

TEST_F(MemoryNames, exclusive_creates_are_told_apart_by_their_verifiers) {
  CreateHow how;
  how.mode = CreateHow::Mode::exclusive;
  how.verifier.bytes[0] = std::byte{1};
  const auto first = now(fs_->open_create(nobody_, fs_->root(), "f", OpenAccess::both, how, wcc_));
  ASSERT_TRUE(first && first->created);
  EXPECT_TRUE(now(fs_->open_create(nobody_, fs_->root(), "f", OpenAccess::both, how, wcc_))->created);
  how.verifier.bytes[0] = std::byte{2};
  EXPECT_EQ(now(fs_->open_create(nobody_, fs_->root(), "f", OpenAccess::both, how, wcc_)).error(),
            Error::exist);
}

TEST_F(MemoryNames, without_a_source_of_contents_there_is_nothing_to_exchange) {
  const FileRef file = at(*fs_, storage_.add(top, "f", FileType::regular));
  EXPECT_EQ(now(fs_->content(file)).error(), Error::notsupp);
  EXPECT_EQ(now(fs_->exchange(file, nullptr)).error(), Error::notsupp);
}

TEST_F(MemoryTest, room_makes_a_file_longer_and_a_hole_reads_as_zeros) {
  const auto fs = mount();
  const FileRef file = at(*fs, storage_.add(top, "f", FileType::regular, "bytes"));
  const Borrowed io = fs->borrow(nobody_, file);
  EXPECT_TRUE(now(io->allocate(nobody_, 1, 2)));
  EXPECT_EQ(*now(read(fs, file)), "bytes");
  EXPECT_TRUE(now(io->allocate(nobody_, 4, 3)));
  EXPECT_EQ(*now(read(fs, file)), std::string("bytes\0\0", 7));
  EXPECT_EQ(now(fs->getattr(file))->size, 7U);
  EXPECT_TRUE(now(io->deallocate(nobody_, 1, 2)));
  EXPECT_EQ(*now(read(fs, file)), std::string("b\0\0es\0\0", 7));
  EXPECT_TRUE(now(io->deallocate(nobody_, 4, ~std::uint64_t{0})));
  EXPECT_EQ(*now(read(fs, file)), std::string("b\0\0e\0\0\0", 7)) << "it is not longer";
  EXPECT_EQ(now(io->allocate(nobody_, ~std::uint64_t{0}, 2)).error(), Error::fbig);
  EXPECT_EQ(now(fs->getattr(file))->size, 7U);
}

}  // namespace
}  // namespace braid::vfs::memory::test
