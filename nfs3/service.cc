#include "nfs3/service.h"

#include <algorithm>
#include <array>

#include "nfs3/glue.h"
#include "nfs3/procs/procs.h"

namespace braid::nfs3 {
namespace {

using enum rpc::Replay;

constexpr std::uint32_t directory_bytes_limit = 64 * base::KiB;
constexpr std::uint32_t read_reply_bytes_max = READ3res::encoded_bytes_max - DATA_BYTES_MAX + MAX_PAYLOAD;
constexpr std::uint32_t directory_reply_bytes_max = 4 + directory_bytes_limit;

// RFC 1813 section 3. WRITE and COMMIT may be executed twice: the same bytes go to the same place.
constexpr auto nfs_procedures = std::to_array<rpc::Procedure>({
    {"NULL", procs::null, idempotent, 0},
    {"GETATTR", glue<procs::getattr>, idempotent, GETATTR3res::encoded_bytes_max},
    {"SETATTR", glue<procs::setattr>, cached, SETATTR3res::encoded_bytes_max},
    {"LOOKUP", glue<procs::lookup>, idempotent, LOOKUP3res::encoded_bytes_max},
    {"ACCESS", glue<procs::access>, idempotent, ACCESS3res::encoded_bytes_max},
    {"READLINK", glue<procs::readlink>, idempotent, READLINK3res::encoded_bytes_max},
    {"READ", glue<procs::read>, idempotent, read_reply_bytes_max},
    {.name = "WRITE",
     .handler = glue<procs::write>,
     .reply_bytes_max = WRITE3res::encoded_bytes_max,
     .bulk = procs::write_bulk},
    {"CREATE", glue<procs::create>, cached, CREATE3res::encoded_bytes_max},
    {"MKDIR", glue<procs::mkdir>, cached, MKDIR3res::encoded_bytes_max},
    {"SYMLINK", glue<procs::symlink>, cached, SYMLINK3res::encoded_bytes_max},
    {"MKNOD", glue<procs::mknod>, cached, MKNOD3res::encoded_bytes_max},
    {"REMOVE", glue<procs::remove>, cached, REMOVE3res::encoded_bytes_max},
    {"RMDIR", glue<procs::rmdir>, cached, RMDIR3res::encoded_bytes_max},
    {"RENAME", glue<procs::rename>, cached, RENAME3res::encoded_bytes_max},
    {"LINK", glue<procs::link>, cached, LINK3res::encoded_bytes_max},
    {"READDIR", glue<procs::readdir>, idempotent, directory_reply_bytes_max},
    {"READDIRPLUS", glue<procs::readdirplus>, idempotent, directory_reply_bytes_max},
    {"FSSTAT", glue<procs::fsstat>, idempotent, FSSTAT3res::encoded_bytes_max},
    {"FSINFO", glue<procs::fsinfo>, idempotent, FSINFO3res::encoded_bytes_max},
    {"PATHCONF", glue<procs::pathconf>, idempotent, PATHCONF3res::encoded_bytes_max},
    {"COMMIT", glue<procs::commit>, idempotent, COMMIT3res::encoded_bytes_max},
});
static_assert(nfs_procedures.size() == static_cast<std::size_t>(NFS_V3_procedure::NFSPROC3_COMMIT) + 1);

constexpr auto nfs_versions = std::to_array<rpc::Version>({{NFS_V3, nfs_procedures}});

Nfs3Options within_limits(Nfs3Options options) {
  constexpr std::uint32_t bytes_min = 4096;
  options.read_bytes_max = std::clamp(options.read_bytes_max, bytes_min, MAX_PAYLOAD);
  options.write_bytes_max = std::clamp(options.write_bytes_max, bytes_min, MAX_PAYLOAD);
  options.directory_bytes_max = std::clamp(options.directory_bytes_max, bytes_min, directory_bytes_limit);
  return options;
}

}  // namespace

Nfs3Service::Nfs3Service(const vfs::Exports& exports, const Nfs3Options& options)
    : exports_(exports), options_(within_limits(options)) {}

rpc::Program Nfs3Service::program() { return {NFS_PROGRAM, "nfs", nfs_versions, this}; }

}  // namespace braid::nfs3
