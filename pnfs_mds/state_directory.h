// The files of a metadata server's `pnfs` directory that are written once.
#pragma once

#include <cstddef>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace braid::pnfs_mds {

// Of this process alone, as long as it is open. Functions block.
class StateDirectory {
 public:
  // Makes it below `parent`, which exists. EBUSY: another process has it.
  static base::Result<StateDirectory> open(const std::string& parent);

  [[nodiscard]] int fd() const { return directory_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  // What `name` has; made of `bytes` random ones, with mode 0600, if there is none. EBADMSG: it has another
  // size.
  [[nodiscard]] base::Result<base::Bytes> kept(const std::string& name, std::size_t bytes) const;

 private:
  StateDirectory(std::string path, base::UniqueFd directory, base::UniqueFd lock)
      : path_(std::move(path)), directory_(std::move(directory)), lock_(std::move(lock)) {}

  std::string path_;
  base::UniqueFd directory_;
  base::UniqueFd lock_;
};

// Bytes that nobody can guess (getrandom(2)).
base::Bytes random_bytes(std::size_t count);

}  // namespace braid::pnfs_mds
