// Which content each file of an export has: found, exchanged and told of here, and nowhere else.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vfs/content_slot.h"
#include "vfs/posix/file.h"
#include "vfs/shared_rounds.h"

namespace braid::vfs::posix {

class FileData;
class PosixFileSystem;

// What clients see of a file while its source changes the inode (Stub::hide_changes), until anybody else
// changes it. Thread-safe.
class FrozenTimes {
 public:
  // `seen`: before `now` was. The number is for end(): another's freezing is not ended.
  std::uint64_t begin(const Attributes& now, const ChangeCounter::Look& seen);
  void end(std::uint64_t number);
  void apply(const ChangeCounter& changes, Attributes& attributes) const {
    if (on_.load(std::memory_order_acquire)) [[unlikely]]
      apply_now(changes, attributes);
  }

 private:
  void apply_now(const ChangeCounter& changes, Attributes& attributes) const;

  std::atomic<bool> on_{false};
  struct State {
    std::uint64_t number = 0;
    bool on = false;
    ChangeCounter::Look seen{};
    Time mtime{}, ctime{};
    std::uint64_t change = 0;
  };
  base::Guarded<State> state_;
};

// Of one regular file in an export that has sources of contents: a part of its PosixFile, so a file that left
// the descriptor cache is looked at anew.
struct FileContent {
  ContentSlot slot;
  SharedRounds settling;
  std::atomic<bool> offered{false};   // to the sources that place files at their first WRITE
  std::atomic<bool> gone{false};      // its source was told so
  std::atomic<bool> changing{false};  // the sources were told that its bytes are about to be changed
  FrozenTimes frozen;
  std::atomic<std::uint32_t> removals{0};  // calls that are about to take a name from it
  // The inode number of the directory that this server made it in, and the ctime that it had then: as long as
  // it has that, it has not been moved. 0: nobody knows.
  std::atomic<std::uint64_t> made_in{0};
  std::atomic<std::uint64_t> made_at{0};
};

// Corrects what the inode says, as far as the content is known. No I/O.
void adjust(const PosixFile& file, Attributes& attributes);
// The same, unless the inode is known to be behind: false then. No I/O.
[[nodiscard]] bool adjust_if_settled(const PosixFile& file, Attributes& attributes);
// Whether the inode is known to be true. No I/O.
[[nodiscard]] bool is_settled(const PosixFile& file);
// The file has just been made in that directory, and looked at after that.
void note_made(const PosixFile& file, const PosixFile& directory, const Attributes& made);
// The last name and the last open are gone: tells the source of its content, once.
void tell_gone(const PosixFile& file);

// Thread-safe. Functions that are given a file need one that has a FileContent, and which outlives the Op.
class Contents {
 public:
  Contents(PosixFileSystem& fs, std::vector<ContentSource*> sources)
      : fs_(fs), sources_(std::move(sources)) {}

  [[nodiscard]] bool any() const { return !sources_.empty(); }
  [[nodiscard]] bool has(const ContentSource& source) const;
  [[nodiscard]] bool takes_pipes() const;
  [[nodiscard]] bool want_removals() const;

  // A call on the content that the file has. io: its record is damaged. The caller holds no other one.
  VfsOp<ContentSlot::Use> use(PosixFile& file);
  // The same of a file that this server has just made: nobody looks for a record.
  VfsOp<ContentSlot::Use> use_new(PosixFile& file);
  // After it the inode's attributes are true; whether the file has a content. A damaged record is no error:
  // the attributes are the inode's own. The caller is not in a call on the content.
  VfsOp<bool> settle(PosixFile& file);
  // Before the first change of the bytes, whose caller `writer` is: an empty plain file may be placed.
  VfsOp<> offer(const FileData& writer, const Credentials& who, PlacementHint hint);
  // Before each change of the bytes: tells the sources, the first time.
  void note_changing(PosixFile& file) const;
  // Of a file that is not in the descriptor cache, and has the flag nodump.
  void adjust_unloaded(const FileHandle& file, Attributes& attributes) const;

  VfsOp<ContentRef> content(PosixFile& file);
  VfsOp<ContentRef> exchange(PosixFile& file, ContentRef next);
  VfsOp<ContentRef> place(PosixFile& file, ContentSource& source, PlacementHint hint);
  // Before a name is taken from the file; `removals` counts this call.
  VfsOp<> removing(PosixFile& file);
  VfsOp<> adjust(FileSystemStatus& status);
  void limit(FileSystemLimits& limits) const;

 private:
  struct Record {
    ContentSource* source = nullptr;  // null: the file has no record of any
    base::Bytes bytes;
  };
  Outcome<Record> find_record(const PosixFile& file) const;
  VfsOp<ContentRef> load(PosixFile& file);
  VfsOp<> settle_once(PosixFile& file);
  // While no call on the file runs.
  // `frozen`: the number of what the source has frozen; 0: nothing.
  VfsOp<ContentRef> replace(PosixFile& file, ContentSource& source, PlacementHint hint,
                            const ContentRef& former, std::uint64_t& frozen);
  Outcome<bool> may_be_placed(const FileData& writer, const Credentials& who) const;

  PosixFileSystem& fs_;
  const std::vector<ContentSource*> sources_;
};

}  // namespace braid::vfs::posix
