// Which directory of which file system an export offers, whatever path leads to it.
#pragma once

#include <string>
#include <string_view>

namespace braid::vfs {

// Both parts are texts, compared and kept as they are; docs/filehandle.md lists them.
struct DirectoryIdentity {
  std::string file_system;  // KIND:VALUE
  std::string directory;    // on it: TYPE.BYTES of its kernel handle, or ino.NUMBER where there are none
  std::string device;       // MAJOR:MINOR; of the present only, not kept

  // The part of `file_system` before the colon.
  [[nodiscard]] std::string_view kind() const {
    return std::string_view(file_system).substr(0, file_system.find(':'));
  }
  // False: nobody expects to find it again after a restart of the machine.
  [[nodiscard]] bool lasting() const { return kind() != "memory" && !directory.starts_with("ino."); }
  // Whether `found` is what this, which was kept, names. What only a device number named may have got a
  // better name since.
  [[nodiscard]] bool names(const DirectoryIdentity& found) const {
    if (directory != found.directory) return false;
    return file_system == found.file_system || file_system == "device:" + found.device;
  }
};

}  // namespace braid::vfs
