// The exports of a configuration as file systems, and their replacement at a reload.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "io/blocking_pool.h"
#include "io/slab.h"
#include "server/config.h"
#include "vfs/export.h"
#include "vfs/export_registry.h"
#include "vfs/posix/file_system.h"

namespace braid::server {

// What every file system of a server shares; outlives the ExportSet and every handle that it gave out.
struct ExportResources {
  const base::Clock& clock;
  io::BlockingPool& pool;
  io::SlabPool& slabs;
  std::size_t open_files_max = 4096;  // of all exports
};

// Belongs to the control thread, except table().
class ExportSet {
 public:
  ExportSet(const ExportResources& resources, vfs::ExportRegistry registry);

  // Puts these exports into force. File systems whose directory and options stay are kept, with what they
  // have open. On an error, a sentence, nothing has changed. Opens directories: may block.
  std::expected<void, std::string> apply(const std::vector<ExportConfig>& exports);
  // What protocols use; any thread.
  [[nodiscard]] const vfs::Exports& table() const { return exports_; }

  struct Entry {
    ExportConfig config;
    std::shared_ptr<vfs::posix::PosixFileSystem> file_system;
  };
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  // Closes what has been idle; about every second.
  void sweep();

 private:
  std::expected<vfs::Export, std::string> offer(const ExportConfig& config, std::size_t open_files_max,
                                                std::vector<Entry>& entries);
  [[nodiscard]] const Entry* same_file_system(const ExportConfig& config) const;

  const ExportResources resources_;
  vfs::ExportRegistry registry_;
  const std::shared_ptr<vfs::posix::WriteBacks> write_backs_ = std::make_shared<vfs::posix::WriteBacks>();
  std::vector<Entry> entries_;
  vfs::Exports exports_;
};

}  // namespace braid::server
