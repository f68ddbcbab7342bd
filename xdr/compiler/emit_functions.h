// Writes the functions that go with each type: decode, encode, encoded_size, operator==.
#pragma once

#include <string>

#include "xdr/compiler/codec_text.h"
#include "xdr/compiler/schema.h"

namespace braid::xdrc {

// Appends to header and source: small functions are inline in the header, others only declared there.
class FunctionEmitter {
 public:
  FunctionEmitter(const Schema& schema, std::string& header, std::string& source)
      : schema_(schema), types_(schema), codec_(schema), header_(header), source_(source) {}

  void emit(const Definition& definition, const Enum& list);
  void emit(const Definition& definition, const Struct& record);
  void emit(const Definition& definition, const Union& choice);
  // decode_NAME and so on, for an alias whose C++ type says too little to choose a function by.
  void emit(const Definition& definition, const Typedef& alias);

 private:
  void place(bool in_header, const std::string& signature, const std::string& body);
  std::string struct_decode(const Struct& record) const;
  std::string struct_size(const Struct& record) const;
  std::string struct_equal(const Struct& record) const;
  std::string union_decode(const std::string& name, const Union& choice) const;
  std::string union_encode(const std::string& name, const Union& choice) const;
  std::string union_size(const Union& choice, const Layout& layout) const;
  std::string union_equal(const Union& choice) const;
  std::string arm_value(std::size_t index, const std::string& object) const;

  const Schema& schema_;
  CppTypes types_;
  CodecText codec_;
  std::string& header_;
  std::string& source_;
};

}  // namespace braid::xdrc
