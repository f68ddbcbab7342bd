// An export with a store.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "hashing/cpu_hasher.h"
#include "store/content/live_sealer.h"
#include "store/content/store_source.h"
#include "store/maintenance/collector.h"
#include "store/sealing/sealer.h"
#include "store/sealing/unseal.h"
#include "tests/unit/vfs/posix_fixture.h"
#include "vfs/posix/directory_identity.h"

namespace braid::store::test {

class SourceTest : public vfs::PosixTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    std::string pattern = store_place_ + "store-XXXXXX";
    store_path_ = ::mkdtemp(pattern.data());
    store_ = std::move(*Store::open(store_path_, store_options_));
    source_ = std::make_unique<StoreSource>(*store_);
    if (before_opened_) before_opened_();
    options_.sources = {source_.get()};
    PosixTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(store_->tree_of(vfs::posix::directory_identity(options_.directory, "")->file_system,
                              options_.directory),
              1U);
  }
  void TearDown() override {
    PosixTest::TearDown();
    source_.reset();
    store_.reset();
    if (!store_path_.empty()) std::filesystem::remove_all(store_path_);
  }
  // Nothing is synced there.
  static bool in_memory() { return GetParam() == "tmpfs"; }
  void seal(const std::string& name) { ASSERT_EQ(seal_what_there_is(name), SealOutcome::sealed); }
  SealOutcome seal_what_there_is(const std::string& name) {
    const base::UniqueFd fd(::open(local(name).c_str(), O_RDWR | O_CLOEXEC));
    Sealer sealer(*store_, 1, profile_);
    SealDraft draft;
    draft.file = store_->medium().file_of(fd.get());
    draft.untouched = [] { return true; };
    EXPECT_TRUE(sealer.prepare(draft));
    if (draft.outcome == SealOutcome::sealed) {
      EXPECT_TRUE(sealer.commit(std::span(&draft, 1)));
    }
    return draft.outcome;
  }
  // As a crash between the record and the holes leaves a file of `bytes_` that is sealed.
  void leave_steps(const std::string& name) {
    const base::UniqueFd fd(::open(local(name).c_str(), O_RDWR | O_CLOEXEC));
    const auto stub = store_->medium().file_of(fd.get());
    const KernelHandle handle = *stub->handle();
    Record record = *decode_record(**stub->attribute(record_name), store_->keys(), handle);
    record.pending = true;
    ASSERT_TRUE(stub->set_attribute(record_name, encode(record, store_->keys(), handle)));
    ASSERT_TRUE(stub->write(0, base::bytes_of(bytes_)));
  }
  // "0 1 2 ...": made once for all tests, since it takes longer than most of them.
  static const std::string& text_of_numbers(int count) {
    static std::map<int, std::string> made;
    std::string& text = made[count];
    if (text.empty())
      for (int i = 0; i < count; ++i) text += std::to_string(i) + " ";
    return text;
  }
  vfs::posix::Outcome<> resize(const std::string& name, std::uint64_t size) {
    vfs::SetAttributes set;
    set.size = size;
    return setattr(find(name), set);
  }
  vfs::OpenFileRef file(const std::string& name, vfs::OpenAccess access = vfs::OpenAccess::both) {
    return *vfs::run(fs_->open({}, find(name), access, vfs::OpenRule::caller));
  }
  std::string all_of(const std::string& name) {
    std::string out;
    out.reserve(attributes(find(name)).size);
    for (;;) {
      const auto got = read(find(name), out.size());
      EXPECT_TRUE(got);
      if (!got || got->empty()) return out;
      out += *got;
    }
  }
  // 0: the server starts anew; 1: the file is sealed meanwhile; 2: unsealed. 3, 4: the server seals or
  // unseals it itself, if nothing has it open. 5: garbage is collected.
  void again(std::uint64_t how) {
    if (how == 5) {
      EXPECT_EQ(collect().alarm, "");
      return;
    }
    LiveSealer sealer(*store_, *source_, [] { return false; });
    if (how == 3) {
      EXPECT_TRUE(vfs::run(sealer.seal(*fs_, 1, find("f"), false)));
      return;
    }
    root_ = {};
    fs_.reset();
    if (how == 4) {
      fs_ = opened();
      root_ = fs_->root();
      EXPECT_TRUE(vfs::run(sealer.unseal(*fs_, 1, find("f"))));
      return;
    }
    if (how == 1) {
      seal_what_there_is("f");
    } else if (how == 2) {
      const base::UniqueFd fd(::open(local("f").c_str(), O_RDWR | O_CLOEXEC));
      UnsealDraft draft;
      draft.file = store_->medium().file_of(fd.get());
      unseal(*store_, 1, std::span(&draft, 1));
      EXPECT_TRUE(draft.outcome);
    }
    fs_ = opened();
    root_ = fs_->root();
  }
  // What nobody refers to goes, beside who has files open.
  GcReport collect() {
    PosixTrees trees(open_trees(*store_));
    return collect(trees);
  }
  GcReport collect(SealedTrees& trees) {
    const base::SystemClock clock;
    GcProgress progress;
    return Collector(*store_, trees, clock,
                     {.keep_seconds = 0, .open_records = [this] { return source_->records(); }})
        .run(progress);
  }
  void expect_holes_are_zeros(const std::string& name, const std::string& wanted) {
    const vfs::OpenFileRef open = file(name);
    for (std::uint64_t at = 0; at < wanted.size();) {
      const auto data = vfs::run(open->seek(at, vfs::SeekTo::data));
      ASSERT_TRUE(data);
      const std::uint64_t hole_end = std::min<std::uint64_t>(data->offset, wanted.size());
      ASSERT_TRUE(hashing::is_zero(base::bytes_of(wanted).subspan(at, hole_end - at))) << at;
      if (data->offset >= wanted.size()) return;
      const auto hole = vfs::run(open->seek(data->offset, vfs::SeekTo::hole));
      ASSERT_TRUE(hole);
      ASSERT_GT(hole->offset, data->offset);
      at = hole->offset;
    }
  }
  // The same export, as one that does not know the store serves it.
  std::shared_ptr<vfs::posix::PosixFileSystem> without_store() {
    options_.sources.clear();
    return opened();
  }

  std::function<void()> before_opened_;
  StoreOptions store_options_{.what = OpenFor::creating};
  hashing::Profile profile_ = hashing::Profile::general;  // of seal()
  std::string store_place_ = testing::TempDir();
  std::filesystem::path store_path_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<StoreSource> source_;
  const std::string& bytes_ = text_of_numbers(200'000);
};

}  // namespace braid::store::test
