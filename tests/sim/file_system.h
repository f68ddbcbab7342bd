// A small file system in memory. What is stored outlives servers; each server has a door to it of its own,
// which is shut when that server is killed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tests/sim/machine.h"
#include "tests/sim/random.h"
#include "tests/sim/scheduler.h"
#include "vfs/file_system.h"
#include "vfs/wire_handle.h"

namespace braid::sim {

// Files and directories, and how often each change with a name of its own was made.
class Storage {
 public:
  struct Node {
    vfs::Attributes attributes;
    std::string content;
    vfs::Verifier created_by;
    std::map<std::string, std::uint64_t, std::less<>> entries;
  };
  static constexpr std::uint64_t root_id = 1;
  static constexpr vfs::ExportId export_id{7};

  explicit Storage(const base::Clock& clock);

  std::uint64_t add(std::string_view name, vfs::FileType type);
  // Null: gone.
  [[nodiscard]] Node* find(std::uint64_t id);
  [[nodiscard]] Node& root() { return nodes_.at(root_id); }
  void erase(std::uint64_t id) { nodes_.erase(id); }
  void touch(Node& node);
  [[nodiscard]] vfs::FileHandle handle_of(std::uint64_t id) const;
  [[nodiscard]] base::Result<std::uint64_t, vfs::Error> id_of(base::BytesView handle) const;

  // A change that its author made unique ("make c1-5", "write 17").
  void note(const std::string& change) { ++changes_[change]; }
  [[nodiscard]] std::uint64_t times(const std::string& change) const {
    const auto found = changes_.find(change);
    return found == changes_.end() ? 0 : found->second;
  }

 private:
  const base::Clock& clock_;
  const vfs::HandleCodec codec_{export_id, {1, 2}};
  std::map<std::uint64_t, Node> nodes_;
  std::uint64_t last_id_ = root_id;
  std::map<std::string, std::uint64_t> changes_;
};

// WRITEs of 8 bytes are noted as "write N", N being those bytes.
class MemoryFileSystem final : public vfs::FileSystem, public std::enable_shared_from_this<MemoryFileSystem> {
 public:
  MemoryFileSystem(Storage& storage, Scheduler& scheduler, const Random& delays)
      : storage_(storage), scheduler_(scheduler), delays_(delays) {}
  // The server is dead: nothing it does from now on has an effect.
  void shut() { shut_ = true; }

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

  vfs::VfsOp<vfs::OpenFileRef> open(const vfs::Credentials& who, const vfs::FileRef& file,
                                    vfs::OpenAccess access, vfs::OpenRule rule) override;
  vfs::VfsOp<vfs::OpenCreated> open_create(const vfs::Credentials& who, const vfs::FileRef& directory,
                                           std::string_view name, vfs::OpenAccess access,
                                           const vfs::CreateHow& how, vfs::Wcc& wcc) override;
  // No local process is ever in the way.
  vfs::VfsOp<std::optional<vfs::LockConflict>> lock(const vfs::OpenFileRef& open, vfs::LockOwnerId owner,
                                                    vfs::LockRange range, vfs::LockType type) override;
  vfs::VfsOp<std::optional<vfs::LockConflict>> test_lock(const vfs::FileRef& file, vfs::LockOwnerId owner,
                                                         vfs::LockRange range, vfs::LockType type) override;
  vfs::VfsOp<> unlock(const vfs::FileRef& file, vfs::LockOwnerId owner, vfs::LockRange range) override;
  vfs::VfsOp<vfs::LeaseRef> lease(const vfs::OpenFileRef& open, vfs::LeaseType type, vfs::LeaseHolder holder,
                                  vfs::LeaseBreak broken) override;

  // Of its files, open or borrowed.
  vfs::VfsOp<vfs::ReadResult> read(const vfs::FileRef& file, std::uint64_t offset, std::uint32_t count,
                                   vfs::ReadMemory memory);
  vfs::VfsOp<vfs::WriteResult> write(const vfs::FileRef& file, std::uint64_t offset, const io::Payload& data,
                                     vfs::Wcc* wcc);
  vfs::VfsOp<vfs::Verifier> commit();

 private:
  // Most calls take no time; some take a while, and then the server may be dead.
  vfs::VfsOp<> pause();
  [[nodiscard]] base::Result<Storage::Node*, vfs::Error> node(const vfs::FileRef& file);
  [[nodiscard]] vfs::FileRef file_of(std::uint64_t id) const;
  base::Result<vfs::Found, vfs::Error> make(std::string_view name, vfs::FileType type, vfs::Wcc& wcc);
  base::Result<void, vfs::Error> unlink(std::string_view name, bool directory, vfs::Wcc& wcc);

  Storage& storage_;
  Scheduler& scheduler_;
  Random delays_;
  bool shut_ = false;
};

}  // namespace braid::sim
