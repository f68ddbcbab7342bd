// Attributes, sizes, names and leases of files whose bytes are a content's.
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>

#include "bell.h"
#include "content_fixture.h"

namespace braid::vfs {
namespace {

using Log = std::vector<std::string>;

class ContentAttributesTest : public ContentFixture {
 protected:
  static SetAttributes with_size(std::uint64_t size) {
    SetAttributes set;
    set.size = size;
    return set;
  }
  // A descriptor of the cache, open for writing, would be in the way of a lease.
  void close_cached() {
    file_ = {};
    fs_->tree().cache().shrink(1000);
    file_ = find("file");
  }
  [[nodiscard]] std::string removing_line() { return "removing " + std::to_string(attributes(file_).fileid); }
  // Changes the inode's ctime. The kernel's clock has ticks: until it is another one. The same value again is
  // no change.
  void touch() {
    struct stat was{}, is{};
    ASSERT_EQ(::stat(local("file").c_str(), &was), 0);
    do {
      touched_ = touched_ == 'a' ? 'b' : 'a';
      ASSERT_EQ(::setxattr(local("file").c_str(), "trusted.test", &touched_, 1, 0), 0);
      ASSERT_EQ(::stat(local("file").c_str(), &is), 0);
    } while (is.st_ctim.tv_sec == was.st_ctim.tv_sec && is.st_ctim.tv_nsec == was.st_ctim.tv_nsec);
  }

