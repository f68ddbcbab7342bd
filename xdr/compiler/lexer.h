// Cuts XDR text into tokens (RFC 4506 section 6.2).
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "xdr/compiler/diagnostic.h"

namespace braid::xdrc {

struct Token {
  enum class Kind : std::uint8_t {
    identifier,   // keywords too: the parser knows them
    number,       // decimal, 0x hexadecimal or 0 octal, perhaps with a minus sign
    text,         // "between quotes", only in import lines; `text` is without the quotes
    punctuation,  // one character
    end,          // of the file
  };
  Kind kind = Kind::end;
  Position at;
  std::string_view text;  // into the source
};

// All tokens, the last one of kind end. Comments and lines that start with % are left out.
// `source` must outlive the tokens; `file` is for diagnostics.
base::Result<std::vector<Token>, Diagnostic> tokens_of(std::string_view file, std::string_view source);

}  // namespace braid::xdrc
