#include "vfs/posix/tree.h"

namespace braid::vfs::posix {

Outcome<Found> Tree::lookup(const Credentials& who, PosixFile& directory, std::string_view text) {
  if (auto permitted = permit_search(who, directory); !permitted) return base::fail(permitted.error());
  const auto name = Name::of(text);
  if (!name) return base::fail(name.error());
  // A removed directory still knows its parent, but nobody may ask it any more.
  if (name->is_dot_dot())
    if (auto alive = live_attributes(directory); !alive) return base::fail(alive.error());
  auto file = file_at(directory, *name);
  if (!file) {
    // Nothing is found in a removed directory; that is another answer than a missing name.
    if (file.error() == Error::noent)
      if (auto alive = live_attributes(directory); !alive) return base::fail(alive.error());
    return base::fail(file.error());
  }
  const auto attributes = live_attributes(static_cast<PosixFile&>(**file));
  if (!attributes) return base::fail(attributes.error() == Error::stale ? Error::noent : attributes.error());
  return Found{std::move(*file), *attributes};
}

}  // namespace braid::vfs::posix
