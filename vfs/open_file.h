// Files held open across calls, and what is done with them: opens, locks and leases of NFSv4.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>

#include "base/strong.h"
#include "vfs/file.h"
#include "vfs/types.h"

namespace braid::vfs {

enum class OpenAccess : std::uint8_t { read = 1, write = 2, both = 3 };
constexpr bool includes(OpenAccess access, OpenAccess wanted) {
  return (static_cast<unsigned>(access) & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
}

// A regular file that somebody opened, with the rights of that moment: it stays usable after its mode changes
// and after its last name goes, and as long as it exists its handle is not stale. Implementations derive from
// it. Closed when the last reference goes; FileSystem::close() does that where it does not block a reactor.
class OpenFile {
 public:
  virtual ~OpenFile() = default;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] virtual const FileRef& file() const = 0;
  [[nodiscard]] virtual OpenAccess access() const = 0;

 protected:
  OpenFile() = default;
};
using OpenFileRef = std::shared_ptr<OpenFile>;

// Whose rights an open needs.
enum class OpenRule : std::uint8_t {
  // The caller's, as for open(2); whoever may execute a file may open it for reading (RFC 8881 18.16.4).
  caller,
  // The same, and the owner's whatever the mode says: for an open that was granted before (CLAIM_PREVIOUS),
  // or
  // for a single operation under a special stateid.
  owner_override,
};

struct OpenCreated {
  OpenFileRef open;
  Attributes attributes;
  bool created = false;    // by this call, or by an exclusive one that this repeats
  bool truncated = false;  // an existing file, to size 0
};

// [offset, offset + length); `to_end` as the length means every byte from offset on.
struct LockRange {
  static constexpr std::uint64_t to_end = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t offset = 0;
  std::uint64_t length = to_end;
  friend bool operator==(const LockRange&, const LockRange&) = default;
};
enum class LockType : std::uint8_t { read, write };
// Whoever the protocols tell apart; unique within a FileSystem.
struct LockOwnerIdTag;
using LockOwnerId = base::Strong<LockOwnerIdTag, std::uint64_t>;

struct LockConflict {
  LockType type = LockType::write;
  LockRange range;
  std::optional<LockOwnerId> owner;  // none: a local process
};

// read: nobody opens the file for writing; write: nobody opens it at all.
enum class LeaseType : std::uint8_t { read, write };

// Makes local opens that conflict wait until it is given back, which is when it ends, or until the kernel's
// patience ends (/proc/sys/fs/lease-break-time, 45 s). Calls of this server that conflict, of NFSv3 too,
// answer `delay` meanwhile, unless their Credentials name the same holder: opens, and what changes the file's
// attributes or names (setattr, link, remove and rename of a name, xattrs and ACLs); of a directory, what
// makes, removes or renames its entries, too. No local process ever waits for the lease of a directory. Keeps
// its file open; the FileSystem must outlive it.
class Lease {
 public:
  virtual ~Lease() = default;
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  [[nodiscard]] virtual const FileRef& file() const = 0;

 protected:
  Lease() = default;
};
using LeaseRef = std::unique_ptr<Lease>;
// Called once, on any thread, when somebody waits for the lease, or has changed what it is about without
// waiting; must not block, nor end a lease. Not called any more when the lease has ended.
using LeaseBreak = std::function<void()>;

enum class SeekTo : std::uint8_t { data, hole };
struct SeekResult {
  std::uint64_t offset = 0;
  bool eof = false;  // nothing of the kind up to the end; offset is the file's size
};

// How a range will be used, as in posix_fadvise(2).
enum class Advice : std::uint8_t { normal, sequential, random, will_need, dont_need, once };

enum class XattrMode : std::uint8_t { either, create, replace };
// Takes one name, without the "user." that local processes see; false when it does not fit (it is then not
// consumed). `cookie` is of the position after it.
using XattrSink = std::function<bool(std::string_view name, std::uint64_t cookie)>;

}  // namespace braid::vfs
