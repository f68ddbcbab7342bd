// Writes the C++ of a checked file.
#pragma once

#include <string>

#include "xdr/compiler/schema.h"

namespace braid::xdrc {

struct Output {
  std::string header;  // FILE.x.h
  std::string source;  // FILE.x.cc
};

Output emit(const Schema& schema);

}  // namespace braid::xdrc
