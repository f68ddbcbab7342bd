// The MOUNT program, version 3 (RFC 1813 appendix I): how an NFSv3 client gets the handle of an exported
// directory.
#pragma once

#include "nfs3/mount/mount_list.h"
#include "rpc/program.h"
#include "vfs/export.h"

namespace braid::nfs3::mount {

// Lives as long as the RPC server that calls it. Thread-safe.
class MountService final : public rpc::Service {
 public:
  explicit MountService(const vfs::Exports& exports) : exports_(exports) {}

  [[nodiscard]] const vfs::Exports& exports() const { return exports_; }
  [[nodiscard]] MountList& mounts() { return mounts_; }
  // The program with its one version; it refers to this service.
  [[nodiscard]] rpc::Program program();

 private:
  const vfs::Exports& exports_;
  MountList mounts_;
};

}  // namespace braid::nfs3::mount
