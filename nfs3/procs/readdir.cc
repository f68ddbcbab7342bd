#include <algorithm>
#include <limits>

#include "nfs3/procs/procs.h"

namespace braid::nfs3::procs {

Op3<DirectoryListing, READDIR3resfail> readdir(Request& request, const READDIR3args& args) {
  return list_directory<READDIR3resfail>(
      request, {.dir = args.dir,
                .cookie = args.cookie,
                .cookieverf = args.cookieverf,
                .plus = false,
                .reply_bytes_max = std::min(args.count, request.options().directory_bytes_max),
                .name_bytes_max = std::numeric_limits<std::uint32_t>::max()});
}

}  // namespace braid::nfs3::procs
