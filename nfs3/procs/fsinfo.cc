#include "nfs3/attributes.h"
#include "nfs3/procs/procs.h"

namespace braid::nfs3::procs {
namespace {

constexpr std::uint32_t page_bytes = 4096;

std::uint32_t properties_of(const vfs::FileSystemLimits& limits) {
  return (limits.hard_links ? FSF3_LINK : 0) | (limits.symlinks ? FSF3_SYMLINK : 0) |
         (limits.homogeneous ? FSF3_HOMOGENEOUS : 0) | (limits.can_set_time ? FSF3_CANSETTIME : 0);
}

}  // namespace

Op3<FSINFO3resok, FSINFO3resfail> fsinfo(Request& request, const FSINFO3args& args) {
  const Target target = co_await request.target(args.fsroot);
  const auto limits = co_await target.fs().limits(target.file).as_result();
  const post_op_attr attributes = post_op_attr_of(co_await target.attributes().as_result());
  if (!limits) co_return refuse(limits.error(), FSINFO3resfail{attributes});
  const Nfs3Options& options = request.options();
  co_return FSINFO3resok{.obj_attributes = attributes,
                         .rtmax = options.read_bytes_max,
                         .rtpref = options.read_bytes_max,
                         .rtmult = page_bytes,
                         .wtmax = options.write_bytes_max,
                         .wtpref = options.write_bytes_max,
                         .wtmult = page_bytes,
                         .dtpref = options.directory_bytes_max,
                         .maxfilesize = limits->file_bytes_max,
                         .time_delta = nfstime3_of(limits->time_delta),
                         .properties = properties_of(*limits)};
}

}  // namespace braid::nfs3::procs
