// Handles that were verified lately: who comes with one again costs no hash.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "base/bytes.h"
#include "base/guarded.h"
#include "nfs4/nfs4.x.h"
#include "pnfs/data_handle.h"
#include "vfs/file.h"

namespace braid::pnfs_ds {

// Thread-safe. At most slots_count are known.
class VerifiedHandles {
 public:
  static constexpr std::size_t slots_count = 256;

  // Who may bear it, and the key that it is signed with: a key that is not in use any more opens nothing, and
  // a clientid is never another client's.
  struct Terms {
    nfs4::clientid4 client{};
    std::shared_ptr<const pnfs::DataHandleCodec> codec;
  };
  // Null: it is to be verified. Takes the same time wherever its MAC differs from that of one that is known.
  [[nodiscard]] vfs::FileRef find(base::BytesView handle, const Terms& terms) const;
  // `file` is what that handle, which has just been verified, stands for.
  void add(const vfs::FileRef& file, Terms terms);

 private:
  struct Slot {
    Terms terms;
    vfs::FileRef file;
  };
  // A MAC's bytes are as good as random.
  [[nodiscard]] static std::size_t slot_of(base::BytesView handle);

  std::array<base::Guarded<Slot>, slots_count> slots_;
};

}  // namespace braid::pnfs_ds
