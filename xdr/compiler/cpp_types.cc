#include "xdr/compiler/cpp_types.h"

#include <algorithm>
#include <array>
#include <span>

#include "xdr/compiler/numbers.h"

namespace braid::xdrc {
namespace {

using Kind = TypeSpecifier::Kind;
using Shape = Declaration::Shape;

// C++ keywords that XDR does not reserve.
constexpr auto keywords = std::to_array<std::string_view>(
    {"alignas",      "alignof",       "and",         "and_eq",       "asm",
     "auto",         "bitand",        "bitor",       "break",        "catch",
     "char",         "char8_t",       "char16_t",    "char32_t",     "class",
     "co_await",     "co_return",     "co_yield",    "compl",        "concept",
     "const_cast",   "consteval",     "constexpr",   "constinit",    "continue",
     "decltype",     "delete",        "do",          "dynamic_cast", "else",
     "explicit",     "export",        "extern",      "false",        "for",
     "friend",       "goto",          "if",          "inline",       "long",
     "mutable",      "namespace",     "new",         "noexcept",     "not",
     "not_eq",       "nullptr",       "operator",    "or",           "or_eq",
     "private",      "protected",     "public",      "register",     "reinterpret_cast",
     "requires",     "return",        "short",       "signed",       "sizeof",
     "static",       "static_assert", "static_cast", "template",     "this",
     "thread_local", "throw",         "true",        "try",          "typeid",
     "typename",     "using",         "virtual",     "volatile",     "wchar_t",
     "while",        "xor",           "xor_eq"});
constexpr auto taken_in_unions = std::to_array<std::string_view>(
    {"arm_of", "body", "discriminant", "encoded_bytes_max", "initial", "made"});
constexpr auto taken_in_spaces = std::to_array<std::string_view>(
    {"arm",     "base",       "braid",       "decode", "discriminant", "encode", "encoded_size", "in",
     "initial", "io",         "item",        "item2",  "item3",        "left",   "made",         "name_of",
     "number",  "other_item", "other_item2", "out",    "right",        "std",    "value",        "xdr"});

bool has(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

std::string identifier_of(std::string_view name, Scope scope) {
  const bool taken = has(keywords, name) || (scope == Scope::choice && has(taken_in_unions, name)) ||
                     (scope == Scope::space && has(taken_in_spaces, name));
  return std::string(name) + (taken ? "_" : "");
}

std::string representation_of(const Enum& list) {
  auto fits = [](const Enumerator& one) { return fits_int32(one.value.number); };
  return std::ranges::all_of(list.enumerators, fits) ? "std::int32_t" : "std::uint32_t";
}

std::string CppTypes::name_of(const std::string& name, bool qualified) const {
  const Symbol& symbol = *schema_.find(name);
  std::string prefix;
  if (qualified || symbol.file->space() != schema_.target().space()) prefix = symbol.file->space() + "::";
  if (qualified) prefix = "braid::" + prefix;
  if (symbol.enumerator != nullptr) prefix += identifier_of(symbol.definition->name, Scope::space) + "::";
  return prefix + identifier_of(name, symbol.enumerator != nullptr ? Scope::record : Scope::space);
}

std::string CppTypes::specifier(const TypeSpecifier& type, bool qualified) const {
  switch (type.kind) {
    case Kind::signed_int:
      return "std::int32_t";
    case Kind::unsigned_int:
      return "std::uint32_t";
    case Kind::hyper:
      return "std::int64_t";
    case Kind::unsigned_hyper:
      return "std::uint64_t";
    case Kind::floating:
      return "float";
    case Kind::double_floating:
      return "double";
    case Kind::boolean:
      return "bool";
    case Kind::string:
      return "std::string_view";
    case Kind::opaque:
      return "std::byte";
    case Kind::nothing:
      return "std::monostate";
    case Kind::named:
      break;
  }
  return name_of(type.name, qualified);
}

std::string CppTypes::type_of(const Declaration& declaration, bool qualified) const {
  std::string one = specifier(declaration.type, qualified);
  switch (declaration.shape) {
    case Shape::plain:
      return one;
    case Shape::fixed:
      return "std::array<" + one + ", " + length_of(*declaration.bound) + ">";
    case Shape::optional:
      return (schema_.is_list(declaration) ? "std::span<const " : "std::optional<") + one + ">";
    case Shape::variable:
      break;
  }
  if (declaration.payload) return "io::Payload";
  if (declaration.type.kind == Kind::opaque) return "base::BytesView";
  if (declaration.type.kind == Kind::string) return one;
  return "std::span<const " + one + ">";
}

std::string CppTypes::length_of(const Value& value) const {
  const Symbol* symbol = value.name.empty() ? nullptr : schema_.find(value.name);
  if (symbol != nullptr && symbol->enumerator == nullptr) return name_of(value.name);
  return std::to_string(value.number.magnitude);
}

std::string CppTypes::label_of(const Declaration& tag, const Value& label) const {
  if (tag.type.kind == Kind::boolean) return label.number.magnitude == 1 ? "true" : "false";
  if (tag.type.kind != Kind::named)
    return (label.number.negative ? "-" : "") + std::to_string(label.number.magnitude);
  const Definition& list = *schema_.compound(tag.type);
  for (const Enumerator& one : std::get<Enum>(list.body).enumerators) {
    if (one.value.number == label.number) return name_of(one.name);
  }
  return {};
}

}  // namespace braid::xdrc
