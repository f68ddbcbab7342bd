// Directories that are exchanged under exports.
#include "server/export_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/contents_mark.h"
#include "tests/unit/rpc/loop.h"
#include "tests/unit/vfs/fake_content.h"
#include "vfs/posix/directory_identity.h"

namespace braid::server {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class ExportSetTest : public testing::Test {
 protected:
  void SetUp() override {
    // On a disk: what tmpfs holds is expected to be another one.
    std::string pattern = (fs::exists("/var/tmp") ? "/var/tmp" : testing::TempDir()) + "/exports-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    fs::create_directories(base_ + "/data");
    fs::create_directories(base_ + "/other");
    const auto identity = vfs::posix::directory_identity(base_ + "/data", {});
    ASSERT_TRUE(identity);
    if (!identity->lasting()) GTEST_SKIP() << "this file system is not expected to last";
    start();
    ASSERT_TRUE(set_->apply({config_}));
  }
  void TearDown() override {
    set_.reset();
    fs::remove_all(base_);
  }
  void start() {
    config_.path = "/";
    config_.directory = base_ + "/data";
    set_.reset();
    set_.emplace(ExportResources{clock_, pool_, slabs_, 4096, contents_},
                 vfs::ExportRegistry::open(base_ + "/state").value());
  }
  [[nodiscard]] const vfs::Export& exported() const { return set_->table().current()->all().front(); }
  [[nodiscard]] vfs::FileHandle root() const { return exported().file_system->root()->handle(); }
  [[nodiscard]] std::optional<vfs::Error> error() const {
    const vfs::FileHandle handle = root();
    auto resolving = exported().file_system->resolve(handle.view());
    resolving.start({});
    if (resolving.result()) return std::nullopt;
    return resolving.result().error();
  }
  void exchange() const {
    fs::rename(base_ + "/data", base_ + "/moved");
    fs::rename(base_ + "/other", base_ + "/data");
  }
  void bring_back() const {
    fs::rename(base_ + "/data", base_ + "/other");
    fs::rename(base_ + "/moved", base_ + "/data");
  }

