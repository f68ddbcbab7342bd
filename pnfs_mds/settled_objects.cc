#include "pnfs_mds/settled_objects.h"

namespace braid::pnfs_mds {

bool SettledObjects::has(pnfs::ObjectId object) const {
  return chunks_.with([&](const auto& chunks) {
    const auto found = chunks.find(object.value() / chunk_bits);
    return found != chunks.end() && found->second.test(object.value() % chunk_bits);
  });
}

void SettledObjects::add(pnfs::ObjectId object) {
  chunks_.with([&](auto& chunks) { chunks[object.value() / chunk_bits].set(object.value() % chunk_bits); });
}

void SettledObjects::remove(pnfs::ObjectId object) {
  chunks_.with([&](auto& chunks) {
    const auto found = chunks.find(object.value() / chunk_bits);
    if (found == chunks.end()) return;
    found->second.reset(object.value() % chunk_bits);
    if (found->second.none()) chunks.erase(found);
  });
}

}  // namespace braid::pnfs_mds
