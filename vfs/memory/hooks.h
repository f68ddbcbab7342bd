// What a test learns of the calls of a MemoryFileSystem, and what it can do to them.
#pragma once

#include <cstdint>
#include <string_view>

#include "io/payload.h"
#include "vfs/open_file.h"

namespace braid::vfs::memory {

// A call of FileSystem or OpenFile. Views and pointers are good until the call ends.
struct Call {
  std::string_view operation{};      // the function's name: "read", "open_create"
  const Credentials* who = nullptr;  // null: the function is told of nobody
  bool changes = false;              // of names, attributes or content: what a read-only file system refuses
  std::string_view name{};           // of a name that is looked up, made or removed; of RENAME the old one
  std::string_view to_name{};        // of RENAME
  std::uint64_t offset = 0;          // of READ, WRITE, COMMIT, ALLOCATE and DEALLOCATE
  std::uint64_t count = 0;
  const io::Payload* data = nullptr;  // of WRITE
  Stability stability = Stability::unstable;
  std::uint64_t fileid = 0;  // of SETATTR, WRITE, COMMIT, ALLOCATE and DEALLOCATE
};

// Belongs to the test, and outlives the file systems that it is given to. These do nothing.
class Hooks {
 public:
  Hooks() = default;
  virtual ~Hooks() = default;
  Hooks(const Hooks&) = delete;
  Hooks& operator=(const Hooks&) = delete;

  // Before anything is looked at. It may suspend. An error ends the call, which has then changed nothing.
  virtual VfsOp<> before(Call /*call*/) { return io::ready_op<Error>(); }
  // A change was made, at this moment.
  virtual void changed(const Call& /*call*/) {}
};

}  // namespace braid::vfs::memory
