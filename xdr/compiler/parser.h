// Builds the AST of one file (RFC 4506 section 6.3, RFC 5531 section 12, and the extensions in docs/xdr.md).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "xdr/compiler/ast.h"

namespace braid::xdrc {

base::Result<File, Diagnostic> parse(std::string path, std::string include_as, std::string_view source);

}  // namespace braid::xdrc
