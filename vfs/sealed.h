// Files whose bytes a store keeps (store/recipes/record.h): what is left of them has holes, which are no
// zeros of the file.
#pragma once

#include <string_view>

namespace braid::vfs {

// The extended attribute that they have; they have the flag nodump, too, which statx(2) tells at no cost. An
// export that has no source of contents with this record does not read them.
inline constexpr std::string_view sealed_record = "trusted.braid.store";

}  // namespace braid::vfs
