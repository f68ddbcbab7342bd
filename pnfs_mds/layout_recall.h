// Who takes layouts back before a file changes in a way that their holders must not go on with.
#pragma once

#include <memory>
#include <optional>

#include "pnfs/object.h"
#include "vfs/open_file.h"
#include "vfs/types.h"

namespace braid::pnfs_mds {

// Thread-safe; on a reactor.
class LayoutRecall {
 public:
  // As long as somebody has it, nobody gets a layout of the file. Null: nobody else had one, and somebody may
  // get one at any time.
  using Pause = std::shared_ptr<const void>;

  virtual ~LayoutRecall() = default;
  LayoutRecall(const LayoutRecall&) = delete;
  LayoutRecall& operator=(const LayoutRecall&) = delete;

  // Ends when nobody but `except` has a layout of this file (0: nobody at all): they have been returned, or
  // taken back and shut out at the data servers. delay: that takes longer; it goes on all the same.
  //
  // Who calls this holds nothing that a LAYOUTRETURN, LAYOUTCOMMIT or WRITE of this file waits for.
  virtual vfs::VfsOp<Pause> others(vfs::FileHandle file, vfs::LeaseHolder except) = 0;
  // Whether `who` has a layout of the file.
  [[nodiscard]] virtual bool holds(const vfs::FileHandle& file, vfs::LeaseHolder who) const = 0;
  // The handles of the layout for writing that `who` has of the file; nothing: it has none.
  [[nodiscard]] virtual std::optional<pnfs::KeptHandles> handles(const vfs::FileHandle& file,
                                                                 vfs::LeaseHolder who) const = 0;

 protected:
  LayoutRecall() = default;
};

}  // namespace braid::pnfs_mds
