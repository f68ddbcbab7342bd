// The files of a MemoryFileSystem, as protocols hold them.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "vfs/memory/file_system.h"

namespace braid::vfs::memory {

class MemoryFile final : public File {
 public:
  MemoryFile(std::uint64_t id, const FileHandle& handle) : id_(id), handle_(handle) {}
  [[nodiscard]] const FileHandle& handle() const override { return handle_; }
  [[nodiscard]] std::uint64_t id() const { return id_; }

 private:
  const std::uint64_t id_;
  const FileHandle handle_;
};

inline std::uint64_t id_of(const FileRef& file) { return static_cast<const MemoryFile&>(*file).id(); }

// Of an OPEN. Holds the node.
class OpenedFile final : public OpenFile {
 public:
  OpenedFile(std::shared_ptr<MemoryFileSystem> home, FileRef file, OpenAccess access)
      : home_(std::move(home)), file_(std::move(file)), access_(access) {
    home_->storage().hold(id_of(file_));
  }
  ~OpenedFile() override { home_->release(id_of(file_)); }
  [[nodiscard]] FileRef file() const override { return file_; }
  [[nodiscard]] OpenAccess access() const override { return access_; }
  [[nodiscard]] std::shared_ptr<FileSystem> file_system() const override { return home_; }
  [[nodiscard]] Verifier write_verifier() const override { return home_->traits().verifier; }
  VfsOp<ReadResult> read(std::uint64_t offset, std::uint32_t count, ReadMemory memory) override {
    return home_->read(nullptr, file_, offset, count, memory);
  }
  VfsOp<WriteResult> write(const Credentials& who, std::uint64_t offset, const io::Payload& data,
                           Stability stability, Wcc* wcc) override {
    return home_->write(who, file_, offset, data, stability, wcc);
  }
  VfsOp<Verifier> commit(const Credentials& who, std::uint64_t offset, std::uint32_t count,
                         Wcc* wcc) override {
    return home_->commit(who, file_, offset, count, wcc);
  }
  VfsOp<> set(const Credentials& who, const SetAttributes& set, Wcc* wcc) override {
    return home_->setattr(who, file_, set, std::nullopt, wcc);
  }
  VfsOp<> allocate(const Credentials& who, std::uint64_t offset, std::uint64_t length) override {
    return home_->change_space(who, file_, MemoryFileSystem::Space::allocate, offset, length);
  }
  VfsOp<> deallocate(const Credentials& who, std::uint64_t offset, std::uint64_t length) override {
    return home_->change_space(who, file_, MemoryFileSystem::Space::deallocate, offset, length);
  }

 private:
  const std::shared_ptr<MemoryFileSystem> home_;
  const FileRef file_;
  const OpenAccess access_;
};

// For one call of `who`.
class LentFile final : public OpenFile {
 public:
  LentFile(MemoryFileSystem& home, const Credentials& who, const FileRef& file)
      : home_(home), who_(who), file_(file) {}
  [[nodiscard]] FileRef file() const override { return file_; }
  [[nodiscard]] OpenAccess access() const override { return OpenAccess::both; }
  [[nodiscard]] Verifier write_verifier() const override { return home_.traits().verifier; }
  VfsOp<ReadResult> read(std::uint64_t offset, std::uint32_t count, ReadMemory memory) override {
    return home_.read(&who_, file_, offset, count, memory);
  }
  VfsOp<WriteResult> write(const Credentials& who, std::uint64_t offset, const io::Payload& data,
                           Stability stability, Wcc* wcc) override {
    return home_.write(who, file_, offset, data, stability, wcc);
  }
  VfsOp<Verifier> commit(const Credentials& who, std::uint64_t offset, std::uint32_t count,
                         Wcc* wcc) override {
    return home_.commit(who, file_, offset, count, wcc);
  }
  VfsOp<> set(const Credentials& who, const SetAttributes& set, Wcc* wcc) override {
    return home_.setattr(who, file_, set, std::nullopt, wcc);
  }
  VfsOp<> allocate(const Credentials& who, std::uint64_t offset, std::uint64_t length) override {
    return home_.change_space(who, file_, MemoryFileSystem::Space::allocate, offset, length);
  }
  VfsOp<> deallocate(const Credentials& who, std::uint64_t offset, std::uint64_t length) override {
    return home_.change_space(who, file_, MemoryFileSystem::Space::deallocate, offset, length);
  }

 private:
  MemoryFileSystem& home_;
  const Credentials& who_;
  const FileRef& file_;
};

// Nobody ever breaks it.
class MemoryLease final : public Lease {
 public:
  explicit MemoryLease(OpenFileRef open) : open_(std::move(open)) {}
  [[nodiscard]] FileRef file() const override { return open_->file(); }

 private:
  const OpenFileRef open_;
};

}  // namespace braid::vfs::memory
