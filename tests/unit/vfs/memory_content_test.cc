// The second content of the file system in memory: found by its record, settled, exchanged under load.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/unit/vfs/memory_fixture.h"

namespace braid::vfs::memory::test {
namespace {

using namespace std::chrono_literals;
using Places = ObjectSource::Places;

// What a content has to be reached through takes its time.
class Slow final : public Hooks {
 public:
  VfsOp<> before(Call call) override {
    if (!call.operation.starts_with("content_")) co_return;
    turn_ = turn_ * 1103515245 + 12345;
    (void)co_await io::Reactor::current()->sleep(std::chrono::microseconds(turn_ / 65536 % 400)).as_result();
  }

 private:
  std::uint32_t turn_ = 1;
};

class MemoryContents : public MemoryTest {
 protected:
  // A file with "bytes" in its object.
  io::Op<FileRef> placed(std::string_view name, std::string bytes) {
    const std::uint64_t id = storage_.add(top, name, FileType::regular);
    const FileRef file = *co_await fs_->resolve(storage_.handle_of(id).view()).as_result();
    EXPECT_TRUE((co_await write(fs_, file, 0, std::move(bytes)).as_result()).has_value());
    co_return file;
  }
  io::Op<std::string> bytes_of(FileRef file) {
    co_return (co_await read(fs_, file).as_result()).value_or("an error");
  }

