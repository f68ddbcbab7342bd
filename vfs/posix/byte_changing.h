// COPY, CLONE, ALLOCATE and DEALLOCATE: changes of bytes that, as WRITE does, leave something unsynced and
// may be told that bytes are lost.
#pragma once

#include <optional>

#include "vfs/posix/file_data.h"
#include "vfs/posix/tree.h"

namespace braid::vfs::posix {

// For the length of one of them, through `fd`. `unsynced`: the caller does not sync it.
class FileData::ByteChanging {
 public:
  ByteChanging(const FileData& data, int fd, bool unsynced) : data_(data) {
    const Traits& traits = data.tree_.base().traits;
    FileSyncs& syncs = data.file_.syncs(data.tree_.write_back());
    if (unsynced && !traits.in_memory) unsynced_.emplace(syncs, fd);
    // Network file systems tell a writer of earlier write-backs.
    if (!traits.local) hearing_.emplace(syncs);
  }
  // `failed`: by a call that writes; `begun`: after its first bytes, which is for what the medium has not
  // taken, as far as anybody can tell.
  void end(bool failed, bool begun) {
    if (hearing_)
      hearing_->leave(failed);
    else if (failed && begun)
      data_.tree_.write_back().lost();
  }

 private:
  const FileData& data_;
  std::optional<FileSyncs::UnsyncedWrite> unsynced_;
  std::optional<FileSyncs::Hearing> hearing_;
};

}  // namespace braid::vfs::posix