  std::string base_;
  config::ExportConfig config_;
  base::SystemClock clock_;
  io::BlockingPool pool_{{.threads_max = 1}};
  io::SlabPool slabs_{{.bytes_max = io::region_bytes, .huge_pages = false}};
  ContentSources contents_;
  std::optional<ExportSet> set_;
};

TEST_F(ExportSetTest, a_directory_that_is_exchanged_while_it_is_served_is_unavailable_until_it_is_back) {
  const vfs::FileHandle before = root();
  exchange();
  set_->sweep();
  EXPECT_EQ(error(), vfs::Error::delay);
  EXPECT_EQ(root(), before);
  EXPECT_THAT(set_->entries().front().unavailable, HasSubstr("braid export accept /"));
  bring_back();
  set_->sweep();
  EXPECT_EQ(error(), std::nullopt);
  EXPECT_EQ(root(), before);
  EXPECT_EQ(set_->entries().front().unavailable, "");
}

TEST_F(ExportSetTest, one_that_was_exchanged_meanwhile_is_unavailable_from_the_start) {
  const vfs::FileHandle before = root();
  exchange();
  start();
  ASSERT_TRUE(set_->apply({config_}));
  EXPECT_EQ(error(), vfs::Error::delay);
  EXPECT_EQ(root(), before);
  bring_back();
  set_->sweep();
  EXPECT_EQ(error(), std::nullopt);
  EXPECT_EQ(root(), before);
}

// Between the look at what is there and its opening, contents are asked for.
TEST_F(ExportSetTest, one_that_is_exchanged_while_it_is_opened_is_unavailable) {
  const vfs::FileHandle before = root();
  bool exchanged = false;
  contents_.of = [&](const config::ExportConfig& /*config*/) {
    if (!std::exchange(exchanged, true)) exchange();
    return std::vector<vfs::ContentSource*>{};
  };
  start();
  ASSERT_TRUE(set_->apply({config_}));
  ASSERT_TRUE(exchanged);
  EXPECT_EQ(error(), vfs::Error::delay);
  EXPECT_EQ(root(), before);
  EXPECT_THAT(set_->entries().front().unavailable, HasSubstr("braid export accept /"));
  bring_back();
  set_->sweep();
  EXPECT_EQ(error(), std::nullopt);
  EXPECT_EQ(root(), before);
}

TEST_F(ExportSetTest, one_that_is_missing_is_unavailable_if_it_is_known) {
  const vfs::FileHandle before = root();
  fs::rename(base_ + "/data", base_ + "/moved");
  set_->sweep();
  EXPECT_EQ(error(), vfs::Error::delay);
  start();
  ASSERT_TRUE(set_->apply({config_}));
  EXPECT_EQ(error(), vfs::Error::delay);
  EXPECT_THAT(set_->entries().front().unavailable, HasSubstr("cannot be opened"));
  fs::rename(base_ + "/moved", base_ + "/data");
  set_->sweep();
  EXPECT_EQ(error(), std::nullopt);
  EXPECT_EQ(root(), before);
}

TEST_F(ExportSetTest, a_reload_reaches_files_that_are_open) {
  std::ofstream(base_ + "/data/file") << "text";
  const auto done = [](auto op) {
    op.start({});
    return std::move(op.result());
  };
  vfs::FileSystem& first = *exported().file_system;
  const vfs::FileRef file = done(first.lookup({}, first.root(), "file")).value().file;
  const auto open = done(first.open({}, file, vfs::OpenAccess::both, vfs::OpenRule::caller)).value();
  const auto write = [&] { return done(open->write({}, 0, io::Payload(), vfs::Stability::unstable)); };
  EXPECT_TRUE(write());
  for (int reloads = 0; reloads < 2; ++reloads) {
    config_.read_only = true;
    ASSERT_TRUE(set_->apply({config_}));
    EXPECT_EQ(write().error(), vfs::Error::rofs);
    config_.read_only = false;
    ASSERT_TRUE(set_->apply({config_}));
    EXPECT_TRUE(write());
  }
}

TEST_F(ExportSetTest, a_rule_that_allows_changes_makes_the_file_system_writable) {
  std::ofstream(base_ + "/data/file") << "text";
  const auto made = [&](const vfs::Credentials& who) {
    vfs::Wcc wcc;
    vfs::FileSystem& shared = *exported().file_system;
    auto op = shared.mkdir(who, shared.root(), "made", {}, wcc);
    op.start({});
    return op.result() ? std::optional<vfs::Error>() : op.result().error();
  };
  const auto who = [&](std::string_view client) {
    return exported().rule_of(*vfs::Address::parse(client))->squashed({});
  };
  config_.read_only = true;
  config_.rules.resize(1);
  config_.rules[0].clients = {"192.0.2.1"};
  config_.rules[0].squash = vfs::Squash::none;
  ASSERT_TRUE(set_->apply({config_}));
  const auto before = exported().file_system;
  EXPECT_EQ(made(who("192.0.2.2")), vfs::Error::rofs);
  EXPECT_EQ(made(who("192.0.2.1")), std::nullopt);
  config_.rules[0].clients = {"192.0.2.2"};
  ASSERT_TRUE(set_->apply({config_}));
  EXPECT_EQ(exported().file_system, before) << "what is open stays so";
  EXPECT_FALSE(who("192.0.2.2").read_only);
  EXPECT_TRUE(who("192.0.2.1").read_only);
  config_.rules[0].read_only = true;
  ASSERT_TRUE(set_->apply({config_}));
  EXPECT_EQ(made({}), vfs::Error::rofs) << "nobody may change anything";
}

TEST_F(ExportSetTest, each_file_system_is_opened_with_the_sources_of_its_export) {
  std::ofstream(base_ + "/data/file") << "text";
  const auto done = [](auto op) {
    op.start({});
    return std::move(op.result());
  };
  const auto file_has_sources = [&] {
    vfs::FileSystem& shared = *exported().file_system;
    const vfs::FileRef file = done(shared.lookup({}, shared.root(), "file")).value().file;
    return done(shared.content(file)).has_value();
  };
  EXPECT_FALSE(file_has_sources());
  EXPECT_TRUE(set_->takes_pipes());
  if (::geteuid() != 0) GTEST_SKIP() << "trusted attributes are root's";
  vfs::FakeSource source;
  std::vector<std::string> asked;
  contents_.of = [&](const config::ExportConfig& config) -> std::vector<vfs::ContentSource*> {
    asked.push_back(config.path);
    return {&source};
  };
  contents_.take_pipes = false;
  start();
  ASSERT_TRUE(set_->apply({config_}));
  EXPECT_TRUE(file_has_sources());
  EXPECT_FALSE(set_->takes_pipes());
  ASSERT_TRUE(set_->apply({config_}));
  EXPECT_EQ(asked.size(), 1U) << "a file system that stays keeps them";
  config_.sync = false;
  ASSERT_TRUE(set_->apply({config_}));
  EXPECT_EQ(asked.size(), 2U);
  EXPECT_TRUE(file_has_sources());
  // Without the source, what it has taken would read as zeros.
  contents_.of = {};
  start();
  const auto without = set_->apply({config_});
  ASSERT_FALSE(without);
  EXPECT_THAT(without.error(), HasSubstr("bytes are elsewhere (trusted.braid.test)"));
  EXPECT_EQ(::removexattr((base_ + "/data").c_str(), contents_mark), 0);
  EXPECT_TRUE(set_->apply({config_}));
  set_.reset();
}

TEST_F(ExportSetTest, one_that_was_never_there_is_an_error_of_a_command_line) {
  config_.path = "/new";
  config_.directory = base_ + "/nowhere";
  const auto applied = set_->apply({config_});
  ASSERT_FALSE(applied);
  EXPECT_THAT(applied.error(), HasSubstr("cannot serve " + base_ + "/nowhere"));
}

TEST_F(ExportSetTest, one_that_was_never_there_is_served_when_it_comes_and_holds_up_no_other) {
  config::ExportConfig absent;
  absent.path = "/new";
  absent.directory = base_ + "/nowhere";
  absent.line = 7;
  ASSERT_TRUE(set_->apply({config_, absent}));
  EXPECT_EQ(error(), std::nullopt);
  EXPECT_THAT(set_->entries().back().unavailable, HasSubstr(absent.directory + " cannot be opened"));
  const auto is_delayed = [&] {
    const vfs::Export& last = set_->table().current()->all().back();
    return last.file_system->getattr(last.file_system->root()).result() == base::fail(vfs::Error::delay);
  };
  EXPECT_TRUE(is_delayed());
  set_->sweep();
  EXPECT_TRUE(is_delayed());
  fs::create_directories(absent.directory);
  set_->sweep();
  EXPECT_EQ(set_->entries().back().unavailable, "");
}

TEST_F(ExportSetTest, a_suspended_one_lets_go_of_its_directory_until_it_is_resumed) {
  const vfs::FileHandle before = root();
  const std::weak_ptr<vfs::FileSystem> served = exported().file_system;
  EXPECT_EQ(set_->suspend("/"), "");
  EXPECT_TRUE(served.expired()) << "its descriptors hold the disk";
  EXPECT_EQ(error(), vfs::Error::delay);
  EXPECT_EQ(root(), before);
  EXPECT_THAT(set_->entries().front().unavailable, HasSubstr("braid export resume /"));
  set_->sweep();
  EXPECT_EQ(error(), vfs::Error::delay) << "it comes back when it is told to";
  config_.sync = false;
  ASSERT_TRUE(set_->apply({config_}));
  EXPECT_EQ(error(), vfs::Error::delay) << "a reload is no resumption";
  EXPECT_EQ(set_->suspend("/"), "") << "twice is as good";
  EXPECT_EQ(set_->resume("/"), "");
  EXPECT_EQ(error(), std::nullopt);
  EXPECT_EQ(root(), before);
  EXPECT_FALSE(set_->resume("/"));
  EXPECT_FALSE(set_->suspend("/nothing"));
  EXPECT_FALSE(set_->resume("/nothing"));
}

TEST_F(ExportSetTest, unsynced_files_of_a_suspended_one_are_said_to_keep_it_in_use_until_they_are_let_go) {
  std::ofstream(base_ + "/data/file") << "text";
  const auto done = [](auto op) {
    op.start({});
    return std::move(op.result());
  };
  {
    vfs::FileSystem& served = *exported().file_system;
    const vfs::FileRef file = done(served.lookup({}, served.root(), "file")).value().file;
    auto open = done(served.open({}, file, vfs::OpenAccess::both, vfs::OpenRule::caller)).value();
    io::SlabCursor cursor(slabs_);
    const io::Payload bytes(cursor.carve(4).value());
    ASSERT_TRUE(done(open->write({}, 0, bytes, vfs::Stability::unstable)));
    ASSERT_TRUE(done(served.close(std::move(open))));
  }
  EXPECT_FALSE(set_->keeps_unserved());
  EXPECT_THAT(set_->suspend("/").value(), HasSubstr("not all on it yet (1 of them)"));
  EXPECT_TRUE(set_->keeps_unserved());
  rpc::test::Loop loop(clock_);
  loop.run([&] { return set_->let_go_unserved(); });
  EXPECT_FALSE(set_->keeps_unserved());
  EXPECT_EQ(set_->suspend("/"), "");
}

TEST_F(ExportSetTest, what_is_open_keeps_a_suspended_disk_in_use_and_is_said_to) {
  std::ofstream(base_ + "/data/file") << "text";
  const auto done = [](auto op) {
    op.start({});
    return std::move(op.result());
  };
  vfs::FileSystem& first = *exported().file_system;
  vfs::FileRef file = done(first.lookup({}, first.root(), "file")).value().file;
  auto open = done(first.open({}, file, vfs::OpenAccess::read, vfs::OpenRule::caller)).value();
  file = vfs::FileRef();
  EXPECT_THAT(set_->suspend("/").value(), HasSubstr("in use by what clients have open"));
  EXPECT_THAT(held_text(set_->entries().front()), HasSubstr("in use"));
  EXPECT_TRUE(done(exported().file_system->close(std::move(open))));
  EXPECT_EQ(held_text(set_->entries().front()), "");
}

TEST_F(ExportSetTest, a_disk_that_vanishes_while_it_is_suspended_is_awaited_when_it_is_resumed) {
  const vfs::FileHandle before = root();
  EXPECT_EQ(set_->suspend("/"), "");
  fs::rename(base_ + "/data", base_ + "/moved");
  EXPECT_THAT(set_->resume("/").value(), HasSubstr("cannot be opened"));
  EXPECT_EQ(error(), vfs::Error::delay);
  fs::rename(base_ + "/moved", base_ + "/data");
  set_->sweep();
  EXPECT_EQ(error(), std::nullopt);
  EXPECT_EQ(root(), before);
}

// An unmounted disk may have lost what was not synced, and nobody was told.
TEST_F(ExportSetTest, bytes_that_were_not_synced_before_are_to_be_sent_again) {
  std::ofstream(base_ + "/data/file") << "text";
  const auto done = [](auto op) {
    op.start({});
    return std::move(op.result());
  };
  const auto verifier = [&] {
    vfs::FileSystem& served = *exported().file_system;
    const vfs::FileRef file = done(served.lookup({}, served.root(), "file")).value().file;
    const auto open = done(served.open({}, file, vfs::OpenAccess::both, vfs::OpenRule::caller)).value();
    return done(open->write({}, 0, io::Payload(), vfs::Stability::unstable)).value().verifier;
  };
  const vfs::Verifier before = verifier();
  EXPECT_EQ(verifier(), before);
  EXPECT_TRUE(set_->suspend("/"));
  EXPECT_EQ(set_->resume("/"), "");
  EXPECT_NE(verifier(), before);
}

TEST_F(ExportSetTest, what_is_there_instead_is_served_when_it_is_meant_and_has_other_handles) {
  const vfs::FileHandle before = root();
  exchange();
  set_->sweep();
  EXPECT_FALSE(set_->accept("/nothing"));
  ASSERT_TRUE(set_->accept("/"));
  EXPECT_EQ(error(), std::nullopt);
  EXPECT_NE(root(), before);
  EXPECT_EQ(set_->table().current()->by_handle(before.view()), nullptr) << "stale";
  const vfs::FileHandle accepted = root();
  start();
  ASSERT_TRUE(set_->apply({config_}));
  EXPECT_EQ(root(), accepted);
}

TEST_F(ExportSetTest, a_directory_keeps_its_handles_under_another_path) {
  const vfs::FileHandle before = root();
  fs::rename(base_ + "/data", base_ + "/moved");
  start();
  config_.directory = base_ + "/moved";
  ASSERT_TRUE(set_->apply({config_}));
  EXPECT_EQ(error(), std::nullopt);
  EXPECT_EQ(root(), before);
}

}  // namespace
}  // namespace braid::server
