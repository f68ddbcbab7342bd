// What clients get of an export whose directory is not what it was.
#include "vfs/unavailable.h"

#include <gtest/gtest.h>

#include <memory>

#include "vfs/faulty/faulty.h"
#include "vfs/wire_handle.h"

namespace braid::vfs {
namespace {

const Registration registered{{ExportId(7), {1, 2}}, {"ext:0011", "1.02000000ff000000", "8:1"}, false};

TEST(Unavailable, its_root_has_the_handle_that_it_had) {
  const UnavailableFileSystem fs(registered, nullptr);
  const std::byte body[] = {std::byte{2}, {}, {}, {}, std::byte{0xff}, {}, {}, {}};
  EXPECT_EQ(fs.root()->handle(), HandleCodec(ExportId(7), {1, 2}).seal({false, 1, body}));
}

TEST(Unavailable, a_root_that_had_none_gets_one_that_nobody_can_use) {
  for (const char* kept : {"ino.77", "", "1.", "1.0", "zz.00", "1.0x"}) {
    Registration without = registered;
    without.kept.directory = kept;
    const FileHandle handle = UnavailableFileSystem(without, nullptr).root()->handle();
    const auto opened = HandleCodec(ExportId(7), {1, 2}).open(handle.view());
    ASSERT_TRUE(opened) << kept;
    EXPECT_TRUE(opened->body.transient) << kept;
  }
}

TEST(Unavailable, everything_is_to_be_asked_again_later) {
  UnavailableFileSystem fs(registered, nullptr);
  const FileRef root = fs.root();
  EXPECT_EQ(fs.resolve(root->handle().view()).result().error(), Error::delay);
  EXPECT_EQ(fs.getattr(root).result().error(), Error::delay);
  EXPECT_EQ(fs.lookup({}, root, "etc").result().error(), Error::delay);
  std::optional<Attributes> now;
  EXPECT_EQ(fs.access({}, root, 1, now).result().error(), Error::delay);
  Wcc wcc;
  EXPECT_EQ(fs.create({}, root, "file", {}, wcc).result().error(), Error::delay);
  EXPECT_EQ(fs.open_create({}, root, "file", OpenAccess::read, {}, wcc).result().error(), Error::delay);
  EXPECT_EQ(fs.readdir({}, root, {}, [](const DirectoryEntry&) { return true; }).result().error(),
            Error::delay);
  EXPECT_TRUE(fs.close(nullptr).result());
}

}  // namespace
}  // namespace braid::vfs