  Objects objects_;
  ObjectSource source_{objects_, recorder_, Places::at_first_write};
  std::shared_ptr<MemoryFileSystem> fs_ = mount({&source_});
};

TEST_F(MemoryContents, an_empty_file_is_placed_before_its_first_write) {
  run([&]() -> io::Op<> {
    const FileRef file = co_await placed("f", "bytes");
    EXPECT_EQ(objects_.count(), 1U);
    EXPECT_TRUE(storage_.node(*storage_.find(top, "f")).content.empty());
    const std::string found = co_await bytes_of(file);
    EXPECT_EQ(found, "bytes");
    EXPECT_EQ(calls("content_place"), 1U);
    const auto again = co_await write(fs_, file, 5, "!").as_result();
    EXPECT_TRUE(again.has_value());
    EXPECT_EQ(calls("content_place"), 1U);
  });
}

TEST_F(MemoryContents, a_file_with_bytes_of_its_own_keeps_them) {
  const std::uint64_t id = storage_.add(top, "f", FileType::regular, "own");
  run([&]() -> io::Op<> {
    const FileRef file = at(*fs_, id);
    const auto done = co_await write(fs_, file, 3, "!").as_result();
    EXPECT_TRUE(done.has_value());
    const std::string found = co_await bytes_of(file);
    EXPECT_EQ(found, "own!");
    EXPECT_EQ(objects_.count(), 0U);
  });
}

TEST_F(MemoryContents, attributes_are_settled_before_they_are_shown) {
  run([&]() -> io::Op<> {
    const FileRef file = co_await placed("f", "bytes");
    Node& node = storage_.node(*storage_.find(top, "f"));
    EXPECT_EQ(node.attributes.size, 0U) << "the inode does not know yet";
    const std::uint64_t change = node.attributes.change;
    const auto shown = co_await fs_->getattr(file).as_result();
    EXPECT_EQ(shown->size, 5U);
    EXPECT_EQ(shown->space, 5U);
    EXPECT_GT(shown->change, change);
    const auto again = co_await fs_->getattr(file).as_result();
    EXPECT_EQ(again->change, shown->change);
    EXPECT_EQ(calls("content_settle"), 1U);
  });
}

TEST_F(MemoryContents, attributes_that_cannot_be_settled_are_not_shown) {
  run([&]() -> io::Op<> {
    const FileRef file = co_await placed("f", "bytes");
    recorder_.fail("content_settle", Error::delay);
    const auto shown = co_await fs_->getattr(file).as_result();
    EXPECT_EQ(shown.error(), Error::delay);
  });
}

TEST_F(MemoryContents, a_file_system_that_starts_finds_contents_by_their_records) {
  run([&]() -> io::Op<> {
    const FileRef file = co_await placed("f", "bytes");
    fs_ = mount({&source_});
    const std::string found = co_await bytes_of(file);
    EXPECT_EQ(found, "bytes");
    EXPECT_EQ(calls("content_load"), 1U);
    const auto shown = co_await fs_->getattr(file).as_result();
    EXPECT_EQ(shown->size, 5U) << "what was not settled is settled now";
  });
}

TEST_F(MemoryContents, a_file_with_a_damaged_record_has_attributes_and_a_name) {
  run([&]() -> io::Op<> {
    const FileRef file = co_await placed("f", "bytes");
    Node& node = storage_.node(*storage_.find(top, "f"));
    node.records.begin()->second.at(15) ^= std::byte{1};
    fs_ = mount({&source_});
    const auto bytes = co_await read(fs_, file).as_result();
    EXPECT_EQ(bytes.error(), Error::io);
    const auto shown = co_await fs_->getattr(file).as_result();
    EXPECT_TRUE(shown.has_value());
    const auto removed = co_await fs_->remove(nobody_, fs_->root(), "f", wcc_).as_result();
    EXPECT_TRUE(removed.has_value());
    EXPECT_EQ(calls("content_removing"), 0U);
  });
}

TEST_F(MemoryContents, the_source_hears_of_the_last_name_before_and_of_the_last_close_after) {
  run([&]() -> io::Op<> {
    const FileRef file = co_await placed("f", "bytes");
    auto open = co_await fs_->open(nobody_, file, OpenAccess::both, OpenRule::caller).as_result();
    Wcc wcc;
    const auto linked = co_await fs_->link(nobody_, file, fs_->root(), "g", wcc).as_result();
    EXPECT_TRUE(linked.has_value());
    (void)co_await fs_->remove(nobody_, fs_->root(), "g", wcc_).as_result();
    EXPECT_TRUE(objects_.removals().empty()) << "it was not the last one";
    (void)co_await fs_->remove(nobody_, fs_->root(), "f", wcc_).as_result();
    EXPECT_EQ(objects_.removals().size(), 1U);
    const std::string found = co_await bytes_of(file);
    EXPECT_EQ(found, "bytes");
    open->reset();
    EXPECT_EQ(objects_.count(), 0U);
  });
}

TEST_F(MemoryContents, a_name_stays_if_its_content_says_so) {
  run([&]() -> io::Op<> {
    const FileRef file = co_await placed("f", "bytes");
    storage_.add(top, "g", FileType::regular);
    recorder_.fail("content_removing", Error::nospc);
    const auto removed = co_await fs_->remove(nobody_, fs_->root(), "f", wcc_).as_result();
    EXPECT_EQ(removed.error(), Error::nospc);
    Wcc wcc;
    const auto renamed =
        co_await fs_->rename(nobody_, fs_->root(), "g", fs_->root(), "f", wcc, wcc_).as_result();
    EXPECT_EQ(renamed.error(), Error::nospc);
    EXPECT_TRUE(storage_.find(top, "f") && storage_.find(top, "g"));
  });
}

TEST_F(MemoryContents, a_size_that_is_set_is_that_of_the_object) {
  run([&]() -> io::Op<> {
    const FileRef file = co_await placed("f", "bytes");
    SetAttributes set;
    set.size = 2;
    set.mode = 0600;
    const auto done = co_await fs_->setattr(nobody_, file, set, std::nullopt, &wcc_).as_result();
    EXPECT_TRUE(done.has_value());
    EXPECT_EQ(wcc_.after->size, 2U);
    EXPECT_EQ(wcc_.after->mode, 0600U);
    const std::string found = co_await bytes_of(file);
    EXPECT_EQ(found, "by");
  });
}

TEST_F(MemoryContents, a_file_has_the_content_of_one_source) {
  run([&]() -> io::Op<> {
    const FileRef file = co_await placed("f", "bytes");
    ObjectSource other(objects_, recorder_);
    const PlacementHint nothing;
    const auto taken = co_await fs_->place(file, other, nothing).as_result();
    EXPECT_EQ(taken.error(), Error::exist);
    const auto stub = co_await fs_->stub(file, source_).as_result();
    EXPECT_EQ((*stub)->fileid(), *storage_.find(top, "f"));
    const auto descriptor = co_await (*stub)->descriptor(OpenAccess::read).as_result();
    EXPECT_EQ(descriptor.error(), Error::notsupp);
  });
}

class MemoryContentsUnderLoad : public MemoryContents {
 protected:
  static constexpr int rounds = 60;
  static constexpr std::size_t writers = 8;

