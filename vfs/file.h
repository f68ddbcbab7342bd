// An object of an exported file system, and the shared ownership of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "vfs/types.h"

namespace braid::vfs {

// An object of an exported file system, kept resolvable by whoever holds a FileRef. Implementations derive
// from it.
class File {
 public:
  virtual ~File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  // The wire handle of this object.
  [[nodiscard]] virtual const FileHandle& handle() const = 0;
  // Where it is on this machine, for who administers it; nothing if that cannot be said without a look at the
  // medium.
  [[nodiscard]] virtual std::optional<std::string> path() const { return std::nullopt; }

 protected:
  File() = default;

 private:
  friend class FileRef;
  std::atomic<std::uint32_t> references_{0};
};

// Shared ownership of a File; thread-safe like std::shared_ptr.
class FileRef {
 public:
  FileRef() = default;
  explicit FileRef(File* file) : file_(file) {
    // In one order with what is looked at next, as with what unique() looks at.
    if (file_ != nullptr) file_->references_.fetch_add(1, std::memory_order_seq_cst);
  }
  FileRef(const FileRef& other) : FileRef(other.file_) {}
  FileRef(FileRef&& other) noexcept : file_(std::exchange(other.file_, nullptr)) {}
  FileRef& operator=(FileRef other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~FileRef() {
    if (file_ != nullptr && file_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete file_;
  }
  [[nodiscard]] explicit operator bool() const { return file_ != nullptr; }
  [[nodiscard]] File* get() const { return file_; }
  File* operator->() const { return file_; }
  File& operator*() const { return *file_; }
  // True if no other FileRef leads to this file.
  [[nodiscard]] bool unique() const { return file_->references_.load(std::memory_order_seq_cst) == 1; }

 private:
  File* file_ = nullptr;
};

}  // namespace braid::vfs
