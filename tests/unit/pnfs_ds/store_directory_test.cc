#include "pnfs_ds/store_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace braid::pnfs_ds {
namespace {

namespace fs = std::filesystem;

class StoreDirectoryTest : public testing::Test {
 protected:
  StoreDirectoryTest() {
    std::string pattern = fs::temp_directory_path() / "braid-store-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  ~StoreDirectoryTest() override { fs::remove_all(directory_); }
  [[nodiscard]] std::string trouble() const {
    const auto opened = StoreDirectory::open(directory_);
    return opened ? "" : opened.error();
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
  }
  fs::path directory_;
};

TEST_F(StoreDirectoryTest, an_empty_directory_becomes_a_store_that_stays_itself) {
  fs::create_directory(directory_ / "lost+found");
  pnfs::ServerId server;
  {
    const auto store = StoreDirectory::open(directory_);
    ASSERT_TRUE(store) << store.error();
    server = (*store)->server();
    EXPECT_NE(server, pnfs::ServerId{});
    EXPECT_EQ((*store)->cluster(), pnfs::ClusterId{});
    EXPECT_TRUE(fs::is_directory((*store)->objects_path()));
  }
  const auto again = StoreDirectory::open(directory_);
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ((*again)->server(), server);
}

TEST_F(StoreDirectoryTest, a_store_joins_one_cluster_for_ever) {
  const pnfs::ClusterId first{std::byte{1}}, second{std::byte{2}};
  {
    const auto store = StoreDirectory::open(directory_);
    EXPECT_TRUE((*store)->join(first));
    EXPECT_TRUE((*store)->join(first));
  }
  const auto again = StoreDirectory::open(directory_);
  EXPECT_EQ((*again)->cluster(), first);
  EXPECT_EQ((*again)->join(second).error(), base::errno_of(EEXIST));
}

TEST_F(StoreDirectoryTest, the_file_is_that_of_the_document) {
  const auto store = StoreDirectory::open(directory_);
  ASSERT_TRUE((*store)->join({std::byte{0xab}}));
  std::ifstream in(directory_ / "identity");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(text, "braid object store 1\nserver " + hex_of((*store)->server()) +
                      "\ncluster ab000000000000000000000000000000\n");
}

TEST_F(StoreDirectoryTest, two_servers_do_not_use_one_store) {
  const auto store = StoreDirectory::open(directory_);
  ASSERT_TRUE(store);
  EXPECT_THAT(trouble(), testing::HasSubstr("another data server uses"));
}

TEST_F(StoreDirectoryTest, who_waits_gets_it_when_its_user_has_ended) {
  auto first = StoreDirectory::open(directory_, "a data server (process 1)");
  ASSERT_TRUE(first);
  EXPECT_THAT(trouble(), testing::HasSubstr("a data server (process 1) uses the directory"));
  int waits = 0;
  const auto second =
      StoreDirectory::open(directory_, "a data server (process 2)", [&](std::string_view user) {
        EXPECT_EQ(user, "a data server (process 1)");
        if (++waits == 2) first->reset();
        return true;
      });
  EXPECT_TRUE(second) << second.error();
  EXPECT_EQ(waits, 2);
  EXPECT_THAT(trouble(), testing::HasSubstr("a data server (process 2) uses the directory"));
}

TEST_F(StoreDirectoryTest, a_store_whose_making_was_cut_off_is_made) {
  fs::create_directory(directory_ / "objects");
  write("identity.new", "half");
  EXPECT_EQ(trouble(), "");
}

TEST_F(StoreDirectoryTest, objects_without_an_identity_are_left_alone) {
  fs::create_directories(directory_ / "objects" / "3f");
  EXPECT_THAT(trouble(), testing::HasSubstr("is not empty"));
  fs::remove_all(directory_ / "objects");
  write("objects", "no directory");
  EXPECT_THAT(trouble(), testing::HasSubstr("is not empty"));
}

TEST_F(StoreDirectoryTest, what_is_no_store_is_left_alone) {
  write("precious", "x");
  EXPECT_THAT(trouble(), testing::HasSubstr("is not empty"));
  EXPECT_FALSE(fs::exists(directory_ / "identity"));
  EXPECT_THAT(StoreDirectory::open(directory_ / "none").error(), testing::HasSubstr("cannot be opened"));
}

TEST_F(StoreDirectoryTest, a_store_that_was_wiped_or_damaged_is_refused) {
  ASSERT_EQ(trouble(), "");
  fs::remove_all(directory_ / "objects");
  EXPECT_THAT(trouble(), testing::HasSubstr("is gone"));
  fs::create_directory(directory_ / "objects");
  EXPECT_EQ(trouble(), "");
  write("identity", "braid object store 2\n");
  EXPECT_THAT(trouble(), testing::HasSubstr("later version"));
  write("identity", "braid object store 1\nserver 00\n");
  EXPECT_THAT(trouble(), testing::HasSubstr("damaged"));
  fs::remove(directory_ / "identity");
  fs::create_directory(directory_ / "objects" / "3f");
  EXPECT_THAT(trouble(), testing::HasSubstr("is not empty"));
}

}  // namespace
}  // namespace braid::pnfs_ds
