// How names and declarations of XDR look in C++.
#pragma once

#include <string>
#include <string_view>

#include "xdr/compiler/schema.h"

namespace braid::xdrc {

// Where an XDR name becomes a C++ identifier; decides which names are taken.
enum class Scope : std::uint8_t {
  record,  // members of structs, enumerators: keywords are taken
  choice,  // members of unions: also what every union has
  space,   // types, constants: also variables of the generated functions
};
// Names that are taken get an underscore at their end.
std::string identifier_of(std::string_view name, Scope scope);

// The underlying type of an enum: that of XDR, std::int32_t, unless a value needs std::uint32_t.
std::string representation_of(const Enum& list);

class CppTypes {
 public:
  explicit CppTypes(const Schema& schema) : schema_(schema) {}

  // The C++ type of a declaration, or void. `qualified` says that a member of the same scope hides the plain
  // name.
  [[nodiscard]] std::string type_of(const Declaration& declaration, bool qualified = false) const;
  // A named type, constant or enumerator: with its namespace if it comes from another folder.
  [[nodiscard]] std::string name_of(const std::string& name, bool qualified = false) const;
  // An array bound or limit: a constant by its name, anything else as a number.
  [[nodiscard]] std::string length_of(const Value& value) const;
  // The value of the discriminant `tag` (resolved) for a case.
  [[nodiscard]] std::string label_of(const Declaration& tag, const Value& label) const;

 private:
  [[nodiscard]] std::string specifier(const TypeSpecifier& type, bool qualified) const;

  const Schema& schema_;
};

}  // namespace braid::xdrc
