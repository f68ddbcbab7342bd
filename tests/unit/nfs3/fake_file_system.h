// A small file system in memory for tests of protocols: it records who asked for what, fails on demand, and
// can make its operations wait until the test lets them go on.
#pragma once

#include <coroutine>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vfs/export.h"
#include "vfs/file_system.h"

namespace braid::nfs3::test {

class FakeFile final : public vfs::File {
 public:
  FakeFile(const vfs::FileHandle& handle, std::uint64_t id) : fileid(id), handle_(handle) {}
  [[nodiscard]] const vfs::FileHandle& handle() const override { return handle_; }
  const std::uint64_t fileid;

 private:
  vfs::FileHandle handle_;
};

// One call as the file system saw it.
struct Recorded {
  std::string operation;
  vfs::Credentials who;  // zero for operations without a caller
  std::string name;
};

// Not thread-safe. Time is a counter: each change is one second after the one before.
class FakeFileSystem : public vfs::FileSystem {
 public:
  struct Node {
    vfs::Attributes attributes;
    std::string content;  // of a file or a symbolic link
    vfs::Verifier created_by;
    std::uint64_t parent = 0;
    // Entries keep their cookie for life.
    struct Entry {
      std::string name;
      std::uint64_t cookie = 0;
      std::uint64_t fileid = 0;
    };
    std::vector<Entry> entries;
    std::uint64_t last_cookie = 0;
  };
  static constexpr std::uint64_t root_id = 1;
  static constexpr std::uint64_t file_bytes_max = 64 * base::MiB;

  explicit FakeFileSystem(vfs::ExportId id);

  // Set-up by the test; returns the fileid. Nothing is recorded.
  std::uint64_t add(std::uint64_t directory, std::string_view name, vfs::FileType type,
                    std::string_view content = {});
  void erase(std::uint64_t directory, std::string_view name);
  Node& node(std::uint64_t fileid) { return nodes_.at(fileid); }
  std::optional<std::uint64_t> find(std::uint64_t directory, std::string_view name) const;
  vfs::FileHandle handle_of(std::uint64_t fileid) const;

  // Every call of `operation` ends with `error` and changes nothing, until another error or nullopt is set.
  void fail(std::string_view operation, std::optional<vfs::Error> error);
  // From now on operations suspend; resume_one() lets the oldest go on.
  void park(bool on) { parking_ = on; }
  [[nodiscard]] std::size_t parked() const { return parked_.size(); }
  void resume_one();

