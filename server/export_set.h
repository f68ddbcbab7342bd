// The exports of a configuration as file systems, and their replacement: at a reload, and when a directory is
// not what it was.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "io/blocking_pool.h"
#include "io/slab.h"
#include "server/config/config.h"
#include "vfs/export.h"
#include "vfs/export_registry.h"
#include "vfs/posix/file_system.h"

namespace braid::server {

// Where the bytes of files may be besides the files themselves (vfs/content.h). What it refers to outlives
// the server.
struct ContentSources {
  // Those of one export; asked when it is opened, at a reload, too. Null: none.
  std::function<std::vector<vfs::ContentSource*>(const config::ExportConfig& config)> of;
  bool take_pipes = true;  // all of them do
};

// What every file system of a server shares; outlives the ExportSet and every handle that it gave out.
struct ExportResources {
  const base::Clock& clock;
  io::BlockingPool& pool;
  io::SlabPool& slabs;
  std::size_t open_files_max = 4096;  // of all exports
  ContentSources contents{};
};

// Belongs to the control thread, except table().
class ExportSet {
 public:
  ExportSet(const ExportResources& resources, vfs::ExportRegistry registry);

  // Puts these exports into force. File systems whose directory and options stay are kept, with what they
  // have open. One whose directory is not there, or not what it was, is unavailable; on the command line a
  // directory that was never there is a mistake. On an error, a sentence, nothing has changed. Opens
  // directories: may block.
  std::expected<void, std::string> apply(const std::vector<config::ExportConfig>& exports);
  // What protocols use; any thread.
  [[nodiscard]] const vfs::Exports& table() const { return exports_; }
  // Whether the data of WRITEs may come in pipes, whatever exports there will be.
  [[nodiscard]] bool takes_pipes() const { return resources_.contents.take_pipes; }

  struct Entry {
    config::ExportConfig config;
    vfs::Registration registered;
    std::shared_ptr<vfs::posix::PosixFileSystem> file_system;  // null: unavailable since the start
    std::string unavailable;                                   // why, a sentence; empty: it is served
    std::optional<vfs::DirectoryIdentity> seen;                // what was there instead
    bool suspended = false;  // by an administrator, for as long as that lasts
    // What has been let go, and stays until clients have closed the files that they have open there.
    std::weak_ptr<vfs::posix::PosixFileSystem> let_go;
    // Of that file system.
    std::weak_ptr<vfs::posix::WriteBack> unsynced;
  };
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  // Closes what has been idle, and looks whether the directories are what they were; about every second.
  void sweep();
  // True if files are kept open for the sake of unsynced bytes in file systems of which nothing is served any
  // more: suspended, or not among the exports any more.
  [[nodiscard]] bool keeps_unserved() const { return !write_backs_->unserved().empty(); }
  // Syncs and closes these, on the blocking pool. Waits for the medium.
  io::Op<> let_go_unserved() const;
  // For whatever else serves from the same disks: bytes that one loses others may have lost, too.
  [[nodiscard]] const std::shared_ptr<vfs::posix::WriteBacks>& write_backs() const { return write_backs_; }
  // By an administrator: what is at the directory of this export now is meant. A sentence if it cannot be.
  std::expected<void, std::string> accept(std::string_view export_path);
  // Lets go of its disk, and serves it again. What is still to be done about it, in a sentence, if anything.
  std::expected<std::string, std::string> suspend(std::string_view export_path);
  // Whether its disk is still in use for no other reason than that bytes are not synced yet.
  [[nodiscard]] bool is_syncing(std::string_view export_path);
  std::expected<std::string, std::string> resume(std::string_view export_path);

  // The file systems that are mounted below exports now, by the path of the export; those without have no
  // part.
  [[nodiscard]] std::map<std::string, std::vector<std::string>> nested_mounts() const;

 private:
  std::expected<Entry, std::string> offer(const config::ExportConfig& config);
  Entry* find(std::string_view export_path);
  void warn_of_nested_mounts() const;
  [[nodiscard]] const Entry* same_file_system(const config::ExportConfig& config) const;
  std::expected<void, std::string> open(Entry& entry);
  // True if the export has come or gone.
  bool look_at(Entry& entry);
  // What the files that are open in this export obey, since whatever reload they are.
  std::shared_ptr<vfs::posix::OpensOptions>& opens_of(const Entry& entry);
  void publish();

  const ExportResources resources_;
  // Of all exports, also of those that a reload has taken away and somebody has files open in.
  const std::shared_ptr<vfs::posix::DescriptorPool> descriptors_;
  vfs::ExportRegistry registry_;
  const std::shared_ptr<vfs::posix::WriteBacks> write_backs_ = std::make_shared<vfs::posix::WriteBacks>();
  std::map<vfs::ExportId, std::shared_ptr<vfs::posix::OpensOptions>> opens_;
  std::vector<Entry> entries_;
  vfs::Exports exports_;
};

// What to do about one of ExportSet::nested_mounts().
std::string nested_mount_text(std::string_view export_path, std::string_view mount_point);
// Why a file system that was let go is not gone; empty: it is.
std::string held_text(const ExportSet::Entry& entry);

}  // namespace braid::server
