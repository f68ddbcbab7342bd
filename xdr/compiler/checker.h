// The rules of the language beyond its grammar.
#pragma once

#include "base/result.h"
#include "xdr/compiler/schema.h"

namespace braid::xdrc {

// Fills in the symbols, numbers, list nodes, layouts and order of a schema whose files are parsed.
base::Result<void, Diagnostic> check(Schema& schema);

}  // namespace braid::xdrc
