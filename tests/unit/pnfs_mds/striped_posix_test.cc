// Striped files in directories of the kernel: the record in its attribute, and what is left in the file.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>

#include "base/metrics.h"
#include "pnfs_mds/cluster.h"
#include "pnfs_mds/fake/objects.h"
#include "tests/unit/vfs/posix_fixture.h"

namespace braid::pnfs_mds::test {
namespace {

using vfs::Error;

class StripedPosixTest : public vfs::PosixTest {
 protected:
  static constexpr std::uint32_t unit = 64 * base::KiB;

  void SetUp() override {
    std::string pattern = testing::TempDir() + "striped_posix_XXXXXX";
    state_ = ::mkdtemp(pattern.data());
    open_cluster();
    options_.sources = {&cluster_->source()};
    PosixTest::SetUp();
  }
  void TearDown() override {
    PosixTest::TearDown();
    cluster_.reset();
    std::filesystem::remove_all(state_);
  }
  void open_cluster() {
    cluster_ = std::move(*Cluster::open(
        {.state_dir = state_, .secret_file = "", .policy = {.unit = unit, .width = 2}, .servers = {}}, clock_,
        objects_));
    for (std::uint32_t number = 1; number <= 2; ++number) {
      pnfs::ServerId id{};
      id[0] = static_cast<std::byte>(number);
      EXPECT_TRUE(vfs::run(cluster_->servers().admit(id, "ds" + std::to_string(number), {})));
      EXPECT_TRUE(vfs::run(cluster_->servers().heard(
          id, {.room = {}, .load = 0, .verifier = objects_.verifier(pnfs::ServerNumber(number))})));
    }
  }
  // As another process does, after this one has ended.
  void start_again() {
    root_ = {};
    fs_.reset();
    cluster_.reset();
    open_cluster();
    options_.sources = {&cluster_->source()};
    fs_ = opened();
    root_ = fs_->root();
  }
  std::string record_of_file(const char* name) const {
    std::array<char, 512> bytes{};
    const ssize_t size = ::getxattr(local(name).c_str(), "trusted.braid.layout", bytes.data(), bytes.size());
    return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }
  StripedContent* content(const char* name) {
    const auto found = vfs::run(fs_->content(find(name)));
    return found ? cluster_->source().of(*found) : nullptr;
  }

