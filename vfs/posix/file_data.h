// The bytes of one file in terms of system calls: the synchronous half of PosixOpenFile and LentFile.
#pragma once

#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/arith.h"
#include "vfs/open_file.h"
#include "vfs/posix/file.h"
#include "vfs/posix/kernel.h"

namespace braid::vfs::posix {

class Change;
class Tree;

// Where a READ will find its bytes.
struct ReadPlan {
  int fd = -1;
  FileRef keep{};          // of an open: the descriptor stays open as long as this lives
  std::size_t bytes = 0;   // to be read; the file may have become shorter
  std::uint64_t size = 0;  // of the file, as seen last
  Attributes attributes;   // if the caller's rights were asked for
};

// Reads and writes either through the descriptor of an open, with the rights that it was opened with; or, for
// somebody who has not opened the file, through the one that the descriptor cache has, after it has asked for
// the caller's rights. A value for one call, or a part of an open; what it refers to must outlive it.
// Functions may block.
class FileData {
 public:
  // Of an open of `file`, by the description that opens of this access share.
  FileData(Tree& tree, PosixFile& file, OpenAccess access) : tree_(tree), file_(file), access_(access) {}
  // For a call of `who`.
  FileData(Tree& tree, PosixFile& file, const Credentials& who) : tree_(tree), file_(file), lent_to_(&who) {}

  [[nodiscard]] PosixFile& node() const { return file_; }
  [[nodiscard]] OpenAccess access() const { return access_; }
  // Of the open, while its caller has use(); -1 if there is none.
  [[nodiscard]] int fd() const { return lent() ? -1 : file_.shared_fd(access_); }
  [[nodiscard]] bool lent() const { return lent_to_ != nullptr; }
  // A descriptor of the open that stays open as long as `keep` lives: opened again, if the file was parked.
  // Nothing of a lent file, which its caller keeps. delay: none is to be had now; stale; others of open(2).
  struct Use {
    FileRef keep;
    int fd = -1;
  };
  [[nodiscard]] Outcome<Use> use() const;

  Outcome<ReadPlan> plan_read(std::uint64_t offset, std::uint32_t count) const {
    return lent() ? plan_checked(offset, count) : plan_opened(offset, count);
  }
  Outcome<WriteResult> write(const Credentials& who, std::uint64_t offset, const io::Payload& data,
                             Stability stability, Wcc* wcc) const {
    return lent() ? write_checked(who, offset, data, stability, wcc)
                  : write_opened(who, offset, data, stability, wcc);
  }
  // The parts of write(), commit(), resize() and allocate() that come after the caller's rights: through a
  // descriptor for writing.
  Outcome<WriteResult> write_through(const Credentials& who, int fd, std::uint64_t offset,
                                     const io::Payload& data, Stability stability) const;
  // The same of bytes that the file has already, as clients see it: it does not count as a change.
  Outcome<WriteResult> put_through(const Credentials& who, int fd, std::uint64_t offset,
                                   const io::Payload& data, Stability stability) const;
  // `inode`: what was changed in it is on the medium then, too, where no bytes are unsynced.
  [[nodiscard]] Outcome<Verifier> commit_own(bool inode) const;
  Outcome<> resize_through(const Credentials& who, int fd, std::uint64_t size) const;
  Outcome<> space_through(const Credentials& who, int fd, std::uint64_t offset, std::uint64_t length,
                          int mode) const;
  // acces: it was not opened for that; rofs.
  [[nodiscard]] Outcome<> may_write(const Credentials& who) const;
  [[nodiscard]] Outcome<> may_copy(const Credentials& who, const OpenFile& from) const;
  Outcome<Verifier> commit(const Credentials& who, Wcc* wcc) const;
  // Whether the caller may read; the attributes, of a lent file. `inode` as for Tree::observe(), of a lent
  // file.
  Outcome<Attributes> admit_read(Stat* inode = nullptr) const;
  // The same with the inode of an open, too, which its caller has in use().
  Outcome<Attributes> admit_and_look(Stat& inode) const;
  [[nodiscard]] bool needs_change(const Wcc* wcc) const { return lent() || wcc != nullptr; }
  // Whether the caller may write. Before it, `change` begins if `wcc`, or a lent file, needs that.
  Outcome<> begin_change(const Credentials& who, Wcc* wcc, Changes what, std::optional<Change>& change) const;
  // Whether the caller may change the size; `now` as for resize().
  Outcome<> admit_resize(const Credentials& who, std::uint64_t size, const Attributes& now) const;
  // `now`: the attributes as they are.
  Outcome<> resize(const Credentials& who, std::uint64_t size, const Attributes& now) const;

  // Of an open (space.cc, copying.cc).
  Outcome<SeekResult> seek(std::uint64_t offset, SeekTo what) const;
  // `mode`: 0, or `hole`.
  static constexpr int hole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  Outcome<> allocate(const Credentials& who, std::uint64_t offset, std::uint64_t length, int mode) const;
  // Whether such a range can be had: acces, rofs, inval, fbig.
  Outcome<> admit_allocate(const Credentials& who, std::uint64_t offset, std::uint64_t length) const;
  Outcome<> advise(std::uint64_t offset, std::uint64_t length, Advice advice) const;
  // `from` has a descriptor.
  Outcome<> clone_from(const Credentials& who, OpenFile& from, std::uint64_t from_offset,
                       std::uint64_t to_offset, std::uint64_t length) const;
  // The same, and at most copy_slice_bytes.
  static constexpr std::uint64_t copy_slice_bytes = 4 * base::MiB;
  Outcome<std::uint64_t> copy_from(const Credentials& who, OpenFile& from, std::uint64_t from_offset,
                                   std::uint64_t to_offset, std::uint64_t length) const;

 private:
  Outcome<ReadPlan> plan_checked(std::uint64_t offset, std::uint32_t count) const;
  Outcome<ReadPlan> plan_opened(std::uint64_t offset, std::uint32_t count) const;
  Outcome<WriteResult> write_checked(const Credentials& who, std::uint64_t offset, const io::Payload& data,
                                     Stability stability, Wcc* wcc) const;
  Outcome<WriteResult> write_opened(const Credentials& who, std::uint64_t offset, const io::Payload& data,
                                    Stability stability, Wcc* wcc) const;
  // Through `fd`, as the caller or as this process. `flags` as in pwritev2(2).
  Outcome<std::uint32_t> put(const Credentials* who, int fd, std::uint64_t offset, const io::Payload& data,
                             int flags) const;
  // Whether there was something to sync.
  Outcome<bool> sync() const;
  // A change of bytes other than WRITE, for its length: what it leaves unsynced, and what it may hear of.
  class ByteChanging;

  Tree& tree_;
  PosixFile& file_;
  const Credentials* const lent_to_ = nullptr;  // null: an open's
  const OpenAccess access_ = OpenAccess::both;
};

}  // namespace braid::vfs::posix
