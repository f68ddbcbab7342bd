#include "xdr/compiler/emit_types.h"

#include <algorithm>
#include <limits>

#include "xdr/compiler/numbers.h"

namespace braid::xdrc {
namespace {

using Kind = TypeSpecifier::Kind;
using Shape = Declaration::Shape;

std::string text_of(const Number& number) {
  return (number.negative ? "-" : "") + std::to_string(number.magnitude);
}

bool is_void(const Declaration& declaration) { return declaration.type.kind == Kind::nothing; }

// A member named like a type that this scope uses would change that name's meaning; types are then written in
// full.
bool hides(const std::vector<const Declaration*>& members) {
  return std::ranges::any_of(members, [&](const Declaration* a) {
    return std::ranges::any_of(
        members, [&](const Declaration* b) { return !a->name.empty() && a->name == b->type.name; });
  });
}

// The discriminant of a union that nobody has set: 0 where that is a value, else the first value there is.
Number first_value(const Schema& schema, const Declaration& tag) {
  if (tag.type.kind != Kind::named) return {};
  const auto& list = std::get<Enum>(schema.compound(tag.type)->body).enumerators;
  auto zero = std::ranges::find_if(list, [](const Enumerator& one) { return one.value.number == Number{}; });
  return zero == list.end() ? list.front().value.number : zero->value.number;
}

}  // namespace

void TypeEmitter::emit(const Definition& definition, const Constant& constant) {
  const Number& number = constant.value.number;
  std::string type = fits_uint32(number) ? "std::uint32_t"
                     : number.negative   ? "std::int64_t"
                                         : "std::uint64_t";
  if (number.negative && fits_int32(number)) type = "std::int32_t";
  std::string text = text_of(number);
  if (type == "std::uint64_t") text += "U";
  if (number.negative && number.magnitude == std::uint64_t{1} << 63)
    text = "std::numeric_limits<std::int64_t>::min()";
  header_ +=
      "inline constexpr " + type + " " + identifier_of(definition.name, Scope::space) + " = " + text + ";\n";
}

void TypeEmitter::emit(const Definition& definition, const Enum& list) {
  header_ +=
      "enum class " + identifier_of(definition.name, Scope::space) + " : " + representation_of(list) + " {\n";
  for (const Enumerator& one : list.enumerators)
    header_ += "  " + identifier_of(one.name, Scope::record) + " = " + text_of(one.value.number) + ",\n";
  header_ += "};\n";
}

void TypeEmitter::bytes_max(const Definition& definition) {
  const std::uint64_t bytes = schema_.layouts.at(&definition).bytes_max;
  if (bytes <= std::numeric_limits<std::int64_t>::max())
    header_ += "  static constexpr std::size_t encoded_bytes_max = " + std::to_string(bytes) + ";\n";
}

void TypeEmitter::emit(const Definition& definition, const Struct& record) {
  std::vector<const Declaration*> members;
  members.reserve(record.members.size());
  for (const Declaration& member : record.members) members.push_back(&member);
  const bool qualified = hides(members);
  header_ += "struct " + identifier_of(definition.name, Scope::space) + " {\n";
  bytes_max(definition);
  for (const Declaration& member : record.members)
    header_ +=
        "  " + types_.type_of(member, qualified) + " " + identifier_of(member.name, Scope::record) + "{};\n";
  header_ += "};\n";
}

// The index of the arm that belongs to a discriminant; std::variant_npos for one that no case names.
void TypeEmitter::arm_of(const Union& choice, const Declaration& tag, bool qualified) {
  header_ += "  static constexpr std::size_t arm_of(" + types_.type_of(choice.discriminant, qualified) +
             " discriminant) {\n";
  std::string otherwise = "std::variant_npos";
  std::string cases;
  for (std::size_t i = 0; i < choice.arms.size(); ++i) {
    if (choice.arms[i].labels.empty()) otherwise = std::to_string(i);
    for (const Value& label : choice.arms[i].labels)
      cases +=
          "    if (discriminant == " + types_.label_of(tag, label) + ") return " + std::to_string(i) + ";\n";
  }
  header_ += cases + "    return " + otherwise + ";\n  }\n";
}

void TypeEmitter::factory(const std::string& name, const Union& choice, std::size_t index, bool qualified) {
  const Arm& arm = choice.arms[index];
  const Declaration& tag = schema_.resolved(choice.discriminant);
  std::vector<Value> labels = arm.labels;
  if (labels.empty() && tag.type.kind == Kind::boolean && choice.arms.size() == 2) {
    const bool rest = choice.arms[1 - index].labels.front().number.magnitude == 0;
    labels = {Value{.at = arm.at, .name = rest ? "TRUE" : "FALSE", .number = {.magnitude = rest ? 1U : 0U}}};
  }
  std::string suffix = arm.declaration.name;
  if (is_void(arm.declaration) && labels.empty()) suffix = "default";
  if (is_void(arm.declaration) && !labels.empty()) {
    const Value& first = labels.front();
    suffix = !first.name.empty()
                 ? first.name
                 : (first.number.negative ? "minus_" : "") + std::to_string(first.number.magnitude);
  }
  std::string parameters;
  if (labels.size() != 1) parameters = types_.type_of(choice.discriminant, qualified) + " discriminant";
  if (!is_void(arm.declaration)) {
    if (!parameters.empty()) parameters += ", ";
    parameters += types_.type_of(arm.declaration, qualified) + " initial";
  }
  const std::string at = std::to_string(index);
  header_ += "  static " + name + " with_" + suffix + "(" + parameters + ") {\n    " + name + " made;\n";
  if (labels.size() != 1) {
    header_ += "    base::check(arm_of(discriminant) == " + at + ", \"" + name +
               ": not a discriminant of this arm\");\n";
  }
  header_ += "    made." + identifier_of(choice.discriminant.name, Scope::choice) + " = " +
             (labels.size() == 1 ? types_.label_of(tag, labels.front()) : "discriminant") + ";\n";
  header_ +=
      "    made.body.emplace<" + at + ">(" + (is_void(arm.declaration) ? "" : "std::move(initial)") + ");\n";
  header_ += "    return made;\n  }\n";
}

void TypeEmitter::accessor(const Arm& arm, std::size_t index, bool qualified) {
  if (is_void(arm.declaration)) return;
  const std::string type = types_.type_of(arm.declaration, qualified);
  const std::string rest = "* " + identifier_of(arm.declaration.name, Scope::choice) + "()";
  const std::string get = " { return std::get_if<" + std::to_string(index) + ">(&body); }\n";
  header_ += "  " + type + rest + get + "  const " + type + rest + " const" + get;
}

void TypeEmitter::emit(const Definition& definition, const Union& choice) {
  const std::string name = identifier_of(definition.name, Scope::space);
  const Declaration& tag = schema_.resolved(choice.discriminant);
  std::vector<const Declaration*> members{&choice.discriminant};
  for (const Arm& arm : choice.arms) members.push_back(&arm.declaration);
  const bool qualified = hides(members);
  const Number first = first_value(schema_, tag);
  std::string alternatives;
  std::size_t initial = choice.arms.size();
  std::size_t otherwise = 0;
  for (std::size_t i = 0; i < choice.arms.size(); ++i) {
    const Arm& arm = choice.arms[i];
    alternatives += (i == 0 ? "" : ", ") + types_.type_of(arm.declaration, qualified);
    if (arm.labels.empty()) otherwise = i;
    if (std::ranges::any_of(arm.labels, [&](const Value& label) { return label.number == first; }))
      initial = i;
  }
  Number discriminant = first;
  if (initial == choice.arms.size()) {
    initial = otherwise;
    if (!choice.arms[otherwise].labels.empty()) discriminant = choice.arms[otherwise].labels.front().number;
  }
  header_ += "struct " + name + " {\n";
  bytes_max(definition);
  header_ += "  " + types_.type_of(choice.discriminant, qualified) + " " +
             identifier_of(choice.discriminant.name, Scope::choice) + " = " +
             types_.label_of(tag, Value{.at = {}, .name = {}, .number = discriminant}) + ";\n";
  header_ += "  std::variant<" + alternatives + "> body" +
             (initial == 0 ? "" : "{std::in_place_index<" + std::to_string(initial) + ">}") + ";\n\n";
  arm_of(choice, tag, qualified);
  for (std::size_t i = 0; i < choice.arms.size(); ++i) {
    factory(name, choice, i, qualified);
    accessor(choice.arms[i], i, qualified);
  }
  header_ += "};\n";
}

void TypeEmitter::emit(const Definition& definition, const Typedef& alias) {
  header_ += "using " + identifier_of(definition.name, Scope::space) + " = " +
             types_.type_of(alias.declaration) + ";\n";
}

std::string TypeEmitter::procedure_type(const TypeSpecifier& type) const {
  if (type.kind == Kind::nothing) return "void";
  Declaration plain;
  plain.type = type;
  return types_.type_of(plain);
}

void TypeEmitter::emit(const Definition& definition, const Program& program, std::string& source) {
  header_ += "inline constexpr std::uint32_t " + identifier_of(definition.name, Scope::space) + " = " +
             text_of(program.number.number) + ";\n";
  for (const Version& version : program.versions) {
    const std::string list = version.name + "_procedure";
    std::string names;
    header_ += "inline constexpr std::uint32_t " + identifier_of(version.name, Scope::space) + " = " +
               text_of(version.number.number) + ";\nenum class " + list + " : std::uint32_t {\n";
    for (const Procedure& procedure : version.procedures) {
      std::string arguments;
      for (const TypeSpecifier& type : procedure.arguments)
        arguments += (arguments.empty() ? "" : ", ") + procedure_type(type);
      header_ += "  " + identifier_of(procedure.name, Scope::record) + " = " +
                 text_of(procedure.number.number) + ",  // " + procedure_type(procedure.result) + " (" +
                 arguments + ")\n";
      names.append("    case ")
          .append(list)
          .append("::")
          .append(identifier_of(procedure.name, Scope::record));
      names.append(": return \"").append(procedure.name).append("\";\n");
    }
    header_ += "};\nstd::string_view name_of(" + list + " value);\n\n";
    source.append("std::string_view name_of(").append(list).append(" value) {\n  switch (value) {\n");
    source.append(names).append("  }\n  return \"unknown\";\n}\n\n");
  }
}

}  // namespace braid::xdrc