 private:
  char touched_ = 'a';
};
BRAID_ON_EVERY_FILE_SYSTEM(ContentAttributesTest);

TEST_P(ContentAttributesTest, what_a_source_does_to_the_inode_is_hidden_until_somebody_changes_the_file) {
  const Attributes before = attributes(file_);
  HiddenChanges hidden;
  {
    const auto stub = run(fs_->stub(file_, source_));
    ASSERT_TRUE(stub);
    ASSERT_TRUE((*stub)->hide_changes());
    touch();
    EXPECT_EQ(attributes(file_).change, before.change);
    EXPECT_TRUE(attributes(file_).ctime == before.ctime);
    const auto found = (*stub)->hidden();
    ASSERT_TRUE(found && *found);
    hidden = **found;
    EXPECT_EQ(hidden.change, before.change);
    EXPECT_EQ(attributes(file_).change, before.change);
    // Here the content does not go on hiding it.
    (*stub)->show_changes();
    EXPECT_GT(attributes(file_).change, before.change);
  }
  Attributes now = attributes(file_);
  EXPECT_GT(now.change, before.change);
  Attributes written = now;
  written.mtime = now.ctime;
  hidden.hide(written);
  EXPECT_EQ(written.change, now.change) << "within the same tick of the clock somebody has written, too";
  hidden.hide(now);
  EXPECT_EQ(now.change, before.change);
  const auto stub = run(fs_->stub(file_, source_));
  ASSERT_TRUE((*stub)->hide_changes());
  touch();
  Wcc wcc;
  ASSERT_TRUE(run(fs_->setattr({}, file_, with_mode(0600), std::nullopt, &wcc)));
  ASSERT_TRUE(wcc.after);
  EXPECT_GT(wcc.after->change, before.change);
  EXPECT_EQ(wcc.after->mode & 0777U, 0600U);
  EXPECT_GT(attributes(file_).change, before.change);
  const auto found = (*stub)->hidden();
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found) << "somebody else has changed it, too";
  now = attributes(file_);
  hidden.hide(now);
  EXPECT_GT(now.change, before.change);
}

TEST_P(ContentAttributesTest, a_commit_is_no_change_for_another_one_or_for_a_write) {
  const Attributes before = attributes(file_);
  std::optional<HiddenChanges> hidden;
  Wcc outer, inner;
  source_.in_commit = [&](Stub& stub) {
    if (content().commits > 1) return;
    EXPECT_TRUE(stub.hide_changes());
    touch();
    EXPECT_TRUE(commit(file_, {}, &inner));
    const auto found = stub.hidden();
    ASSERT_TRUE(found);
    hidden = *found;
  };
  ASSERT_TRUE(commit(file_, {}, &outer));
  EXPECT_EQ(content().commits, 2);
  EXPECT_TRUE(hidden);
  ASSERT_TRUE(inner.before && inner.after && outer.before);
  EXPECT_EQ(inner.before->change, before.change);
  EXPECT_EQ(inner.after->change, before.change);
  EXPECT_EQ(outer.before->change, before.change);

  Wcc committed;
  source_.before_write = [&] { ASSERT_TRUE(commit(file_, {}, &committed)); };
  const io::Payload data = payload("written");
  Wcc written;
  ASSERT_TRUE(write_to(file_, 0, data, Stability::unstable, &written));
  EXPECT_TRUE(written.before);
  EXPECT_TRUE(committed.after);
  EXPECT_FALSE(committed.before) << "what it saw before may not be all that came before the write";
}

TEST_P(ContentAttributesTest, whoever_looks_at_an_unsettled_file_sees_what_was_written) {
  const std::function<std::uint64_t()> looks[] = {
      [&] { return attributes(file_).size; },
      [&] { return lookup(root_, "file")->attributes.size; },
      [&] {
        std::optional<Attributes> now;
        EXPECT_TRUE(run(fs_->access({}, file_, AccessBits::read, now)));
        return now->size;
      },
      [&] { return read_from(file_, 0, 1, *cursor_)->attributes.size; },
      [&] {
        const CreateHow how;
        return run(fs_->create({}, root_, "file", how, wcc_))->attributes.size;
      },
      [&] {
        const CreateHow how;
        return run(fs_->open_create({}, root_, "file", OpenAccess::read, how, wcc_))->attributes.size;
      },
  };
  FakeContent& placed = content();
  std::uint64_t size = 100;
  for (const auto& look : looks) {
    placed.write_elsewhere(std::string(++size, 'e'));
    EXPECT_EQ(look(), size);
    EXPECT_FALSE(placed.unsettled());
  }
  EXPECT_EQ(placed.settles, 6);
  EXPECT_EQ(attributes(file_).size, size);
  EXPECT_EQ(placed.settles, 6) << "a settled file is not settled again";
}

TEST_P(ContentAttributesTest, settling_shows_as_a_change) {
  const Attributes before = attributes(file_);
  content().write_elsewhere("longer than before");
  EXPECT_NE(attributes(file_).change, before.change);
}

TEST_P(ContentAttributesTest, several_who_look_share_a_settling) {
  content().write_elsewhere("elsewhere");
  source_.slow = true;
  on_reactor([&]() -> io::Op<> {
    std::vector<VfsOp<Attributes>> looks;
    for (int i = 0; i < 5; ++i) looks.push_back(fs_->getattr(file_));
    for (auto& look : looks) look.start({});
    for (auto& look : looks) {
      const auto now = co_await std::move(look).as_result();
      EXPECT_EQ(now->size, 9U);
    }
  });
  EXPECT_EQ(content().settles, 1) << "those who came later found it settled";
}

TEST_P(ContentAttributesTest, a_listing_adjusts_and_says_nothing_of_what_is_behind) {
  FakeContent& placed = content();
  const auto listed = [&] {
    std::optional<Attributes> out;
    const ReadDirectoryRequest request{.cookie = 0, .plus = true};
    EXPECT_TRUE(run(fs_->readdir({}, root_, request, [&](const DirectoryEntry& entry) {
      if (entry.name == "file") out = entry.attributes;
      return true;
    })));
    return out;
  };
  EXPECT_EQ(listed()->space, FakeContent::space_of);
  EXPECT_EQ(listed()->size, 10U);
  placed.write_elsewhere("elsewhere, and more");
  EXPECT_FALSE(listed());
  EXPECT_EQ(placed.settles, 0);
  EXPECT_EQ(attributes(file_).size, 19U);
  EXPECT_EQ(listed()->size, 19U);
}

TEST_P(ContentAttributesTest, the_status_of_the_export_is_adjusted) {
  EXPECT_EQ(run(fs_->status(root_))->bytes_total, 777U);
}

TEST_P(ContentAttributesTest, the_size_is_changed_in_the_content) {
  SetAttributes both = with_size(4);
  both.mode = 0600;
  ASSERT_TRUE(setattr(file_, both));
  EXPECT_EQ(content().bytes(), "0123");
  EXPECT_EQ(attributes(file_).size, 4U);
  EXPECT_EQ(attributes(file_).mode, 0600U);
  ASSERT_TRUE(wcc_.before && wcc_.after);
  EXPECT_EQ(wcc_.before->size, 10U);
  EXPECT_EQ(wcc_.after->size, 4U);

  const OpenFileRef io = open(file_);
  ASSERT_TRUE(run(io->set({}, with_size(2))));
  EXPECT_EQ(content().bytes(), "01");
  const OpenFileRef reader = open(file_, OpenAccess::read);
  EXPECT_EQ(run(reader->set({}, with_size(0))).error(), Error::acces);
  EXPECT_EQ(run(io->set({}, with_size(~std::uint64_t{0}))).error(), Error::fbig);

  const auto guarded = run(fs_->setattr({}, file_, with_size(1), Time{1, 1}, &wcc_));
  EXPECT_EQ(guarded.error(), Error::not_sync);
  EXPECT_EQ(content().bytes(), "01");
}

TEST_P(ContentAttributesTest, an_open_that_truncates_does_so_in_the_content) {
  CreateHow how;
  how.attributes.size = 0;
  const auto opened = run(fs_->open_create({}, root_, "file", OpenAccess::read, how, wcc_));
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->truncated);
  EXPECT_FALSE(opened->created);
  EXPECT_EQ(opened->attributes.size, 0U);
  EXPECT_EQ(content().bytes(), "");