  // Each writer has a place of its own, and finds there what it has written last.
  static io::Op<> write_and_read(MemoryContentsUnderLoad& self, FileRef file, std::size_t number) {
    for (int round = 0; round < rounds; ++round) {
      std::string bytes = std::to_string(number) + ":" + std::to_string(round);
      bytes.resize(8, ' ');
      const auto written = co_await self.write(self.fs_, file, 8 * number, bytes).as_result();
      EXPECT_TRUE(written.has_value());
      const auto found = co_await self.read(self.fs_, file, 8 * number, 8).as_result();
      EXPECT_EQ(found.value_or("an error"), bytes);
      const auto shown = co_await self.fs_->getattr(file).as_result();
      EXPECT_GE(shown->size, 8 * (number + 1));
    }
    ++self.ended_;
  }
  static io::Op<> read_only(MemoryContentsUnderLoad& self, FileRef file) {
    while (self.ended_ == 0) {
      const std::string found = co_await self.bytes_of(file);
      EXPECT_EQ(found, "bytes");
    }
  }

  Slow slow_;
  ObjectSource slow_source_{objects_, slow_, Places::at_first_write};
  std::size_t ended_ = 0;
};

TEST_F(MemoryContentsUnderLoad, nothing_is_lost_while_a_file_is_placed_again_and_again) {
  run([&]() -> io::Op<> {
    fs_ = std::make_shared<MemoryFileSystem>(storage_, slow_, std::vector<ContentSource*>{&slow_source_});
    const FileRef file = co_await placed("f", "");
    io::Gate gate;
    for (std::size_t i = 0; i < writers; ++i) io::spawn(gate, write_and_read(*this, file, i));
    int exchanges = 0;
    const PlacementHint nothing;
    for (; ended_ < writers; ++exchanges) {
      const auto next = co_await fs_->place(file, slow_source_, nothing).as_result();
      EXPECT_TRUE(next.has_value());
    }
    co_await gate.drained();
    EXPECT_GT(exchanges, 10);
    EXPECT_EQ(objects_.count(), 1U);
  });
}

// What an exchange gives back is in nobody's use: it can be erased.
TEST_F(MemoryContentsUnderLoad, a_read_that_began_before_an_exchange_ends_before_it) {
  run([&]() -> io::Op<> {
    fs_ = std::make_shared<MemoryFileSystem>(storage_, slow_, std::vector<ContentSource*>{&slow_source_});
    const FileRef file = co_await placed("f", "bytes");
    io::Gate gate;
    for (std::size_t i = 0; i < writers; ++i) io::spawn(gate, read_only(*this, file));
    for (int i = 0; i < 200; ++i) {
      const auto current = co_await fs_->content(file).as_result();
      const auto former = co_await fs_->exchange(file, slow_source_.copy_of(*current)).as_result();
      EXPECT_EQ(*former, *current);
      objects_.erase(ObjectSource::id_of(**former));
      (void)co_await io::Reactor::current()->sleep(100us).as_result();
    }
    ended_ = 1;
    co_await gate.drained();
    EXPECT_EQ(objects_.count(), 1U);
  });
}

}  // namespace
}  // namespace braid::vfs::memory::test
