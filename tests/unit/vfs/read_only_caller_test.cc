// A caller who may only read an export that others may change.
#include "posix_fixture.h"

namespace braid::vfs {
namespace {

class ReadOnlyCallerTest : public PosixTest {};
BRAID_ON_EVERY_FILE_SYSTEM(ReadOnlyCallerTest);

TEST_P(ReadOnlyCallerTest, changes_nothing_by_what_he_opens_or_has_open) {
  local_write("file", "text");
  local_write("other", "");
  const FileRef file = find("file");
  const auto held = run(fs_->open({}, file, OpenAccess::both, OpenRule::caller)).value();
  Credentials reader;
  reader.read_only = true;
  const auto open = [&](OpenAccess access) { return run(fs_->open(reader, file, access, OpenRule::caller)); };
  const auto write_open = [&](const Credentials& who, std::string_view text) {
    const io::Payload data = payload(text);
    return run(held->write(who, 0, data, Stability::unstable));
  };
  EXPECT_EQ(open(OpenAccess::write).error(), Error::rofs);
  EXPECT_EQ(run(fs_->open_create(reader, root_, "new", OpenAccess::read, {}, wcc_)).error(), Error::rofs);
  EXPECT_EQ(create("new", 0644, reader).error(), Error::rofs);
  EXPECT_EQ(mkdir("new", 0755, reader).error(), Error::rofs);
  EXPECT_EQ(remove("other", reader).error(), Error::rofs);
  EXPECT_EQ(setattr(file, with_mode(0600), reader).error(), Error::rofs);
  EXPECT_EQ(write(file, "lost", 0, reader).error(), Error::rofs);
  Wcc to;
  EXPECT_EQ(run(fs_->rename(reader, root_, "other", root_, "new", wcc_, to)).error(), Error::rofs);
  EXPECT_EQ(run(fs_->link(reader, file, root_, "new", wcc_)).error(), Error::rofs);
  EXPECT_EQ(run(fs_->symlink(reader, root_, "new", "x", {}, wcc_)).error(), Error::rofs);
  std::optional<Attributes> now;
  const std::uint32_t all = AccessBits::read | AccessBits::modify | AccessBits::extend;
  EXPECT_EQ(run(fs_->access(reader, file, all, now)).value(), AccessBits::read);
  // By what was opened when he still might.
  EXPECT_EQ(write_open(reader, "lost").error(), Error::rofs);
  EXPECT_EQ(run(held->allocate(reader, 0, 100)).error(), Error::rofs);
  EXPECT_EQ(run(held->deallocate(reader, 0, 2)).error(), Error::rofs);
  EXPECT_EQ(run(held->copy_from(reader, *held, 0, 4, 4)).error(), Error::rofs);
  EXPECT_EQ(run(held->clone_from(reader, *held, 0, 4096, 0)).error(), Error::rofs);
  SetAttributes empty;
  empty.size = 0;
  EXPECT_EQ(run(held->set(reader, empty)).error(), Error::rofs);
  EXPECT_TRUE(open(OpenAccess::read));
  EXPECT_EQ(local_read("file"), "text");
  EXPECT_TRUE(write_open({}, "TEXT"));
}

}  // namespace
}  // namespace braid::vfs
