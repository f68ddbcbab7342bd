// The C++ text that decodes, encodes, measures and compares one declaration.
#pragma once

#include <string>

#include "xdr/compiler/cpp_types.h"
#include "xdr/compiler/schema.h"

namespace braid::xdrc {

// Typedefs are looked through: text for `filename3 name` is that for its string. `lvalue` names the object;
// `depth` counts enclosing lambdas and loops.
class CodecText {
 public:
  explicit CodecText(const Schema& schema) : schema_(schema), types_(schema) {}

  // An expression that is false on errors; needs `xdr::Decoder& in`.
  [[nodiscard]] std::string decode(const Declaration& declaration, const std::string& lvalue,
                                   int depth = 0) const;
  // Statements on lines of their own, indented by `indent`; need `xdr::Encoder& out`.
  [[nodiscard]] std::string encode(const Declaration& declaration, const std::string& lvalue,
                                   const std::string& indent, int depth = 0) const;
  // An expression for the bytes on the wire.
  [[nodiscard]] std::string size(const Declaration& declaration, const std::string& lvalue,
                                 int depth = 0) const;
  // A boolean expression.
  [[nodiscard]] std::string equal(const Declaration& declaration, const std::string& left,
                                  const std::string& right, int depth = 0) const;

 private:
  [[nodiscard]] std::string decode_plain(const Declaration& last, const std::string& lvalue) const;
  [[nodiscard]] std::string encode_plain(const Declaration& last, const std::string& lvalue) const;

  const Schema& schema_;
  CppTypes types_;
};

}  // namespace braid::xdrc