  const auto plain = run(fs_->open_create({}, root_, "plain", OpenAccess::both, how, wcc_));
  ASSERT_TRUE(plain && plain->truncated);
  EXPECT_EQ(local_read("plain"), "");
  const auto made = run(fs_->open_create({}, root_, "made", OpenAccess::both, how, wcc_));
  ASSERT_TRUE(made && made->created);
  EXPECT_FALSE(made->truncated);
}

TEST_P(ContentAttributesTest, a_create_over_a_file_sizes_its_content) {
  CreateHow how;
  how.attributes.size = 3;
  const auto found = run(fs_->create({}, root_, "file", how, wcc_));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->attributes.size, 3U);
  EXPECT_EQ(content().bytes(), "012");
  EXPECT_EQ(run(fs_->create({}, root_, "made", how, wcc_))->attributes.size, 3U);
}

TEST_P(ContentAttributesTest, the_source_hears_of_a_removal_before_it_and_after_it) {
  const Log expected{removing_line(), "gone 0123456789"};
  ASSERT_TRUE(remove("file"));
  EXPECT_EQ(source_.log(), expected);
  EXPECT_EQ(run(fs_->getattr(file_)).error(), Error::stale);
  EXPECT_EQ(source_.log(), expected) << "once";
}

TEST_P(ContentAttributesTest, a_source_that_is_not_to_be_told_hears_of_removals_after_them_alone) {
  source_.told_of_removals = false;
  source_.removing_error = Error::delay;
  ASSERT_TRUE(run(fs_->rename({}, root_, "plain", root_, "file", wcc_, wcc_)));
  EXPECT_EQ(source_.log(), (Log{"gone 0123456789"}));
  EXPECT_EQ(read(find("file")), "own bytes");
  ASSERT_TRUE(remove("file"));
  EXPECT_EQ(source_.log(), (Log{"gone 0123456789"}));
}

TEST_P(ContentAttributesTest, a_removal_that_its_source_refuses_does_not_happen) {
  source_.removing_error = Error::delay;
  wcc_ = {};
  EXPECT_EQ(remove("file").error(), Error::delay);
  EXPECT_TRUE(wcc_.after) << "the directory is shown all the same";
  EXPECT_EQ(run(fs_->rename({}, root_, "plain", root_, "file", wcc_, wcc_)).error(), Error::delay);
  EXPECT_EQ(read(find("file")), "0123456789");
  EXPECT_EQ(read(find("plain")), "own bytes");
  EXPECT_TRUE(remove("plain")) << "others are not asked";
}

