// What an XDR file says, after parsing; the checker fills in the numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "xdr/compiler/diagnostic.h"

namespace braid::xdrc {

// Any value of XDR's integer types.
struct Number {
  std::uint64_t magnitude = 0;
  bool negative = false;
  friend bool operator==(const Number&, const Number&) = default;
};

// A number in the text, or the name of a constant or enumerator.
struct Value {
  Position at;
  std::string name;  // empty for a number in the text
  Number number;     // after checking, also that of the name
};

struct TypeSpecifier {
  enum class Kind : std::uint8_t {
    signed_int,
    unsigned_int,
    hyper,
    unsigned_hyper,
    floating,
    double_floating,
    boolean,
    string,
    opaque,
    nothing,  // void
    named,
  };
  Position at;
  Kind kind = Kind::nothing;
  std::string name;  // of kind named
};

struct Declaration {
  enum class Shape : std::uint8_t {
    plain,
    fixed,     // name[bound]
    variable,  // name<bound>
    optional,  // *name
  };
  Position at;
  std::string name;  // empty for void
  TypeSpecifier type;
  Shape shape = Shape::plain;
  std::optional<Value> bound;
  std::optional<Value> max;  // [[max(N)]]
  bool payload = false;      // [[payload]]
  bool ddp = false;          // [[ddp]]
};

struct Constant {
  Value value;
};
struct Enumerator {
  Position at;
  std::string name;
  Value value;
};
struct Enum {
  std::vector<Enumerator> enumerators;
};
struct Struct {
  std::vector<Declaration> members;
  // The linked-list idiom: the last member pointed to the next node; the checker has taken it away, and `T
  // *x` means a sequence of T.
  bool list_node = false;
};
struct Arm {
  Position at;
  std::vector<Value> labels;  // empty for the default arm
  Declaration declaration;
};
struct Union {
  Declaration discriminant;
  std::vector<Arm> arms;
};
struct Typedef {
  Declaration declaration;
};
struct Procedure {
  Position at;
  std::string name;
  TypeSpecifier result;
  std::vector<TypeSpecifier> arguments;
  Value number;
};
struct Version {
  Position at;
  std::string name;
  std::vector<Procedure> procedures;
  Value number;
};
struct Program {
  std::vector<Version> versions;
  Value number;
};

struct Definition {
  Position at;
  std::string name;
  std::variant<Constant, Enum, Struct, Union, Typedef, Program> body;
};

struct Import {
  Position at;
  std::string include_as;
};

struct File {
  std::string path;        // as given, for diagnostics
  std::string include_as;  // "nfs3/nfs3.x"
  std::vector<Import> imports;
  std::vector<Definition> definitions;

  // The C++ namespace inside braid: the folder, the last one of several.
  [[nodiscard]] std::string space() const {
    const std::string folder = include_as.substr(0, include_as.rfind('/'));
    return folder.substr(folder.rfind('/') + 1);
  }
};

}  // namespace braid::xdrc
