#include "pnfs_ds/announcements.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "pnfs/control.x.h"

namespace braid::pnfs_ds {

vfs::VfsOp<> Announcements::announce(Object& object) {
  Caller self{object, base::fail(vfs::Error::delay)};
  waiting_.with([&](std::vector<Caller*>& waiting) { waiting.push_back(&self); });
  // A round that began before may have taken it along: it has ended by the time that this one begins.
  co_await rounds_.run([this] { return call(); });
  co_await std::move(self.outcome);
}

// Each of those who wait has an outcome of its own. All writes of an object that has just been asked for come
// at once: one call is enough for them.
vfs::VfsOp<> Announcements::call() {
  struct Telling {
    Caller* caller;
    std::uint64_t asked;
    std::size_t place;  // in `objects`
  };
  std::vector<Telling> tellings;
  std::vector<pnfs::ObjectId> objects;
  std::map<pnfs::ObjectId, std::size_t> places;
  for (Caller* const caller : waiting_.with([](auto& waiting) { return std::exchange(waiting, {}); })) {
    const std::uint64_t asked = caller->object.asked();
    if (caller->object.announced()) {
      caller->outcome = {};
      continue;
    }
    const auto [place, is_new] = places.try_emplace(caller->object.key.object, objects.size());
    if (is_new) objects.push_back(place->first);
    tellings.push_back({caller, asked, place->second});
  }
  const MetadataServer::EachObject told = co_await tell(std::move(objects));
  for (const Telling& one : tellings) {
    one.caller->outcome = told[one.place];
    if (told[one.place]) one.caller->object.note_announced(one.asked);
  }
}

vfs::VfsOp<MetadataServer::EachObject> Announcements::tell(std::vector<pnfs::ObjectId> objects) {
  MetadataServer::EachObject outcomes(objects.size(), base::fail(vfs::Error::delay));
  for (std::size_t at = 0; at < objects.size(); at += pnfs::OBJECTS_MAX) {
    const std::size_t count = std::min<std::size_t>(objects.size() - at, pnfs::OBJECTS_MAX);
    const auto first = objects.begin() + static_cast<std::ptrdiff_t>(at);
    auto told =
        co_await metadata_
            .tell_dirty(std::vector<pnfs::ObjectId>(first, first + static_cast<std::ptrdiff_t>(count)))
            .as_result();
    for (std::size_t i = 0; i < count; ++i) {
      if (!told)
        outcomes[at + i] = base::fail(told.error());
      else if (told->size() == count)
        outcomes[at + i] = (*told)[i];
    }
  }
  co_return std::move(outcomes);
}

}  // namespace braid::pnfs_ds
