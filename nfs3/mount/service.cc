#include "nfs3/mount/service.h"

#include <array>

#include "nfs3/mount/procs.h"
#include "nfs3/mount3.x.h"

namespace braid::nfs3::mount {
namespace {

using enum rpc::Replay;

constexpr std::uint32_t dump_bytes_max = 4 + MountList::entries_max * (4 + mountbody::encoded_bytes_max);
constexpr std::uint32_t export_bytes_max = 64 * base::KiB;  // a hundred exports with a dozen networks each

// RFC 1813 5.2. Doing any of these twice does no harm.
constexpr auto mount_procedures = std::to_array<rpc::Procedure>({
    {"NULL", procs::null, idempotent, 0},
    {"MNT", procs::mnt, idempotent, mountres3::encoded_bytes_max},
    {"DUMP", procs::dump, idempotent, dump_bytes_max},
    {"UMNT", procs::umnt, idempotent, 0},
    {"UMNTALL", procs::umntall, idempotent, 0},
    {"EXPORT", procs::list_exports, idempotent, export_bytes_max},
});
static_assert(mount_procedures.size() == static_cast<std::size_t>(MOUNT_V3_procedure::MOUNTPROC3_EXPORT) + 1);

constexpr auto mount_versions = std::to_array<rpc::Version>({{MOUNT_V3, mount_procedures}});

}  // namespace

rpc::Program MountService::program() { return {MOUNT_PROGRAM, "mount", mount_versions, this}; }

}  // namespace braid::nfs3::mount