TEST_P(ContentAttributesTest, a_rename_over_a_file_is_its_removal) {
  const Log expected{removing_line(), "gone 0123456789"};
  ASSERT_TRUE(run(fs_->rename({}, root_, "plain", root_, "file", wcc_, wcc_)));
  EXPECT_EQ(source_.log(), expected);
  EXPECT_EQ(read(find("file")), "own bytes");
}

TEST_P(ContentAttributesTest, a_file_that_is_renamed_itself_stays) {
  ASSERT_TRUE(run(fs_->rename({}, root_, "file", root_, "other", wcc_, wcc_)));
  EXPECT_TRUE(source_.log().empty());
  EXPECT_EQ(read(find("other")), "0123456789");
}

TEST_P(ContentAttributesTest, a_hard_link_keeps_the_content) {
  const std::string removing = removing_line();
  ASSERT_TRUE(run(fs_->link({}, file_, root_, "second", wcc_)));
  ASSERT_TRUE(remove("file"));
  EXPECT_TRUE(source_.log().empty());
  EXPECT_EQ(read(find("second")), "0123456789");
  ASSERT_TRUE(remove("second"));
  EXPECT_EQ(source_.log(), (Log{removing, "gone 0123456789"}));
}

TEST_P(ContentAttributesTest, an_open_keeps_the_content_until_it_is_closed) {
  const std::string removing = removing_line();
  OpenFileRef io = open(file_);
  ASSERT_TRUE(remove("file"));
  EXPECT_EQ(source_.log(), (Log{removing}));
  EXPECT_EQ(text_of(*io), "0123456789");
  ASSERT_TRUE(run(fs_->close(std::move(io))));
  EXPECT_EQ(source_.log(), (Log{removing, "gone 0123456789"}));
}

TEST_P(ContentAttributesTest, who_may_not_remove_a_name_tells_its_source_nothing) {
  EXPECT_FALSE(remove("file", user(4000, 4000)));
  EXPECT_EQ(remove("missing").error(), Error::noent);
  EXPECT_TRUE(source_.log().empty());
}