  std::vector<Recorded> calls;
  vfs::FileSystemStatus file_system_status{1'000'000, 600'000, 500'000, 1000, 700, 600};
  vfs::FileSystemLimits file_system_limits{
      .file_bytes_max = 0x7fff'ffff'ffff'ffff, .link_max = 127, .name_bytes_max = 255};
  vfs::Verifier verifier{{std::byte{0xb0}, std::byte{0x07}}};
  bool read_only = false;
  // With these, entries of READDIRPLUS come without handle and attributes.
  bool entries_without_attributes = false;
  // What WRITE answers in place of the wanted stability and of the whole count.
  std::optional<vfs::Stability> committed;
  std::optional<std::uint32_t> short_write;

  [[nodiscard]] vfs::FileRef root() const override;
  vfs::VfsOp<vfs::FileRef> resolve(base::BytesView handle) override;
  vfs::VfsOp<vfs::Attributes> getattr(const vfs::FileRef& file) override;
  vfs::VfsOp<> setattr(const vfs::Credentials& who, const vfs::FileRef& file, const vfs::SetAttributes& set,
                       std::optional<vfs::Time> guard, vfs::Wcc* wcc) override;
  vfs::VfsOp<vfs::Found> lookup(const vfs::Credentials& who, const vfs::FileRef& directory,
                                std::string_view name) override;
  vfs::VfsOp<std::uint32_t> access(const vfs::Credentials& who, const vfs::FileRef& file,
                                   std::uint32_t wanted, std::optional<vfs::Attributes>& now) override;
  vfs::VfsOp<io::Payload> readlink(const vfs::Credentials& who, const vfs::FileRef& link) override;
  vfs::Borrowed borrow(const vfs::Credentials& who, const vfs::FileRef& file) override;
  // Of what is borrowed.
  virtual vfs::VfsOp<vfs::ReadResult> read(const vfs::Credentials& who, const vfs::FileRef& file,
                                           std::uint64_t offset, std::uint32_t count, vfs::ReadMemory memory);
  virtual vfs::VfsOp<vfs::WriteResult> write(const vfs::Credentials& who, const vfs::FileRef& file,
                                             std::uint64_t offset, const io::Payload& data,
                                             vfs::Stability stability, vfs::Wcc& wcc);
  vfs::VfsOp<vfs::Verifier> commit(const vfs::Credentials& who, const vfs::FileRef& file,
                                   std::uint64_t offset, std::uint32_t count, vfs::Wcc& wcc);
  vfs::VfsOp<vfs::Found> create(const vfs::Credentials& who, const vfs::FileRef& directory,
                                std::string_view name, const vfs::CreateHow& how, vfs::Wcc& wcc) override;
  vfs::VfsOp<vfs::Found> mkdir(const vfs::Credentials& who, const vfs::FileRef& directory,
                               std::string_view name, const vfs::SetAttributes& set, vfs::Wcc& wcc) override;
  vfs::VfsOp<vfs::Found> symlink(const vfs::Credentials& who, const vfs::FileRef& directory,
                                 std::string_view name, std::string_view target,
                                 const vfs::SetAttributes& set, vfs::Wcc& wcc) override;
  vfs::VfsOp<vfs::Found> mknod(const vfs::Credentials& who, const vfs::FileRef& directory,
                               std::string_view name, const vfs::SpecialFile& special,
                               const vfs::SetAttributes& set, vfs::Wcc& wcc) override;
  vfs::VfsOp<> remove(const vfs::Credentials& who, const vfs::FileRef& directory, std::string_view name,
                      vfs::Wcc& wcc) override;
  vfs::VfsOp<> rmdir(const vfs::Credentials& who, const vfs::FileRef& directory, std::string_view name,
                     vfs::Wcc& wcc) override;
  vfs::VfsOp<> rename(const vfs::Credentials& who, const vfs::FileRef& from_directory,
                      std::string_view from_name, const vfs::FileRef& to_directory, std::string_view to_name,
                      vfs::Wcc& from_wcc, vfs::Wcc& to_wcc) override;
  vfs::VfsOp<> link(const vfs::Credentials& who, const vfs::FileRef& file, const vfs::FileRef& directory,
                    std::string_view name, vfs::Wcc& wcc) override;
  vfs::VfsOp<bool> readdir(const vfs::Credentials& who, const vfs::FileRef& directory,
                           const vfs::ReadDirectoryRequest& request, const vfs::EntrySink& sink) override;
  vfs::VfsOp<vfs::FileSystemStatus> status(const vfs::FileRef& file) override;
  vfs::VfsOp<vfs::FileSystemLimits> limits(const vfs::FileRef& file) override;

 private:
  template <class T = void>
  using Outcome = base::Result<T, vfs::Error>;
  struct Park {
    FakeFileSystem& owner;
    [[nodiscard]] bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> handle) { owner.parked_.push_back(handle); }
    void await_resume() const {}
  };

  template <class T>
  vfs::VfsOp<T> answer(Outcome<T> outcome);
  template <class T>
  vfs::VfsOp<T> later(Outcome<T> outcome);
  // Records the call; the error to end with, if the test or read_only says so.
  std::optional<vfs::Error> begin(std::string_view operation, const vfs::Credentials& who,
                                  std::string_view name = {}, bool changes = false);
  Node* node_of(const vfs::FileRef& file);
  vfs::Before before_of(const Node& node) const;
  vfs::Time tick();
  void touch(Node& node);
  static bool too_big(const vfs::SetAttributes& set);
  void apply(const vfs::SetAttributes& set, Node& node);
  Outcome<vfs::Found> found(std::uint64_t fileid);
  // What CREATE, MKDIR, SYMLINK and MKNOD share.
  Outcome<vfs::Found> make(const vfs::Credentials& who, const vfs::FileRef& directory, std::string_view name,
                           vfs::FileType type, const vfs::SetAttributes& set, vfs::Wcc& wcc);
  Outcome<> unlink(const vfs::FileRef& directory, std::string_view name, bool want_directory, vfs::Wcc& wcc);

  vfs::ExportId id_;
  io::SlabPool pool_{{.bytes_max = io::region_bytes, .huge_pages = false}};
  io::SlabCursor cursor_{pool_};
  std::map<std::uint64_t, Node> nodes_;
  std::uint64_t last_id_ = root_id;
  std::int64_t now_ = 1'000'000'000;
  std::map<std::string, vfs::Error, std::less<>> failures_;
  bool parking_ = false;
  std::vector<std::coroutine_handle<>> parked_;
};

}  // namespace braid::nfs3::test
