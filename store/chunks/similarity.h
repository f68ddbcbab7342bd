// Where a store looks for chunks that it may have already.
#pragma once

#include <cstdint>

namespace braid::store {

enum class Similarity : std::uint8_t {
  global,    // everywhere, by the index
  previous,  // of data: where who puts them says that the file had them before; the index does not get them
};

}  // namespace braid::store
