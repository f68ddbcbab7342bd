#include "pnfs_mds/removals.h"

#include <gmock/gmock.h>

#include "pnfs_mds/fake/objects.h"
#include "tests/unit/pnfs_mds/scratch.h"

namespace braid::pnfs_mds::test {
namespace {

using Fate = Removals::Fate;

class RemovalsTest : public ScratchTest {
 protected:
  RemovalsTest() { start(); }
  void start() {
    removals_.reset();
    removals_ = Removals::open(directory_.get(), objects_, *grants_).value();
  }
  static RemovalIntent intent(std::uint64_t object) {
    RemovalIntent out{pnfs::ObjectId(object), {pnfs::ServerNumber(1), pnfs::ServerNumber(2)}, {}};
    out.file.size = 1;
    out.file.bytes[0] = static_cast<std::byte>(object);
    return out;
  }
  void put(std::uint64_t object) {
    for (std::uint32_t i = 0; i < 2; ++i)
      objects_.put(pnfs::ServerNumber(i + 1), {pnfs::ObjectId(object), i}, 0, "x");
  }
  // Every file has this fate.
  void look(Fate fate) {
    EXPECT_TRUE(now(removals_->look_at_earlier([&](vfs::FileHandle file) -> vfs::VfsOp<Fate> {
      asked_.push_back(std::to_integer<int>(file.bytes[0]));
      return Fate(fate);
    })));
  }

  fake::Objects objects_;
  std::unique_ptr<Grants> grants_ =
      std::make_unique<Grants>(Counter::open(directory_.get(), "grants", Grants::limit).value());
  std::unique_ptr<Removals> removals_;
  std::vector<int> asked_;
};

TEST_F(RemovalsTest, objects_go_after_their_file) {
  put(5);
  EXPECT_TRUE(now(removals_->intend(intent(5))));
  EXPECT_TRUE(now(removals_->work()));
  EXPECT_EQ(objects_.count(), 2U) << "it is an intent";
  int woken = 0;
  removals_->set_wake([&] { ++woken; });
  removals_->gone(intent(5));
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(removals_->backlog(), 1U);
  EXPECT_TRUE(now(removals_->work()));
  EXPECT_EQ(objects_.count(), 0U);
  EXPECT_EQ(removals_->backlog(), 0U);
  start();
  EXPECT_EQ(removals_->earlier(), 0U) << "it is done with";
}

TEST_F(RemovalsTest, what_a_server_does_not_confirm_is_tried_again) {
  put(5);
  put(6);
  objects_.set_error(pnfs::ServerNumber(2), vfs::Error::delay);
  EXPECT_TRUE(now(removals_->intend(intent(5))));
  removals_->gone(intent(5));
  removals_->gone(intent(6));
  EXPECT_TRUE(now(removals_->work()));
  EXPECT_EQ(removals_->backlog(), 2U);
  EXPECT_EQ(objects_.calls("remove"), 2U) << "one call for all objects of a server";
  objects_.set_error(pnfs::ServerNumber(2), std::nullopt);
  EXPECT_TRUE(now(removals_->work()));
  EXPECT_EQ(removals_->backlog(), 0U);
  EXPECT_EQ(objects_.count(), 0U);
}

TEST_F(RemovalsTest, after_a_crash_the_objects_of_a_file_without_a_name_go) {
  put(5);
  EXPECT_TRUE(now(removals_->intend(intent(5))));
  start();
  EXPECT_EQ(removals_->earlier(), 1U);
  look(Fate::unknown);
  EXPECT_EQ(removals_->earlier(), 1U) << "its export is not there yet";
  look(Fate::gone);
  EXPECT_THAT(asked_, testing::ElementsAre(5, 5));
  EXPECT_TRUE(now(removals_->work()));
  EXPECT_EQ(objects_.count(), 0U);
  start();
  EXPECT_EQ(removals_->earlier(), 0U);
}

TEST_F(RemovalsTest, after_a_crash_the_objects_of_a_file_with_a_name_stay) {
  put(5);
  EXPECT_TRUE(now(removals_->intend(intent(5))));
  start();
  look(Fate::lives);
  EXPECT_EQ(removals_->earlier(), 0U);
  EXPECT_TRUE(now(removals_->work()));
  EXPECT_EQ(objects_.count(), 2U);
  // And go when it is removed at last.
  EXPECT_TRUE(now(removals_->intend(intent(5))));
  start();
  look(Fate::gone);
  EXPECT_TRUE(now(removals_->work()));
  EXPECT_EQ(objects_.count(), 0U);
}

TEST_F(RemovalsTest, what_is_intended_again_is_no_earlier_runs_matter) {
  put(5);
  EXPECT_TRUE(now(removals_->intend(intent(5))));
  start();
  EXPECT_TRUE(now(removals_->intend(intent(5))));
  look(Fate::gone);
  EXPECT_TRUE(asked_.empty());
  EXPECT_EQ(removals_->backlog(), 0U);
}

TEST_F(RemovalsTest, a_log_with_other_records_is_damage) {
  removals_.reset();
  {
    auto log = pnfs::RecordLog::open(directory_.get(), "removals", [](base::BytesView) {}).value();
    const std::vector<base::Bytes> records{base::Bytes(9, std::byte{3})};
    EXPECT_TRUE(log->append(records));
  }
  const auto opened = Removals::open(directory_.get(), objects_, *grants_);
  EXPECT_EQ(opened.error(), base::errno_of(EBADMSG));
}

}  // namespace
}  // namespace braid::pnfs_mds::test
