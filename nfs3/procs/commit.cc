#include <limits>

#include "base/arith.h"
#include "nfs3/attributes.h"
#include "nfs3/procs/procs.h"

namespace braid::nfs3::procs {

Op3<COMMIT3resok, COMMIT3resfail> commit(Request& request, const COMMIT3args& args) {
  const Target target = co_await request.target(args.file);
  // A range that no file can have means the whole file.
  constexpr std::uint64_t offset_max = std::numeric_limits<std::int64_t>::max();
  const bool possible = base::end_of<std::uint64_t>(args.offset, args.count, offset_max).has_value();
  const std::uint64_t offset = possible ? args.offset : 0;
  const std::uint32_t count = possible ? args.count : 0;
  vfs::Wcc wcc;
  const vfs::Borrowed content = target.content();
  const auto done = co_await content->commit(target.who, offset, count, &wcc).as_result();
  if (!done) co_return refuse(done.error(), COMMIT3resfail{wcc_data_of(wcc)});
  co_return COMMIT3resok{wcc_data_of(wcc), done->bytes};
}

}  // namespace braid::nfs3::procs
