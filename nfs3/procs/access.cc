#include <optional>

#include "nfs3/attributes.h"
#include "nfs3/procs/procs.h"

namespace braid::nfs3::procs {

Op3<ACCESS3resok, ACCESS3resfail> access(Request& request, const ACCESS3args& args) {
  static_assert(ACCESS3_READ == vfs::AccessBits::read && ACCESS3_LOOKUP == vfs::AccessBits::lookup &&
                ACCESS3_MODIFY == vfs::AccessBits::modify && ACCESS3_EXTEND == vfs::AccessBits::extend &&
                ACCESS3_DELETE == vfs::AccessBits::remove && ACCESS3_EXECUTE == vfs::AccessBits::execute);
  constexpr std::uint32_t known =
      ACCESS3_READ | ACCESS3_LOOKUP | ACCESS3_MODIFY | ACCESS3_EXTEND | ACCESS3_DELETE | ACCESS3_EXECUTE;
  const Target target = co_await request.target(args.object);
  std::optional<vfs::Attributes> now;
  const auto allowed =
      co_await target.fs().access(target.who, target.file, args.access & known, now).as_result();
  const post_op_attr attributes = post_op_attr_of(now);
  if (!allowed) co_return refuse(allowed.error(), ACCESS3resfail{attributes});
  co_return ACCESS3resok{attributes, *allowed};
}

}  // namespace braid::nfs3::procs
