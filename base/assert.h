// Assertions for our own mistakes: active in every build, never reachable from the wire.
#pragma once

#include <source_location>

namespace braid::base {

[[noreturn]] void assertion_failed(const char* what, std::source_location where);

// Ends the process with file and line when `holds` is false. Input from peers gets error values, not
// assertions.
inline void check(bool holds, const char* what = "invariant",
                  std::source_location where = std::source_location::current()) {
  if (!holds) [[unlikely]]
    assertion_failed(what, where);
}

}  // namespace braid::base
