// A protocol: the file to compile and those it imports, with all names resolved and all rules checked.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "xdr/compiler/ast.h"

namespace braid::xdrc {

// What a name of the one name space that RFC 4506 section 6.4 gives a specification stands for.
struct Symbol {
  const File* file = nullptr;
  Definition* definition = nullptr;
  Enumerator* enumerator = nullptr;  // of the enum `definition`
};

// Properties of a type or declaration that follow from its parts.
struct Layout {
  std::uint64_t bytes_min = 0;  // on the wire
  std::uint64_t bytes_max = 0;  // saturates
  std::uint32_t steps = 0;      // a measure for the code that decodes it
  bool trivial = true;          // its C++ type is trivially destructible: it has no payload
};

class Schema {
 public:
  // Imports before importers: the file to compile is the last.
  std::vector<std::unique_ptr<File>> files;
  std::unordered_map<std::string, Symbol> symbols;
  std::unordered_map<const Definition*, Layout> layouts;
  // The types of the last file, each behind those that it contains.
  std::vector<const Definition*> types;

  [[nodiscard]] const File& target() const { return *files.back(); }
  [[nodiscard]] const Symbol* find(const std::string& name) const;
  // The declaration behind plain typedefs: of `filename3 name`, `string filename3<>`.
  [[nodiscard]] const Declaration& resolved(const Declaration& declaration) const;
  // The struct, union or enum that a type specifier names, directly or through plain typedefs; else null.
  [[nodiscard]] const Definition* compound(const TypeSpecifier& type) const;
  // `T *x` of a linked-list node: a sequence. `declaration` is resolved.
  [[nodiscard]] bool is_list(const Declaration& declaration) const;
  [[nodiscard]] Layout layout_of(const Declaration& declaration) const;
};

// One of `declaration`'s elements, as a declaration.
Declaration element_of(const Declaration& declaration);
// Most bytes or elements of a resolved variable-length declaration; it has a limit.
const Value& limit_of(const Declaration& declaration);

// The text of an import, by the name it is included as.
using Reader = std::function<base::Result<std::string, std::string>(const std::string& include_as)>;

// Parses `source`, reads its imports with `read` (their path for diagnostics is their include name) and
// checks all.
base::Result<Schema, Diagnostic> load(std::string path, const std::string& include_as,
                                      std::string_view source, const Reader& read);

}  // namespace braid::xdrc
