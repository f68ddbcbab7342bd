// Where in a file something is wrong, and what.
#pragma once

#include <cstdint>
#include <string>

namespace braid::xdrc {

struct Position {
  std::uint32_t line = 1;    // from 1
  std::uint32_t column = 1;  // from 1, in bytes
};

// Printed as file:line:column: what.
struct Diagnostic {
  std::string file;
  Position at;
  std::string what;
};

}  // namespace braid::xdrc
