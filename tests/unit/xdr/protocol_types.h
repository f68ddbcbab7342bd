// The types of every protocol behind one interface, so that a test can go through them all.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "xdr/decoder.h"
#include "xdr/encoder.h"

namespace braid::xdr_tests {

class Value {
 public:
  virtual ~Value() = default;
  virtual bool decode_from(xdr::Decoder& in) = 0;
  virtual void encode_to(xdr::Encoder& out) const = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual std::size_t size_max() const = 0;
  // `other` is of the same type.
  [[nodiscard]] virtual bool equals(const Value& other) const = 0;
};

struct ProtocolType {
  std::string name;
  std::unique_ptr<Value> (*make)() = nullptr;
};

// The structs, unions and enums of a .x file: "nfs3/nfs3.x" and so on.
std::span<const ProtocolType> types_of(const std::string& include_as);

}  // namespace braid::xdr_tests
