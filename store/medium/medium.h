// The system calls of a store, with their errors as values: on the files of its own directory, and on the
// exported files that it keeps the bytes of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "vfs/types.h"

namespace braid::store {

// Names an inode of its file system for ever (name_to_handle_at(2)).
struct KernelHandle {
  static constexpr std::size_t bytes_max = 48;
  std::uint16_t type = 0;
  std::uint8_t size = 0;
  std::array<std::byte, bytes_max> bytes{};

  [[nodiscard]] base::BytesView view() const { return {bytes.data(), size}; }
  friend bool operator==(const KernelHandle& a, const KernelHandle& b) {
    return a.type == b.type && base::equal(a.view(), b.view());
  }
};

// Bytes [begin, end) of a file.
struct Extent {
  std::uint64_t begin = 0, end = 0;
  friend bool operator==(const Extent&, const Extent&) = default;
};

struct FileStatus {
  std::uint64_t size = 0;
  std::uint64_t allocated = 0;  // bytes of blocks
  std::uint64_t fileid = 0;
  std::uint64_t block_bytes = 4096;  // holes begin and end at multiples of it
  vfs::Time atime, mtime, ctime;
};

// One file. Thread-safe, as the kernel is.
class File {
 public:
  virtual ~File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Fewer bytes than `to` has only at the end of the file.
  virtual base::Result<std::size_t> read(std::uint64_t offset, base::MutableBytes to) = 0;
  // All of it, or an error: then nobody knows what is there.
  virtual base::Result<void> write(std::uint64_t offset, base::BytesView bytes) = 0;
  // The same of several, one behind the other.
  virtual base::Result<void> write_all(std::uint64_t offset, std::span<const base::BytesView> parts);
  virtual base::Result<void> resize(std::uint64_t size) = 0;
  // Makes a hole; the size stays.
  virtual base::Result<void> punch(std::uint64_t offset, std::uint64_t length) = 0;
  // The first bytes at `offset` or behind it that are no hole; nothing up to the end. Space without bytes
  // (fallocate(2)) is a hole.
  virtual base::Result<std::optional<Extent>> next_data(std::uint64_t offset) = 0;
  virtual base::Result<FileStatus> status() = 0;
  // Whether its bytes lie with its inode, in no block of their own. What is not on the medium yet, does not.
  virtual base::Result<bool> is_inline() { return false; }
  virtual base::Result<void> set_times(const vfs::Time& atime, const vfs::Time& mtime) = 0;
  // Bytes, size and attributes are on the medium on return.
  virtual base::Result<void> sync() = 0;
  // The same of everything on its file system.
  virtual base::Result<void> sync_file_system() = 0;
  // The medium takes these bytes from now on, so that sync() has less to wait for. Nothing is promised: what
  // fails, sync() tells.
  virtual void begin_sync(std::uint64_t /*offset*/, std::uint64_t /*length*/) {}
  // What the kernel has cached of the bytes is read from the medium next time.
  virtual void forget_cached(std::uint64_t offset, std::uint64_t length) = 0;

  // Extended attributes. Nothing: there is none. At most `attribute_bytes_max` bytes; E2BIG: it has more.
  static constexpr std::size_t attribute_bytes_max = 256;
  virtual base::Result<std::optional<base::Bytes>> attribute(const char* name) = 0;
  virtual base::Result<void> set_attribute(const char* name, base::BytesView value) = 0;
  // No error if there is none.
  virtual base::Result<void> remove_attribute(const char* name) = 0;
  // The nodump flag: the hint that a file has a record.
  virtual base::Result<void> set_hint(bool on) = 0;
  virtual base::Result<KernelHandle> handle() = 0;
  // For who reads it in other ways, as long as this is there; -1: it is no file of the kernel's.
  [[nodiscard]] virtual int descriptor() const { return -1; }

 protected:
  File() = default;
};

// Of errors of a medium: whether there may be room later.
inline bool is_full(base::Errno error) {
  return error == base::errno_of(ENOSPC) || error == base::errno_of(EDQUOT);
}

enum class OpenFor : std::uint8_t {
  reading,
  writing,   // and reading
  creating,  // it is not there yet; and writing
};

// A store's directory. Names are relative to it. Thread-safe.
class Medium {
 public:
  virtual ~Medium() = default;
  Medium(const Medium&) = delete;
  Medium& operator=(const Medium&) = delete;

  virtual base::Result<std::unique_ptr<File>> open(const std::string& name, OpenFor what) = 0;
  // The names in a directory; empty: the store's own.
  virtual base::Result<std::vector<std::string>> list(const std::string& directory) = 0;
  // No error if it is there.
  virtual base::Result<void> make_directory(const std::string& name) = 0;
  virtual base::Result<void> rename(const std::string& from, const std::string& to) = 0;
  // No error if it is not there.
  virtual base::Result<void> remove(const std::string& name) = 0;
  // The names in it are on the medium on return.
  virtual base::Result<void> sync_directory(const std::string& directory) = 0;
  // An exported file, which stays its owner's: the descriptor outlives the result.
  virtual std::unique_ptr<File> file_of(int descriptor) = 0;

 protected:
  Medium() = default;
};

// A small file as a whole. EFBIG: it has more than `bytes_max` bytes.
base::Result<base::Bytes> read_small(Medium& medium, const std::string& name, std::size_t bytes_max);
// Puts it in place in one step, and it is on the medium on return. `name` lies in the store's own directory.
base::Result<void> replace_small(Medium& medium, const std::string& name, base::BytesView content);

}  // namespace braid::store
