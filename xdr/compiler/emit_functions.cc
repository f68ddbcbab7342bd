#include "xdr/compiler/emit_functions.h"

#include <set>
#include <utility>

namespace braid::xdrc {
namespace {

// Types that take more steps than this are decoded and encoded by functions in the source file: inlining them
// everywhere would cost more than the calls.
constexpr std::uint32_t inline_steps_max = 8;

std::string plus(const std::vector<std::string>& terms, std::uint64_t constant) {
  std::string sum;
  if (constant != 0 || terms.empty()) sum = std::to_string(constant);
  for (const std::string& term : terms) sum += (sum.empty() ? "" : " + ") + term;
  return sum;
}

}  // namespace

void FunctionEmitter::place(bool in_header, const std::string& signature, const std::string& body) {
  if (in_header) {
    header_ += "inline " + signature + " {\n" + body + "}\n";
  } else {
    header_ += signature + ";\n";
    source_ += signature + " {\n" + body + "}\n\n";
  }
}

// Enums.
void FunctionEmitter::emit(const Definition& definition, const Enum& list) {
  const std::string name = identifier_of(definition.name, Scope::space);
  std::string known;
  std::string names;
  std::set<std::pair<bool, std::uint64_t>> seen;
  for (const Enumerator& one : list.enumerators) {
    if (!seen.insert({one.value.number.negative, one.value.number.magnitude}).second) continue;
    const std::string text = name + "::" + identifier_of(one.name, Scope::record);
    known += "    case " + text + ":\n";
    names += "    case " + text + ": return \"" + one.name + "\";\n";
  }
  const std::string rep = representation_of(list);
  const std::string method = rep == "std::int32_t" ? "i32" : "u32";
  place(false, "std::string_view name_of(" + name + " value)",
        "  switch (value) {\n" + names + "  }\n  return \"unknown\";\n");
  place(list.enumerators.size() <= inline_steps_max, "bool decode(xdr::Decoder& in, " + name + "& out)",
        "  " + rep + " number;\n  if (!in." + method + "(number)) return false;\n  out = static_cast<" +
            name + ">(number);\n  switch (out) {\n" + known +
            "      return true;\n  }\n  return in.fail(xdr::Error::value);\n");
  place(true, "void encode(xdr::Encoder& out, " + name + " value)",
        "  out." + method + "(static_cast<" + rep + ">(value));\n");
  place(true, "constexpr std::size_t encoded_size(" + name + ")", "  return 4;\n");
}

// Structs.
std::string FunctionEmitter::struct_decode(const Struct& record) const {
  std::string all;
  for (const Declaration& member : record.members) {
    all += (all.empty() ? "  return " : " &&\n         ") +
           codec_.decode(member, "out." + identifier_of(member.name, Scope::record));
  }
  return all + ";\n";
}

std::string FunctionEmitter::struct_size(const Struct& record) const {
  std::uint64_t constant = 0;
  std::vector<std::string> terms;
  for (const Declaration& member : record.members) {
    const Layout layout = schema_.layout_of(member);
    if (layout.bytes_min == layout.bytes_max) {
      constant += layout.bytes_min;
    } else {
      terms.push_back(codec_.size(member, "value." + identifier_of(member.name, Scope::record)));
    }
  }
  return plus(terms, constant);
}

std::string FunctionEmitter::struct_equal(const Struct& record) const {
  std::string all;
  for (const Declaration& member : record.members) {
    const std::string name = identifier_of(member.name, Scope::record);
    all += (all.empty() ? "  return " : " &&\n         ") +
           codec_.equal(member, "left." + name, "right." + name);
  }
  return all + ";\n";
}

void FunctionEmitter::emit(const Definition& definition, const Struct& record) {
  const std::string name = identifier_of(definition.name, Scope::space);
  const Layout& layout = schema_.layouts.at(&definition);
  const bool small = layout.steps <= inline_steps_max;
  std::string encode;
  for (const Declaration& member : record.members)
    encode += codec_.encode(member, "value." + identifier_of(member.name, Scope::record), "  ");
  place(small, "bool decode(xdr::Decoder& in, " + name + "& out)", struct_decode(record));
  place(small, "void encode(xdr::Encoder& out, const " + name + "& value)", encode);
  if (layout.bytes_min == layout.bytes_max) {
    place(true, "constexpr std::size_t encoded_size(const " + name + "&)",
          "  return " + std::to_string(layout.bytes_min) + ";\n");
  } else {
    place(small, "std::size_t encoded_size(const " + name + "& value)",
          "  return " + struct_size(record) + ";\n");
  }
  place(false, "bool operator==(const " + name + "& left, const " + name + "& right)", struct_equal(record));
}

// Unions. Arms are told apart by their index, so that two arms may have one type.
std::string FunctionEmitter::arm_value(std::size_t index, const std::string& object) const {
  return "(*std::get_if<" + std::to_string(index) + ">(&" + object + ".body))";
}

std::string FunctionEmitter::union_decode(const std::string& name, const Union& choice) const {
  const std::string tag = "out." + identifier_of(choice.discriminant.name, Scope::choice);
  std::string text = "  if (!" + codec_.decode(choice.discriminant, tag) + ") return false;\n  switch (" +
                     name + "::arm_of(" + tag + ")) {\n";
  for (std::size_t i = 0; i < choice.arms.size(); ++i) {
    const Declaration& arm = choice.arms[i].declaration;
    const std::string emplace = "out.body.emplace<" + std::to_string(i) + ">()";
    text += "    case " + std::to_string(i) + ": ";
    if (arm.type.kind == TypeSpecifier::Kind::nothing) {
      text += emplace + "; return true;\n";
    } else {
      text += "return " + codec_.decode(arm, emplace) + ";\n";
    }
  }
  return text + "    default: return in.fail(xdr::Error::value);\n  }\n";
}

std::string FunctionEmitter::union_encode(const std::string& name, const Union& choice) const {
  const std::string tag = "value." + identifier_of(choice.discriminant.name, Scope::choice);
  std::string text = "  base::check(" + name + "::arm_of(" + tag + ") == value.body.index(), \"" + name +
                     ": the body is not that of the discriminant\");\n" +
                     codec_.encode(choice.discriminant, tag, "  ") + "  switch (value.body.index()) {\n";
  for (std::size_t i = 0; i < choice.arms.size(); ++i) {
    const Declaration& arm = choice.arms[i].declaration;
    if (arm.type.kind == TypeSpecifier::Kind::nothing) continue;
    text += "    case " + std::to_string(i) + ": {\n      const auto& arm = " + arm_value(i, "value") +
            ";\n" + codec_.encode(arm, "arm", "      ") + "      break;\n    }\n";
  }
  return text + "    default: break;\n  }\n";
}

std::string FunctionEmitter::union_size(const Union& choice, const Layout& layout) const {
  if (layout.bytes_min == layout.bytes_max) return "  return " + std::to_string(layout.bytes_min) + ";\n";
  std::string text = "  switch (value.body.index()) {\n";
  for (std::size_t i = 0; i < choice.arms.size(); ++i) {
    const Declaration& arm = choice.arms[i].declaration;
    if (arm.type.kind == TypeSpecifier::Kind::nothing) continue;
    const Layout one = schema_.layout_of(arm);
    text += "    case " + std::to_string(i) + ": return ";
    if (one.bytes_min == one.bytes_max) {
      text += std::to_string(4 + one.bytes_min) + ";\n";
    } else {
      text += "4 + " + codec_.size(arm, arm_value(i, "value")) + ";\n";
    }
  }
  return text + "    default: return 4;\n  }\n";
}

std::string FunctionEmitter::union_equal(const Union& choice) const {
  const std::string tag = identifier_of(choice.discriminant.name, Scope::choice);
  std::string text =
      "  if (left." + tag + " != right." + tag +
      " || left.body.index() != right.body.index()) return false;\n  switch (left.body.index()) {\n";
  for (std::size_t i = 0; i < choice.arms.size(); ++i) {
    const Declaration& arm = choice.arms[i].declaration;
    if (arm.type.kind == TypeSpecifier::Kind::nothing) continue;
    text += "    case " + std::to_string(i) + ": return " +
            codec_.equal(arm, arm_value(i, "left"), arm_value(i, "right")) + ";\n";
  }
  return text + "    default: return true;\n  }\n";
}

void FunctionEmitter::emit(const Definition& definition, const Union& choice) {
  const std::string name = identifier_of(definition.name, Scope::space);
  const Layout& layout = schema_.layouts.at(&definition);
  const bool small = layout.steps <= inline_steps_max;
  const bool fixed = layout.bytes_min == layout.bytes_max;
  place(small, "bool decode(xdr::Decoder& in, " + name + "& out)", union_decode(name, choice));
  place(small, "void encode(xdr::Encoder& out, const " + name + "& value)", union_encode(name, choice));
  place(small || fixed, "std::size_t encoded_size(const " + name + "&" + (fixed ? ")" : " value)"),
        union_size(choice, layout));
  place(false, "bool operator==(const " + name + "& left, const " + name + "& right)", union_equal(choice));
}

// Aliases.
void FunctionEmitter::emit(const Definition& definition, const Typedef& alias) {
  const Declaration& last = schema_.resolved(alias.declaration);
  if (last.shape == Declaration::Shape::plain && last.type.kind == TypeSpecifier::Kind::named) return;
  const std::string name = identifier_of(definition.name, Scope::space);
  const Layout& layout = schema_.layouts.at(&definition);
  place(true, "bool decode_" + name + "(xdr::Decoder& in, " + name + "& out)",
        "  return " + codec_.decode(last, "out") + ";\n");
  place(true, "void encode_" + name + "(xdr::Encoder& out, const " + name + "& value)",
        codec_.encode(last, "value", "  "));
  const bool fixed = layout.bytes_min == layout.bytes_max;
  place(true, "std::size_t encoded_size_" + name + "(const " + name + "&" + (fixed ? ")" : " value)"),
        "  return " + codec_.size(last, "value") + ";\n");
}

}  // namespace braid::xdrc
