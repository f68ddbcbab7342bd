// A PosixFileSystem over a fresh directory, driven by hand: without a reactor every operation ends at once.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sandbox.h"
#include "vfs/posix/file_system.h"

namespace braid::vfs {

using posix::Outcome;
using posix::PosixFileSystem;
using posix::PosixOptions;

inline void PrintTo(Error error, std::ostream* out) { *out << name_of(error); }

template <class T>
Outcome<T> run(VfsOp<T> op) {
  op.start({});
  return std::move(op.result());
}

Credentials user(std::uint32_t uid, std::uint32_t gid = 0, std::initializer_list<std::uint32_t> groups = {});
SetAttributes with_mode(std::uint32_t mode);

class PosixFixture : public testing::Test {
 protected:
  // Opens the file system on a new directory below `mount`.
  void start(const std::string& mount);
  void TearDown() override;

  // Another instance over the same directory with the same key, as after a restart.
  [[nodiscard]] std::shared_ptr<PosixFileSystem> opened() const;
  void restart();

  [[nodiscard]] Verifier verifier() const { return verifier_of(*fs_); }
  static Verifier verifier_of(PosixFileSystem& fs) {
    const FileRef file = fs.root();
    const Credentials nobody;
    return fs.borrow(nobody, file)->write_verifier();
  }
  // READ, WRITE and COMMIT of who has not opened the file.
  Outcome<ReadResult> read_from(const FileRef& file, std::uint64_t offset, std::uint32_t count,
                                ReadMemory memory, const Credentials& who = {}) const {
    return run(fs_->borrow(who, file)->read(offset, count, memory));
  }
  Outcome<WriteResult> write_to(const FileRef& file, std::uint64_t offset, const io::Payload& data,
                                Stability stability, Wcc* wcc = nullptr, const Credentials& who = {}) const {
    return run(fs_->borrow(who, file)->write(who, offset, data, stability, wcc));
  }
  Outcome<Verifier> commit(const FileRef& file, const Credentials& who = {}, Wcc* wcc = nullptr) const {
    return run(fs_->borrow(who, file)->commit(who, 0, 0, wcc));
  }

  // What stands behind `path` relative to the export, made or read without Braid.
  [[nodiscard]] std::string local(std::string_view path = "") const;
  void local_write(std::string_view path, std::string_view text) const;
  [[nodiscard]] std::string local_read(std::string_view path) const;

  // What the kernel says of this file system, asked without Braid: what it has Braid must use.
  [[nodiscard]] bool kernel_has_xattrs() const;
  [[nodiscard]] bool kernel_has_acls() const;
  [[nodiscard]] bool kernel_clones() const;
  [[nodiscard]] bool kernel_splices() const;

  [[nodiscard]] io::Payload payload(std::string_view text);
  Outcome<Found> lookup(const FileRef& directory, std::string_view name, const Credentials& who = {});
  // From the root, component by component; ends the test when it is missing.
  FileRef find(std::string_view path);
  Outcome<Found> create(std::string_view name, std::uint32_t mode = 0644, const Credentials& who = {});
  Outcome<Found> mkdir(std::string_view name, std::uint32_t mode = 0755, const Credentials& who = {});
  Outcome<WriteResult> write(const FileRef& file, std::string_view text, std::uint64_t offset = 0,
                             const Credentials& who = {}, Stability stability = Stability::unstable);
  // The bytes as text.
  Outcome<std::string> read(const FileRef& file, std::uint64_t offset = 0, std::uint32_t count = 1 << 20,
                            const Credentials& who = {});
  Outcome<> remove(std::string_view name, const Credentials& who = {});
  Outcome<> setattr(const FileRef& file, const SetAttributes& set, const Credentials& who = {});
  Attributes attributes(const FileRef& file);
  // All names, "." and ".." too, asked for `batch` at a time.
  std::vector<std::string> list(const FileRef& directory, std::size_t batch, const Credentials& who = {});

  // With a time of day that may be ahead of the file system's, and monotonic time that may stand still.
  struct AheadClock final : base::Clock {
    base::Duration ahead{};
    bool stopped = false;
    [[nodiscard]] base::TimePoint now() const override {
      return stopped ? base::TimePoint(std::chrono::hours(1)) : base::SystemClock().now();
    }
    [[nodiscard]] base::WallTime wall() const override { return base::SystemClock().wall() + ahead; }
  } clock_;
  io::SlabPool slabs_{{.bytes_max = 64 * base::MiB, .huge_pages = false}};
  std::unique_ptr<io::SlabCursor> cursor_ = std::make_unique<io::SlabCursor>(slabs_);
  PosixOptions options_;
  std::shared_ptr<PosixFileSystem> fs_;
  FileRef root_;
  Wcc wcc_;
};

// On every kind of file system that can be mounted here.
class PosixTest : public PosixFixture, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override;
};
#define BRAID_ON_EVERY_FILE_SYSTEM(fixture)                                               \
  INSTANTIATE_TEST_SUITE_P(, fixture, testing::ValuesIn(braid::vfs::file_system_kinds()), \
                           [](const auto& kind) { return kind.param; })

}  // namespace braid::vfs
