// Reading and writing a file of this machine: by an open of its own, or lent for one call.
#pragma once

#include <cstdint>
#include <optional>

#include "io/slab.h"
#include "vfs/open_file.h"
#include "vfs/posix/file_data.h"
#include "vfs/posix/placement.h"

namespace braid::vfs::posix {

class PosixFileSystem;

// What both are: where each call runs, and the way of the data of a READ (reading.cc). All I/O of a file
// comes through these functions, so here is the place that may find its bytes somewhere else than in the file
// itself.
class FileIo : public OpenFile {
 public:
  [[nodiscard]] OpenAccess access() const final { return data_.access(); }
  VfsOp<ReadResult> read(std::uint64_t offset, std::uint32_t count, ReadMemory memory) final;
  VfsOp<WriteResult> write(const Credentials& who, std::uint64_t offset, const io::Payload& data,
                           Stability stability, Wcc* wcc) final;
  VfsOp<Verifier> commit(const Credentials& who, std::uint64_t offset, std::uint32_t count, Wcc* wcc) final;
  [[nodiscard]] Verifier write_verifier() const final;
  VfsOp<> set(const Credentials& who, const SetAttributes& set, Wcc* wcc) final;

 protected:
  FileIo(PosixFileSystem& fs, const FileData& data) : fs_(fs), data_(data) {}

  PosixFileSystem& fs_;  // not null
  const FileData data_;

 private:
  class ReadBuffer;
  // Looks at the file, and then reads.
  VfsOp<ReadResult> read_in_pool(std::uint64_t offset, std::uint32_t count, ReadMemory memory);
  // What is not in memory of what was planned.
  VfsOp<ReadResult> read_rest(ReadPlan plan, ReadBuffer buffer, std::uint64_t offset, ReadMemory memory);
};

// A file of the cache, for one call of somebody who has not opened it.
class LentFile final : public FileIo {
 public:
  LentFile(PosixFileSystem& fs, Tree& tree, const Credentials& who, const FileRef& file)
      : FileIo(fs, FileData(tree, posix::node(file), who)), file_(file) {}
  [[nodiscard]] const FileRef& file() const override { return file_; }

 private:
  const FileRef& file_;
};

}  // namespace braid::vfs::posix