  std::string state_;
  fake::Objects objects_;
  std::unique_ptr<Cluster> cluster_;
};
BRAID_ON_EVERY_FILE_SYSTEM(StripedPosixTest);

TEST_P(StripedPosixTest, the_record_is_an_attribute_and_the_file_a_hole_of_the_right_size) {
  ASSERT_TRUE(create("f"));
  EXPECT_EQ(record_of_file("f"), "");
  const std::string bytes(3 * unit, 'x');
  ASSERT_TRUE(write(find("f"), bytes));
  EXPECT_FALSE(record_of_file("f").empty());
  EXPECT_EQ(local_read("f"), std::string(3 * unit, '\0'));
  struct stat now{};
  ASSERT_EQ(::stat(local("f").c_str(), &now), 0);
  EXPECT_LT(now.st_blocks * 512, unit);
  EXPECT_EQ(attributes(find("f")).space, bytes.size());
  EXPECT_EQ(read(find("f")), bytes);
}

TEST_P(StripedPosixTest, another_process_finds_the_bytes) {
  ASSERT_TRUE(create("f"));
  ASSERT_TRUE(write(find("f"), "bytes", unit - 2));
  start_again();
  EXPECT_EQ(read(find("f"), unit - 3, 10), std::string("\0bytes", 6));
  EXPECT_EQ(attributes(find("f")).size, unit + 3);
}

TEST_P(StripedPosixTest, holes_room_and_copies_are_those_of_the_bytes) {
  ASSERT_TRUE(create("f"));
  ASSERT_TRUE(create("g"));
  const auto open = [&](const char* name) {
    return *vfs::run(fs_->open({}, find(name), vfs::OpenAccess::both, vfs::OpenRule::caller));
  };
  const vfs::OpenFileRef f = open("f"), g = open("g");
  ASSERT_TRUE(vfs::run(f->allocate({}, 0, 3 * unit)));
  ASSERT_NE(content("f"), nullptr) << "room is not kept in the file itself";
  EXPECT_EQ(attributes(find("f")).size, 3 * unit);
  ASSERT_TRUE(write(find("f"), std::string(3 * unit, 'x')));
  ASSERT_TRUE(vfs::run(f->deallocate({}, unit, unit)));
  EXPECT_EQ(vfs::run(f->seek(0, vfs::SeekTo::hole))->offset, unit);
  EXPECT_EQ(vfs::run(f->seek(unit, vfs::SeekTo::data))->offset, 2 * unit);
  EXPECT_EQ(vfs::run(f->seek(3 * unit, vfs::SeekTo::data)).error(), Error::nxio);
  base::MetricRegistry metrics;
  cluster_->source().counters().register_in(metrics);
  vfs::Credentials who;
  who.protocol = vfs::Protocol::nfs42;
  EXPECT_EQ(vfs::run(g->copy_from(who, *f, 10, 5, 2 * unit)), 2 * unit);
  const auto counted = [&](const std::string& line) {
    return metrics.prometheus().find("braid_pnfs_in_band_callers_total{operation=" + line + "\n") !=
           std::string::npos;
  };
  EXPECT_TRUE(counted(R"("read",version="other",layout="no"} 1)")) << metrics.prometheus();
  EXPECT_TRUE(counted(R"("write",version="other",layout="no"} 1)")) << "the server copies";
  EXPECT_TRUE(counted(R"("write",version="4.2",layout="no"} 0)"));
  ASSERT_NE(content("g"), nullptr);
  EXPECT_EQ(read(find("g")), std::string(5, '\0') + read(find("f"))->substr(10, 2 * unit));
  EXPECT_EQ(vfs::run(g->clone_from({}, *f, 0, 0, 0)).error(), Error::notsupp);
}

TEST_P(StripedPosixTest, a_directory_says_how_files_below_it_are_striped) {
  if (!kernel_has_xattrs()) GTEST_SKIP() << "it has no attributes";
  const auto say = [&](const char* directory, const std::string& text) {
    EXPECT_EQ(::setxattr(local(directory).c_str(), "user.braid.stripe", text.data(), text.size(), 0), 0);
  };
  const auto striping = [&](const char* name) {
    EXPECT_TRUE(write(find(name), "x")) << name;
    return content(name)->record().striping;
  };
  std::filesystem::create_directories(local("a/b/c"));
  say("a", "width=1");
  for (const char* name : {"f", "a/f", "a/b/c/f"}) local_write(name, "");
  EXPECT_EQ(striping("f").width, 2U);
  EXPECT_EQ(striping("a/f").width, 1U);
  EXPECT_EQ(striping("a/f").unit, unit);
  EXPECT_EQ(striping("a/b/c/f").width, 1U);
  say("a/b", "unit=128KiB,packing=dense");
  local_write("a/b/c/g", "");
  EXPECT_EQ(
      striping("a/b/c/g"),
      (pnfs::Striping{
          .unit = 2 * unit, .width = 2, .first = striping("a/b/c/g").first, .packing = pnfs::Packing::dense}))
      << "what the nearest one does not name is as in the export";
  say("a/b/c", "width=many");
  local_write("a/b/c/h", "");
  EXPECT_EQ(striping("a/b/c/h").width, 2U) << "nonsense counts for nothing";
  EXPECT_EQ(striping("a/b/c/h").unit, unit);
  say("a/b/c", std::string(vfs::Stub::inherited_bytes_max + 1, ' '));
  local_write("a/b/c/i", "");
  EXPECT_EQ(striping("a/b/c/i").unit, unit);
}

// Of files that the server makes, it remembers what their directory says.
TEST_P(StripedPosixTest, what_a_directory_said_is_not_said_after_it_has_changed) {
  if (!kernel_has_xattrs()) GTEST_SKIP() << "it has no attributes";
  const auto say = [&](const char* directory, const std::string& text) {
    EXPECT_EQ(::setxattr(local(directory).c_str(), "user.braid.stripe", text.data(), text.size(), 0), 0);
  };
  const auto make = [&](const char* directory, const char* name) {
    vfs::Wcc wcc;
    const auto made = vfs::run(fs_->create({}, find(directory), name, {}, wcc));
    EXPECT_TRUE(made) << name;
    return made->file;
  };
  const auto width_of = [&](const vfs::FileRef& file) {
    EXPECT_TRUE(write(file, "x"));
    const auto found = vfs::run(fs_->content(file));
    return cluster_->source().of(*found)->record().striping.width;
  };
  std::filesystem::create_directories(local("a/b"));
  std::filesystem::create_directories(local("c"));
  for (const char* name : {"f", "g"}) EXPECT_EQ(width_of(make("a/b", name)), 2U);
  say("a", "width=1");
  for (const char* name : {"h", "i"}) EXPECT_EQ(width_of(make("a/b", name)), 1U);
  say("a/b", "width=2");
  for (const char* name : {"j", "k"}) EXPECT_EQ(width_of(make("a/b", name)), 2U);
  EXPECT_EQ(::removexattr(local("a/b").c_str(), "user.braid.stripe"), 0);
  EXPECT_EQ(width_of(make("a/b", "l")), 1U);
  const vfs::FileRef moved = make("a/b", "m");
  ASSERT_EQ(::rename(local("a/b/m").c_str(), local("c/m").c_str()), 0);
  EXPECT_EQ(width_of(moved), 2U) << "it is not in that directory any more";
  ASSERT_EQ(::rename(local("a/b").c_str(), local("c/b").c_str()), 0);
  EXPECT_EQ(width_of(make("c/b", "n")), 2U);
}

TEST_P(StripedPosixTest, it_is_the_directory_of_the_name_that_counts_where_that_is_now) {
  if (!kernel_has_xattrs()) GTEST_SKIP() << "it has no attributes";
  std::filesystem::create_directories(local("a"));
  std::filesystem::create_directories(local("b"));
  ASSERT_EQ(::setxattr(local("b").c_str(), "user.braid.stripe", "width=1", 7, 0), 0);
  local_write("a/f", "");
  const vfs::FileRef file = find("a/f");
  ASSERT_EQ(::rename(local("a/f").c_str(), local("b/g").c_str()), 0);
  ASSERT_TRUE(write(file, "x"));
  EXPECT_EQ(content("b/g")->record().striping.width, 1U);
}

TEST_P(StripedPosixTest, a_renamed_or_linked_file_keeps_its_bytes_and_a_copied_record_has_none) {
  ASSERT_TRUE(create("f"));
  ASSERT_TRUE(write(find("f"), "bytes"));
  ASSERT_EQ(::rename(local("f").c_str(), local("g").c_str()), 0);
  ASSERT_EQ(::link(local("g").c_str(), local("h").c_str()), 0);
  local_write("copy", std::string(5, '\0'));
  const std::string record = record_of_file("g");
  ASSERT_EQ(::setxattr(local("copy").c_str(), "trusted.braid.layout", record.data(), record.size(), 0), 0);
  start_again();
  EXPECT_EQ(read(find("g")), "bytes");
  EXPECT_EQ(read(find("h")), "bytes");
  EXPECT_EQ(read(find("copy")).error(), Error::io);
  EXPECT_TRUE(remove("copy"));
  EXPECT_EQ(read(find("g")), "bytes");
}

TEST_P(StripedPosixTest, a_truncation_is_in_the_record) {
  ASSERT_TRUE(create("f"));
  ASSERT_TRUE(write(find("f"), std::string(2 * unit, 'x')));
  const std::string before = record_of_file("f");
  content("f")->holders().note(vfs::LeaseHolder(1), std::nullopt, 0, 0);
  vfs::SetAttributes set;
  set.size = 10;
  ASSERT_TRUE(setattr(find("f"), set));
  EXPECT_NE(record_of_file("f"), before);
  EXPECT_EQ(attributes(find("f")).size, 10U);
  start_again();
  EXPECT_EQ(content("f")->record().epoch, pnfs::Epoch(2));
  EXPECT_EQ(read(find("f")), std::string(10, 'x'));
}

TEST_P(StripedPosixTest, objects_go_when_the_file_does_and_not_before_the_last_close) {
  ASSERT_TRUE(create("f"));
  ASSERT_TRUE(write(find("f"), std::string(2 * unit, 'x')));
  EXPECT_EQ(objects_.count(), 2U);
  auto open = vfs::run(fs_->open({}, find("f"), vfs::OpenAccess::both, vfs::OpenRule::caller));
  ASSERT_TRUE(open);
  ASSERT_TRUE(remove("f"));
  EXPECT_TRUE(vfs::run(cluster_->removals().work()));
  EXPECT_EQ(objects_.count(), 2U);
  EXPECT_TRUE(vfs::run(fs_->close(std::move(*open))));
  fs_->sweep();
  EXPECT_TRUE(vfs::run(cluster_->removals().work()));
  EXPECT_EQ(objects_.count(), 0U);
}

TEST_P(StripedPosixTest, a_process_that_ended_before_the_last_close_leaves_its_intent) {
  ASSERT_TRUE(create("f"));
  ASSERT_TRUE(create("g"));
  ASSERT_TRUE(write(find("f"), "bytes"));
  ASSERT_TRUE(write(find("g"), "bytes"));
  const vfs::FileHandle gone = find("f")->handle();
  const vfs::FileHandle alive = find("g")->handle();
  auto open = vfs::run(fs_->open({}, find("f"), vfs::OpenAccess::both, vfs::OpenRule::caller));
  ASSERT_TRUE(remove("f"));
  open = base::fail(Error::stale);
  cluster_->removals().set_wake({});
  start_again();
  EXPECT_EQ(vfs::run(fs_->resolve(gone.view())).error(), Error::stale);
  EXPECT_TRUE(vfs::run(fs_->resolve(alive.view())));
  EXPECT_EQ(cluster_->removals().earlier(), 1U);
}

}  // namespace
}  // namespace braid::pnfs_mds::test
