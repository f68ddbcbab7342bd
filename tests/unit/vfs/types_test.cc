#include "vfs/types.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

namespace braid::vfs {
namespace {

TEST(ErrorTest, errors_of_the_protocols_come_from_their_numbers) {
  EXPECT_EQ(error_of(EPERM), Error::perm);
  EXPECT_EQ(error_of(ENOENT), Error::noent);
  EXPECT_EQ(error_of(EIO), Error::io);
  EXPECT_EQ(error_of(EACCES), Error::acces);
  EXPECT_EQ(error_of(EEXIST), Error::exist);
  EXPECT_EQ(error_of(EXDEV), Error::xdev);
  EXPECT_EQ(error_of(ENOTDIR), Error::notdir);
  EXPECT_EQ(error_of(EISDIR), Error::isdir);
  EXPECT_EQ(error_of(EINVAL), Error::inval);
  EXPECT_EQ(error_of(EFBIG), Error::fbig);
  EXPECT_EQ(error_of(ENOSPC), Error::nospc);
  EXPECT_EQ(error_of(EROFS), Error::rofs);
  EXPECT_EQ(error_of(EMLINK), Error::mlink);
  EXPECT_EQ(error_of(ENAMETOOLONG), Error::nametoolong);
  EXPECT_EQ(error_of(ENOTEMPTY), Error::notempty);
  EXPECT_EQ(error_of(EDQUOT), Error::dquot);
  EXPECT_EQ(error_of(ESTALE), Error::stale);
  EXPECT_EQ(error_of(EOPNOTSUPP), Error::notsupp);
}

TEST(ErrorTest, what_passes_is_answered_with_delay) {
  for (const int number : {ENOMEM, EMFILE, ENFILE, ENOBUFS, EAGAIN, EINTR})
    EXPECT_EQ(error_of(number), Error::delay);
}

TEST(ErrorTest, an_unknown_number_is_a_server_fault) {
  EXPECT_EQ(error_of(0), Error::server_fault);
  EXPECT_EQ(error_of(EBADF), Error::server_fault);
  EXPECT_EQ(error_of(99999), Error::server_fault);
}

TEST(ErrorTest, every_error_has_its_own_name) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(Error::server_fault); ++i)
    names.insert(name_of(static_cast<Error>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(Error::server_fault) + 1);
}

}  // namespace
}  // namespace braid::vfs
