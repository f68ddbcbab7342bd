// The directory of a data server: who it belongs to. docs/format-pnfs-objects.md.
#pragma once

#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/lock_file.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "pnfs/keys.h"

namespace braid::pnfs_ds {

// Locked as long as this exists. Thread-safe; open() and join() block.
class StoreDirectory {
 public:
  // Asked while somebody else has the directory: whether it is tried again.
  using Wait = base::LockFile::Wait;
  // The directory of a store, or an empty one, which becomes a store. The error is a sentence for the user.
  // `who`: what others are told who want it, too. Without `wait` it is tried once.
  static std::expected<std::unique_ptr<StoreDirectory>, std::string> open(const std::string& path,
                                                                          std::string_view who = {},
                                                                          const Wait& wait = {});

  [[nodiscard]] int fd() const { return directory_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string objects_path() const { return path_ + "/objects"; }
  [[nodiscard]] const pnfs::ServerId& server() const { return server_; }
  // Zeros: of none yet.
  [[nodiscard]] pnfs::ClusterId cluster() const;
  // From now on, and after every restart, it is of this cluster. EEXIST: it is of another one.
  base::Result<void> join(const pnfs::ClusterId& cluster);

 private:
  StoreDirectory(std::string path, base::UniqueFd directory)
      : path_(std::move(path)), directory_(std::move(directory)) {}
  // Sentences, as open().
  std::expected<void, std::string> lock(std::string_view who, const Wait& wait);
  std::expected<void, std::string> make();
  std::expected<void, std::string> load(const std::string& text);
  base::Result<void> write_identity(const pnfs::ClusterId& cluster);

  const std::string path_;
  const base::UniqueFd directory_;
  std::optional<base::LockFile> lock_;
  pnfs::ServerId server_{};
  mutable std::mutex mutex_;
  pnfs::ClusterId cluster_{};
};

std::string hex_of(const pnfs::ServerId& id);

}  // namespace braid::pnfs_ds
