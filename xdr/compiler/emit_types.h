// Writes the C++ types: constants, enums, structs, unions, aliases, and the numbers of programs.
#pragma once

#include <string>

#include "xdr/compiler/cpp_types.h"
#include "xdr/compiler/schema.h"

namespace braid::xdrc {

class TypeEmitter {
 public:
  TypeEmitter(const Schema& schema, std::string& header) : schema_(schema), types_(schema), header_(header) {}

  void emit(const Definition& definition, const Constant& constant);
  void emit(const Definition& definition, const Enum& list);
  void emit(const Definition& definition, const Struct& record);
  void emit(const Definition& definition, const Union& choice);
  void emit(const Definition& definition, const Typedef& alias);
  // The functions name_of(...) of the procedure enums go to `source`.
  void emit(const Definition& definition, const Program& program, std::string& source);

 private:
  void arm_of(const Union& choice, const Declaration& tag, bool qualified);
  void factory(const std::string& name, const Union& choice, std::size_t index, bool qualified);
  void accessor(const Arm& arm, std::size_t index, bool qualified);
  void bytes_max(const Definition& definition);
  std::string procedure_type(const TypeSpecifier& type) const;

  const Schema& schema_;
  CppTypes types_;
  std::string& header_;
};

}  // namespace braid::xdrc
