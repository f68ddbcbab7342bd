#include "vfs/posix/transient_handles.h"

#include <gtest/gtest.h>

namespace braid::vfs::posix {
namespace {

class TransientHandlesTest : public testing::Test {
 protected:
  static Stat stat(std::uint64_t inode, std::int64_t birth = 5) {
    Stat out{};
    out.stx_ino = inode;
    out.stx_mask = STATX_BTIME;
    out.stx_btime.tv_sec = birth;
    return out;
  }
  static base::BytesView body_of(const FileHandle& handle) {
    return handle.view().subspan(HandleCodec::header_bytes);
  }

  HandleCodec codec_{ExportId(3), {1, 2}};
  TransientHandles handles_{codec_, 77, 3};
  FileHandle root_ = handles_.handle_of(stat(1));
};

TEST_F(TransientHandlesTest, an_object_keeps_its_handle) {
  EXPECT_EQ(handles_.handle_of(stat(1)), root_);
  EXPECT_TRUE(codec_.open(root_.view())->body.transient);
}

TEST_F(TransientHandlesTest, a_reused_inode_number_gets_another_handle) {
  EXPECT_FALSE(handles_.handle_of(stat(1, 6)) == root_);
}

TEST_F(TransientHandlesTest, a_handle_of_another_process_is_noticed) {
  EXPECT_TRUE(handles_.is_current(body_of(root_)));
  const TransientHandles other(codec_, 78, 3);
  EXPECT_FALSE(other.is_current(body_of(root_)));
  EXPECT_FALSE(handles_.is_current(body_of(root_).first(20)));
}

TEST_F(TransientHandlesTest, the_place_seen_last_is_found) {
  const FileHandle file = handles_.handle_of(stat(2));
  handles_.place(file, root_, "old");
  handles_.place(file, root_, "new");
  const auto at = handles_.find(file);
  ASSERT_TRUE(at);
  EXPECT_EQ(at->name, "new");
  EXPECT_EQ(at->parent, root_);
  handles_.forget(file);
  EXPECT_FALSE(handles_.find(file));
}

TEST_F(TransientHandlesTest, beyond_the_limit_the_place_not_asked_for_longest_is_forgotten) {
  for (std::uint64_t inode = 2; inode <= 4; ++inode)
    handles_.place(handles_.handle_of(stat(inode)), root_, "x");
  EXPECT_TRUE(handles_.find(handles_.handle_of(stat(2))));
  handles_.place(handles_.handle_of(stat(5)), root_, "x");
  EXPECT_FALSE(handles_.find(handles_.handle_of(stat(3))));
  for (const std::uint64_t inode : {2U, 4U, 5U}) EXPECT_TRUE(handles_.find(handles_.handle_of(stat(inode))));
}

}  // namespace
}  // namespace braid::vfs::posix
