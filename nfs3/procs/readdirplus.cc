#include <algorithm>

#include "nfs3/procs/procs.h"

namespace braid::nfs3::procs {

Op3<DirectoryListing, READDIRPLUS3resfail> readdirplus(Request& request, const READDIRPLUS3args& args) {
  return list_directory<READDIRPLUS3resfail>(
      request, {.dir = args.dir,
                .cookie = args.cookie,
                .cookieverf = args.cookieverf,
                .plus = true,
                .reply_bytes_max = std::min(args.maxcount, request.options().directory_bytes_max),
                .name_bytes_max = args.dircount});
}

}  // namespace braid::nfs3::procs
