// Random valid messages, written from the .x file itself and not by generated code: a second opinion about
// the wire.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "base/bytes.h"
#include "xdr/compiler/schema.h"

namespace braid::xdr_tests {

// Reads and checks the .x file `include_as` of the source tree.
xdrc::Schema schema_of(const std::string& include_as);

class RandomWire {
 public:
  RandomWire(const xdrc::Schema& schema, std::uint32_t seed) : schema_(schema), random_(seed) {}

  // A message of the named type. Strings have no NUL bytes, so that C libraries can read them too.
  base::Bytes message(const std::string& type);
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

 private:
  void named(const xdrc::Definition& definition);
  void declaration(const xdrc::Declaration& declaration);
  void one_union(const xdrc::Union& choice);
  void octets(std::uint32_t count, bool text);
  void primitive(xdrc::TypeSpecifier::Kind kind);
  // Mostly small, sometimes none, sometimes as many as allowed.
  std::uint32_t length(std::uint32_t limit);
  void word(std::uint32_t value);

  const xdrc::Schema& schema_;
  std::mt19937 random_;
  base::Bytes out_;
};

}  // namespace braid::xdr_tests
