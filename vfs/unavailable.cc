#include "vfs/unavailable.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

#include "vfs/wire_handle.h"

namespace braid::vfs {
namespace {

class UnavailableRoot final : public File {
 public:
  explicit UnavailableRoot(const FileHandle& handle) : handle_(handle) {}
  [[nodiscard]] const FileHandle& handle() const override { return handle_; }

 private:
  const FileHandle handle_;
};

class UnavailableFile final : public OpenFile {
 public:
  explicit UnavailableFile(const FileRef& file) : file_(file) {}
  [[nodiscard]] FileRef file() const override { return file_; }
  [[nodiscard]] OpenAccess access() const override { return OpenAccess::both; }
  VfsOp<ReadResult> read(std::uint64_t /*offset*/, std::uint32_t /*count*/, ReadMemory /*memory*/) override {
    return base::fail(Error::delay);
  }
  VfsOp<WriteResult> write(const Credentials& /*who*/, std::uint64_t /*offset*/, const io::Payload& /*data*/,
                           Stability /*stability*/, Wcc* /*wcc*/) override {
    return base::fail(Error::delay);
  }
  VfsOp<Verifier> commit(const Credentials& /*who*/, std::uint64_t /*offset*/, std::uint32_t /*count*/,
                         Wcc* /*wcc*/) override {
    return base::fail(Error::delay);
  }
  VfsOp<> set(const Credentials& /*who*/, const SetAttributes& /*set*/, Wcc* /*wcc*/) override {
    return base::fail(Error::delay);
  }

 private:
  const FileRef& file_;
};

// TYPE.BYTES in hexadecimal; false for anything else.
bool parse_kernel_handle(std::string_view text, std::uint16_t& type, base::Bytes& bytes) {
  const char* const end = text.data() + text.size();
  const auto [dot, error] = std::from_chars(text.data(), end, type, 16);
  if (error != std::errc() || dot == end || *dot != '.') return false;
  for (const char* at = dot + 1; at < end; at += 2) {
    std::uint8_t byte = 0;
    if (end - at < 2 || std::from_chars(at, at + 2, byte, 16).ptr != at + 2) return false;
    bytes.push_back(std::byte{byte});
  }
  return !bytes.empty() && bytes.size() <= HandleCodec::body_bytes_max;
}

FileRef made_root(const Registration& registered) {
  return FileRef(new UnavailableRoot(root_handle(registered)));
}

// The file system stays until it has answered.
VfsOp<> close_behind(std::shared_ptr<FileSystem> behind, OpenFileRef open) {
  co_await behind->close(std::move(open));
}

VfsOp<> unlock_behind(std::shared_ptr<FileSystem> behind, const FileRef& file, LockOwnerId owner,
                      LockRange range) {
  co_await behind->unlock(file, owner, range);
}

}  // namespace

// A directory without a lasting handle gets one that nobody can use.
FileHandle root_handle(const Registration& registered) {
  const HandleCodec codec(registered.identity.id, registered.identity.key);
  std::uint16_t type = 0;
  base::Bytes bytes;
  if (parse_kernel_handle(registered.kept.directory, type, bytes)) return codec.seal({false, type, bytes});
  const std::byte none{0};
  return codec.seal({true, 0, {&none, 1}});
}

UnavailableFileSystem::UnavailableFileSystem(const Registration& registered,
                                             std::shared_ptr<FileSystem> behind)
    : kept_(std::move(behind)),
      root_(kept_ != nullptr ? kept_->root() : made_root(registered)),
      behind_(kept_) {}

UnavailableFileSystem::UnavailableFileSystem(const Registration& registered, LetGo behind)
    : root_(made_root(registered)), behind_(std::move(behind.file_system)) {}

Borrowed UnavailableFileSystem::borrow(const Credentials& /*who*/, const FileRef& file) {
  return Borrowed(std::in_place_type<UnavailableFile>, file);
}

VfsOp<> UnavailableFileSystem::close(OpenFileRef open) {
  const auto behind = behind_.lock();
  return behind != nullptr ? close_behind(behind, std::move(open)) : FileSystem::close(std::move(open));
}

VfsOp<> UnavailableFileSystem::unlock(const FileRef& file, LockOwnerId owner, LockRange range) {
  const auto behind = behind_.lock();
  if (behind != nullptr) return unlock_behind(behind, file, owner, range);
  return later();
}

}  // namespace braid::vfs
