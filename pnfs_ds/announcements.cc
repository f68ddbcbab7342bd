#include "pnfs_ds/announcements.h"

#include <algorithm>
#include <span>
#include <utility>

#include "pnfs/control.x.h"

namespace braid::pnfs_ds {

vfs::VfsOp<> Announcements::announce(pnfs::ObjectId object) {
  Caller self{object, base::fail(vfs::Error::delay)};
  waiting_.with([&](std::vector<Caller*>& waiting) { waiting.push_back(&self); });
  // A round that began before may have taken it along: it has ended by the time that this one begins.
  co_await rounds_.run([this] { return call(); });
  co_await std::move(self.outcome);
}

// Each of those who wait has an outcome of its own.
vfs::VfsOp<> Announcements::call() {
  const std::vector<Caller*> callers =
      waiting_.with([](std::vector<Caller*>& waiting) { return std::exchange(waiting, {}); });
  std::span<Caller* const> left(callers);
  while (!left.empty()) {
    const auto some = left.first(std::min<std::size_t>(left.size(), pnfs::OBJECTS_MAX));
    left = left.subspan(some.size());
    std::vector<pnfs::ObjectId> objects;
    objects.reserve(some.size());
    std::ranges::transform(some, std::back_inserter(objects), &Caller::object);
    const auto told = co_await metadata_.tell_dirty(std::move(objects)).as_result();
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (!told)
        some[i]->outcome = base::fail(told.error());
      else if (told->size() == some.size())
        some[i]->outcome = (*told)[i];
    }
  }
}

}  // namespace braid::pnfs_ds
