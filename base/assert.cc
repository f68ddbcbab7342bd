#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace braid::base {

void assertion_failed(const char* what, std::source_location where) {
  std::fprintf(stderr, "braid: assertion failed: %s at %s:%u in %s\n", what, where.file_name(), where.line(),
               where.function_name());
  std::abort();
}

}  // namespace braid::base