TEST_P(ContentAttributesTest, what_a_content_does_to_its_stub_breaks_no_lease) {
  close_cached();
  const OpenFileRef mine = open(file_, OpenAccess::read), theirs = open(file_, OpenAccess::read);
  Bell first, second, third;
  auto one = run(fs_->lease(mine, LeaseType::read, LeaseHolder(1), first.ring()));
  ASSERT_TRUE(one);
  auto two = run(fs_->lease(theirs, LeaseType::read, LeaseHolder(2), second.ring()));
  ASSERT_TRUE(two);
  auto directory = run(fs_->lease_directory(root_, LeaseHolder(3), third.ring()));
  ASSERT_TRUE(directory);
  content().write_elsewhere("settled under leases");
  EXPECT_EQ(attributes(file_).size, 20U);
  const auto stub = run(fs_->stub(file_, source_));
  ASSERT_TRUE(stub);
  ASSERT_TRUE(run((*stub)->put_record(base::bytes_of(std::string_view("here")))));
  // All that the kernel has said is read by now.
  fs_->sweep();
  EXPECT_EQ(run(fs_->create({}, root_, "beside", {}, wcc_)).error(), Error::delay);
  EXPECT_TRUE(third.wait()) << "of that";
  EXPECT_FALSE(first.rung());
  EXPECT_FALSE(second.rung());
  // The kernel has the leases still.
  const int local_open = ::open(local("file").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  EXPECT_EQ(local_open, -1);
  EXPECT_TRUE(first.wait() && second.wait());
}

TEST_P(ContentAttributesTest, privileges_go_and_nobody_is_told) {
  close_cached();
  const auto stub = run(fs_->stub(file_, source_));
  ASSERT_TRUE(stub);
  const auto mode_after = [&](mode_t mode) {
    EXPECT_EQ(::chmod(local("file").c_str(), mode), 0);
    EXPECT_TRUE(run((*stub)->drop_privileges()));
    return attributes(file_).mode;
  };
  EXPECT_EQ(mode_after(06755), 0755U);
  EXPECT_EQ(mode_after(06745), 02745U) << "the group may not execute it";
  // Version 2, CAP_NET_RAW (linux/capability.h).
  constexpr std::array<unsigned char, 20> capability{1, 0, 0, 2, 0, 0x20};
  if (::setxattr(local("file").c_str(), "security.capability", capability.data(), capability.size(), 0) != 0)
    return;
  EXPECT_TRUE(run((*stub)->drop_privileges()));
  EXPECT_EQ(::getxattr(local("file").c_str(), "security.capability", nullptr, 0), -1);
  ASSERT_EQ(::setxattr(local("file").c_str(), "security.capability", capability.data(), capability.size(), 0),
            0);
  const OpenFileRef io = open(file_);
  const io::Payload data = payload("written");
  ASSERT_TRUE(run(io->write({}, 0, data, Stability::unstable)));
  EXPECT_EQ(::getxattr(local("file").c_str(), "security.capability", nullptr, 0), -1);
}

TEST_P(ContentAttributesTest, a_source_may_write_while_nobody_calls) {
  const auto stub = run(fs_->stub(file_, source_));
  ASSERT_TRUE(stub);
  const auto fd = run((*stub)->descriptor(OpenAccess::both));
  ASSERT_TRUE(fd);
  const Verifier before = (*stub)->own_verifier();
  const auto written = (*stub)->write_own({}, *fd, 0, payload("of its own"), {}, Stability::unstable);
  ASSERT_TRUE(written);
  EXPECT_EQ(written->count, 10U);
  EXPECT_EQ(written->verifier, before);
  EXPECT_TRUE((*stub)->resize_own({}, *fd, 6));
  EXPECT_EQ(local_read("file"), "of its");
  (*stub)->lost();
  EXPECT_NE((*stub)->own_verifier(), before);
}

TEST_P(ContentAttributesTest, what_a_content_keeps_outlives_its_cache_and_the_export) {
  Stub::Kept kept;
  {
    const auto stub = run(fs_->stub(file_, source_));
    ASSERT_TRUE(stub);
    kept = (*stub)->keep();
  }
  ASSERT_TRUE(kept.file);
  FakeContent& placed = content();
  close_cached();
  EXPECT_EQ(&content(), &placed);
  std::weak_ptr<FileSystem> let_go = fs_;
  file_ = root_ = {};
  fs_.reset();
  ASSERT_FALSE(let_go.expired());
  EXPECT_TRUE(run(kept.file_system->stub(kept.file, source_)));
  kept.file = {};
  kept.file_system.reset();
  EXPECT_TRUE(let_go.expired());
}

TEST_P(ContentAttributesTest, what_is_put_and_synced_stays) {
  const auto stub = run(fs_->stub(file_, source_));
  ASSERT_TRUE(stub);
  const SetAttributes set = with_size(1000);
  ASSERT_TRUE(run((*stub)->put_size_and_times(set)));
  EXPECT_TRUE(run((*stub)->sync()));
  EXPECT_EQ(attributes(file_).size, 1000U);
}

TEST_P(ContentAttributesTest, a_write_lease_is_not_broken_by_its_own_file_either) {
  close_cached();
  const OpenFileRef io = open(file_);
  Bell bell;
  auto lease = run(fs_->lease(io, LeaseType::write, LeaseHolder(1), bell.ring()));
  ASSERT_TRUE(lease);
  content().write_elsewhere("settled");
  EXPECT_EQ(attributes(file_).size, 7U);
  const io::Payload data = payload("and written");
  ASSERT_TRUE(run(io->write({}, 7, data, Stability::unstable)));
  EXPECT_EQ(attributes(file_).size, 18U);
  EXPECT_FALSE(bell.rung());
}

}  // namespace
}  // namespace braid::vfs
