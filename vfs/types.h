// What every protocol says to a file system: identities, attributes, errors.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/strong.h"
#include "io/peer_id.h"

namespace braid::vfs {

// Whom a protocol gives leases to (FileSystem::lease); unique within a server. 0: nobody.
struct LeaseHolderTag;
using LeaseHolder = base::Strong<LeaseHolderTag, std::uint64_t>;

// By which protocol a call came. Figures tell them apart, and nothing else does.
enum class Protocol : std::uint8_t { other, nfs3, nfs40, nfs41, nfs42 };

// Who asks, after squashing. `groups` are the supplementary ones.
struct Credentials {
  static constexpr std::size_t groups_max = 16;  // AUTH_SYS (RFC 5531 appendix A)
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t group_count = 0;
  std::array<std::uint32_t, groups_max> group_list{};
  // No part of who the caller is; nor are the next ones.
  Protocol protocol = Protocol::other;
  // Whatever changes something is refused to him (Error::rofs), also by what he has open.
  bool read_only = false;
  // Leases of this holder are not in the caller's way.
  LeaseHolder holder{};
  // Who has less of what all share for what the call leaves behind.
  io::PeerId peer{};

  [[nodiscard]] std::span<const std::uint32_t> groups() const { return {group_list.data(), group_count}; }
  friend bool operator==(const Credentials& a, const Credentials& b) {
    return a.uid == b.uid && a.gid == b.gid && std::ranges::equal(a.groups(), b.groups());
  }
};

// The errors a file system can answer; each protocol maps them in one place.
enum class Error : std::uint8_t {
  perm,                 // the operation is reserved to the owner or to root
  noent,                // no such name
  io,                   // the medium failed
  nxio,                 // no such device
  acces,                // permission bits or ACL refuse
  exist,                // the name exists
  xdev,                 // the two names are on different file systems
  nodev,                // no such device
  notdir,               // not a directory
  isdir,                // a directory
  inval,                // an argument is wrong
  fbig,                 // beyond the largest file offset
  nospc,                // no space on the file system
  rofs,                 // the file system or the export is read-only, or the latter is for this client
  mlink,                // too many hard links
  nametoolong,          // a name is longer than the file system allows
  notempty,             // the directory is not empty
  dquot,                // the user's quota is used up
  stale,                // the file behind the handle is gone
  badhandle,            // not a handle of ours
  not_sync,             // the guard of a SETATTR did not match
  bad_cookie,           // a READDIR cookie that was never given out
  notsupp,              // the file system cannot do this
  too_small,            // the reply limit is too small for one entry
  delay,                // out of a resource for now, or in the way of a lease: try again later
  too_many_open_files,  // every descriptor that there may be is held by somebody's open
  no_xattr,             // no such extended attribute, or the name has none
  xattr2big,            // an extended attribute is larger than the file system can store
  server_fault,         // anything else
};

// The vfs::Error of an errno; unknown numbers are server_fault.
Error error_of(int errno_number);
std::string_view name_of(Error error);

enum class FileType : std::uint8_t {
  regular,
  directory,
  block_device,
  character_device,
  symlink,
  socket,
  fifo
};

struct Time {
  std::int64_t seconds = 0;
  std::uint32_t nanoseconds = 0;
  friend auto operator<=>(const Time&, const Time&) = default;
};

struct DeviceNumber {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
};

struct Attributes {
  FileType type = FileType::regular;
  std::uint32_t mode = 0;  // permission bits, 07777
  std::uint32_t nlink = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint64_t size = 0;   // bytes
  std::uint64_t space = 0;  // bytes allocated
  DeviceNumber rdev;
  std::uint64_t fsid = 0;    // stable across restarts
  std::uint64_t fileid = 0;  // inode number
  std::uint32_t block_bytes = 4096;
  Time atime, mtime, ctime;
  Time btime;  // creation; zero where the file system does not know
  // Another value after every change of content or attributes, and a larger one as long as the clock does not
  // go back: nanoseconds of the ctime, and a count where the clock was too coarse to tell two changes of
  // ours.
  std::uint64_t change = 0;
};

// A time to set: leave it, the server's clock, or the client's value.
struct SetTime {
  enum class How : std::uint8_t { leave, server, client } how = How::leave;
  Time value;
};

struct SetAttributes {
  std::optional<std::uint32_t> mode;
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;
  std::optional<std::uint64_t> size;
  SetTime atime;
  SetTime mtime;
  // When an object is created: bits that `mode` loses unless the directory has a default ACL (RFC 8275).
  std::optional<std::uint32_t> umask;
};

// Weak cache consistency (RFC 1813 2.6): attributes before and after a change. `before` is absent when
// another change to the same object ran at the same time, so a client never mistakes two changes for its own
// one.
struct Before {
  std::uint64_t size = 0;
  Time mtime, ctime;
  std::uint64_t change = 0;
};
struct Wcc {
  std::optional<Before> before;
  std::optional<Attributes> after;
};

struct Verifier {  // 8 opaque bytes
  std::array<std::byte, 8> bytes{};
  friend bool operator==(const Verifier&, const Verifier&) = default;
};

// How far WRITE data has got (RFC 1813 3.3.7 stable_how).
enum class Stability : std::uint8_t { unstable, data_sync, file_sync };

// A file handle on the wire: opaque to clients. NFSv3 carries at most 64 bytes, NFSv4 128; ours are at
// most 64.
struct FileHandle {
  static constexpr std::size_t bytes_max = 64;
  std::uint8_t size = 0;
  std::array<std::byte, bytes_max> bytes{};

  [[nodiscard]] base::BytesView view() const { return {bytes.data(), size}; }
  friend bool operator==(const FileHandle& a, const FileHandle& b) { return base::equal(a.view(), b.view()); }
};

// ACCESS bits as in RFC 1813 3.3.4.
struct AccessBits {
  static constexpr std::uint32_t read = 0x01, lookup = 0x02, modify = 0x04, extend = 0x08, remove = 0x10,
                                 execute = 0x20;
};

struct FileSystemStatus {  // bytes and files; `available` is what an ordinary user may still use
  std::uint64_t bytes_total = 0, bytes_free = 0, bytes_available = 0;
  std::uint64_t files_total = 0, files_free = 0, files_available = 0;
};

struct FileSystemLimits {
  std::uint64_t file_bytes_max = 0;
  std::uint32_t link_max = 0;
  std::uint32_t name_bytes_max = 0;
  bool no_truncation = true;     // over-long names are refused, not cut
  bool chown_restricted = true;  // only root may give files away
  bool case_insensitive = false;
  bool case_preserving = true;
  bool hard_links = true, symlinks = true, homogeneous = true, can_set_time = true;
  Time time_delta{0, 1};                // resolution of time stamps
  std::uint32_t clone_block_bytes = 0;  // offsets and lengths of clone() are multiples of it; 0: no clones
  bool xattrs = false;                  // user.* extended attributes
  bool acls = false;                    // POSIX ACLs
  // In pieces of so many bytes new files are spread over data servers; 0: they are not.
  std::uint32_t stripe_bytes = 0;
};

}  // namespace braid::vfs
