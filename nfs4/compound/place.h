// What a filehandle stands for: an object of an export, or a directory of the pseudo file system that joins
// the exports.
#pragma once

#include "base/bytes.h"
#include "vfs/export.h"
#include "vfs/file_system.h"

namespace braid::nfs4 {

struct PseudoNode;
class PseudoTree;

// Valid as long as the Compound that it came from. Without `from` and `node` it is no filehandle.
struct Place {
  const vfs::Export* from = nullptr;  // with `file`
  vfs::Credentials who{};             // who the caller is there
  vfs::FileRef file{};
  const PseudoNode* node = nullptr;  // a directory of the pseudo file system

  [[nodiscard]] explicit operator bool() const { return from != nullptr || node != nullptr; }
  [[nodiscard]] bool pseudo() const { return node != nullptr; }
  [[nodiscard]] vfs::FileSystem& fs() const { return *from->file_system; }
  [[nodiscard]] vfs::VfsOp<vfs::Attributes> attributes() const { return fs().getattr(file); }
  // Whether this is the directory that the export offers.
  [[nodiscard]] bool export_root() const;
  // 0: it is in none.
  [[nodiscard]] std::uint32_t export_number() const { return from == nullptr ? 0 : from->id.value(); }
  // What clients see; a view of `file` or `node`.
  [[nodiscard]] base::BytesView handle() const;
};

}  // namespace braid::nfs4
