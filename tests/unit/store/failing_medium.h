// A medium on which writing fails when the test wants that.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/medium/medium.h"

namespace braid::store::test {

// 0: that does not fail.
struct Errnos {
  int write_errno = 0, sync_errno = 0, resize_errno = 0, directory_errno = 0, remove_errno = 0;
  // Where begin_sync() was called, if somebody wants to know.
  std::vector<Extent>* begun = nullptr;
};

class FailingFile final : public File {
 public:
  FailingFile(std::unique_ptr<File> file, const Errnos& errnos) : file_(std::move(file)), errnos_(errnos) {}
  base::Result<std::size_t> read(std::uint64_t offset, base::MutableBytes to) override {
    return file_->read(offset, to);
  }
  base::Result<void> write(std::uint64_t offset, base::BytesView bytes) override {
    if (errnos_.write_errno == 0) return file_->write(offset, bytes);
    (void)file_->write(offset, bytes.first(bytes.size() / 2));
    return base::fail(errnos_.write_errno);
  }
  base::Result<void> resize(std::uint64_t size) override {
    if (errnos_.resize_errno != 0) return base::fail(errnos_.resize_errno);
    return file_->resize(size);
  }
  base::Result<void> punch(std::uint64_t, std::uint64_t) override { return base::fail(EOPNOTSUPP); }
  base::Result<std::optional<Extent>> next_data(std::uint64_t) override { return base::fail(EOPNOTSUPP); }
  base::Result<FileStatus> status() override { return file_->status(); }
  base::Result<void> set_times(const vfs::Time&, const vfs::Time&) override { return {}; }
  base::Result<void> sync() override {
    if (errnos_.sync_errno != 0) return base::fail(errnos_.sync_errno);
    return file_->sync();
  }
  base::Result<void> sync_file_system() override { return {}; }
  void begin_sync(std::uint64_t offset, std::uint64_t length) override {
    if (errnos_.begun != nullptr) errnos_.begun->push_back({offset, offset + length});
    file_->begin_sync(offset, length);
  }
  void forget_cached(std::uint64_t, std::uint64_t) override {}
  base::Result<std::optional<base::Bytes>> attribute(const char*) override { return std::nullopt; }
  base::Result<void> set_attribute(const char*, base::BytesView) override { return {}; }
  base::Result<void> remove_attribute(const char*) override { return {}; }
  base::Result<void> set_hint(bool) override { return {}; }
  base::Result<KernelHandle> handle() override { return KernelHandle{}; }

 private:
  std::unique_ptr<File> file_;
  const Errnos& errnos_;
};

class FailingMedium final : public Medium, public Errnos {
 public:
  explicit FailingMedium(Medium& medium) : medium_(medium) {}
  base::Result<std::unique_ptr<File>> open(const std::string& name, OpenFor what) override {
    auto file = medium_.open(name, what);
    if (!file) return base::fail(file.error());
    return std::make_unique<FailingFile>(std::move(*file), *this);
  }
  base::Result<std::vector<std::string>> list(const std::string& name) override { return medium_.list(name); }
  base::Result<void> make_directory(const std::string& name) override { return medium_.make_directory(name); }
  base::Result<void> rename(const std::string& a, const std::string& b) override {
    return medium_.rename(a, b);
  }
  base::Result<void> remove(const std::string& name) override {
    if (remove_errno != 0) return base::fail(remove_errno);
    return medium_.remove(name);
  }
  base::Result<void> sync_directory(const std::string& name) override {
    if (directory_errno != 0) return base::fail(directory_errno);
    return medium_.sync_directory(name);
  }
  std::unique_ptr<File> file_of(int fd) override { return medium_.file_of(fd); }

 private:
  Medium& medium_;
};

}  // namespace braid::store::test
