#include <algorithm>
#include <limits>

#include "nfs3/attributes.h"
#include "nfs3/procs/procs.h"

namespace braid::nfs3::procs {

Op3<READ3resok, READ3resfail> read(Request& request, const READ3args& args) {
  const Target target = co_await request.target(args.file);
  // What lies beyond the largest file offset is beyond the end of every file: nothing to read there, and no
  // error.
  constexpr std::uint64_t offset_max = std::numeric_limits<std::int64_t>::max();
  const std::uint64_t offset = std::min(args.offset, offset_max);
  const auto count = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(std::min(args.count, request.options().read_bytes_max), offset_max - offset));
  const vfs::Borrowed content = target.content();
  auto got = co_await content->read(offset, count, request.memory()).as_result();
  if (!got) {
    const post_op_attr attributes = post_op_attr_of(co_await target.attributes().as_result());
    co_return refuse(got.error(), READ3resfail{attributes});
  }
  request.read(got->data.size());
  co_return READ3resok{.file_attributes = post_op_attr::with_attributes(fattr3_of(got->attributes)),
                       .count = static_cast<count3>(got->data.size()),
                       .eof = got->eof || args.offset >= got->attributes.size,
                       .data = std::move(got->data)};
}

}  // namespace braid::nfs3::procs
