#include "xdr/compiler/checker.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "xdr/compiler/numbers.h"

namespace braid::xdrc {
namespace {

using Kind = TypeSpecifier::Kind;
using Shape = Declaration::Shape;

std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

// The first error is kept. Steps run in an order in which each may rely on what those before it found right.
class Checker {
 public:
  explicit Checker(Schema& schema) : schema_(schema) {}

  base::Result<void, Diagnostic> run() {
    each_file(&Checker::declare);
    each_file(&Checker::number);
    each_file(&Checker::check_names);
    each_file(&Checker::find_lists);
    each_file(&Checker::check_declarations);
    each_file(&Checker::check_programs);
    each_file(&Checker::order);
    if (error_) return base::fail(*error_);
    return {};
  }

 private:
  void each_file(void (Checker::*step)()) {
    for (const auto& file : schema_.files) {
      file_ = file.get();
      if (!error_) (this->*step)();
    }
  }
  void fail(Position at, std::string what) {
    if (!error_) error_ = Diagnostic{file_->path, at, std::move(what)};
  }

  // Every declaration in a type's body, typedefs included.
  template <class Body, class F>
  static void each_declaration(Body& body, F f) {
    if (auto* record = std::get_if<Struct>(&body)) {
      for (auto& member : record->members) f(member);
    } else if (auto* choice = std::get_if<Union>(&body)) {
      f(choice->discriminant);
      for (auto& arm : choice->arms) f(arm.declaration);
    } else if (auto* alias = std::get_if<Typedef>(&body)) {
      f(alias->declaration);
    }
  }

  // Names.
  void declare(const std::string& name, Position at, Symbol symbol) {
    const auto [where, added] = schema_.symbols.emplace(name, symbol);
    if (added) return;
    const Symbol& first = where->second;
    const Position& there = first.enumerator != nullptr ? first.enumerator->at : first.definition->at;
    fail(at, quoted(name) + " is already defined at " + first.file->path + ":" + std::to_string(there.line));
  }
  void declare() {
    for (Definition& definition : file_->definitions) {
      declare(definition.name, definition.at, {file_, &definition, nullptr});
      if (auto* list = std::get_if<Enum>(&definition.body)) {
        for (Enumerator& one : list->enumerators) declare(one.name, one.at, {file_, &definition, &one});
      }
      if (const auto* program = std::get_if<Program>(&definition.body)) {
        for (const Version& one : program->versions) declare(one.name, one.at, {file_, &definition, nullptr});
      }
    }
  }

  // Numbers. `depth` ends constants that are defined by each other.
  void resolve(Value& value, std::size_t depth = 0) {
    if (value.name.empty()) return;
    if (value.name == "TRUE" || value.name == "FALSE") {
      value.number = {.magnitude = value.name == "TRUE" ? 1U : 0U, .negative = false};
      return;
    }
    const Symbol* symbol = schema_.find(value.name);
    Value* source = nullptr;
    if (symbol != nullptr && symbol->enumerator != nullptr) {
      source = &symbol->enumerator->value;
    } else if (symbol != nullptr) {
      if (auto* constant = std::get_if<Constant>(&symbol->definition->body)) source = &constant->value;
    }
    if (source == nullptr) {
      fail(value.at, quoted(value.name) + (symbol == nullptr ? " is not defined" : " is not a constant"));
    } else if (depth > schema_.symbols.size()) {
      fail(value.at, quoted(value.name) + " is defined by itself");
    } else {
      resolve(*source, depth + 1);
      value.number = source->number;
    }
  }

  void number() {
    for (Definition& definition : file_->definitions) {
      if (auto* constant = std::get_if<Constant>(&definition.body)) resolve(constant->value);
      if (auto* list = std::get_if<Enum>(&definition.body)) number(*list);
      if (auto* choice = std::get_if<Union>(&definition.body)) {
        for (Arm& arm : choice->arms)
          for (Value& label : arm.labels) resolve(label);
      }
      each_declaration(definition.body, [&](Declaration& declaration) {
        if (declaration.bound) resolve(*declaration.bound);
        if (declaration.max) resolve(*declaration.max);
      });
    }
  }

  void number(Enum& list) {
    bool negative = false;
    for (Enumerator& one : list.enumerators) {
      resolve(one.value);
      negative = negative || one.value.number.negative;
      if (!fits_int32(one.value.number) && !fits_uint32(one.value.number))
        fail(one.value.at, quoted(one.name) + " does not fit 32 bits");
    }
    for (const Enumerator& one : list.enumerators) {
      if (negative && !fits_int32(one.value.number))
        fail(one.value.at, quoted(one.name) + " is above 2^31-1 in an enum with negative values");
    }
  }

  // Types by name, and typedefs that end somewhere.
  void check_type(const TypeSpecifier& type) {
    if (type.kind != Kind::named) return;
    const Symbol* symbol = schema_.find(type.name);
    if (symbol == nullptr) return fail(type.at, "the type " + quoted(type.name) + " is not defined");
    if (symbol->enumerator != nullptr || std::holds_alternative<Constant>(symbol->definition->body) ||
        std::holds_alternative<Program>(symbol->definition->body))
      fail(type.at, quoted(type.name) + " is not a type");
  }

  void check_names() {
    for (const Definition& definition : file_->definitions) {
      each_declaration(definition.body,
                       [&](const Declaration& declaration) { check_type(declaration.type); });
    }
    if (error_) return;
    for (const Definition& definition : file_->definitions) {
      const auto* alias = std::get_if<Typedef>(&definition.body);
      for (std::size_t steps = 0; alias != nullptr; ++steps) {
        const Declaration& to = alias->declaration;
        if (steps > schema_.symbols.size())
          return fail(definition.at, quoted(definition.name) + " is an alias of itself");
        if (to.shape != Shape::plain || to.type.kind != Kind::named) break;
        alias = std::get_if<Typedef>(&schema_.find(to.type.name)->definition->body);
      }
    }
  }

  // `struct node { T x; node *next; };`: the pointer goes, the node is marked.
  void find_lists() {
    for (Definition& definition : file_->definitions) {
      auto* record = std::get_if<Struct>(&definition.body);
      if (record == nullptr) continue;
      auto points_to_node = [&](const Declaration& member) {
        const Declaration& last = schema_.resolved(member);
        return last.shape == Shape::optional && schema_.compound(last.type) == &definition;
      };
      if (!points_to_node(record->members.back())) continue;
      if (std::ranges::count_if(record->members, points_to_node) > 1) continue;
      if (record->members.size() == 1)
        return fail(definition.at, quoted(definition.name) + " holds only itself");
      record->members.pop_back();
      record->list_node = true;
    }
  }

  // Declarations.
  void check_declarations() {
    for (const Definition& definition : file_->definitions) {
      each_declaration(definition.body,
                       [&](const Declaration& declaration) { check_declaration(declaration); });
      if (const auto* record = std::get_if<Struct>(&definition.body)) {
        std::set<std::string_view> names;
        for (const Declaration& member : record->members) {
          if (!names.insert(member.name).second)
            fail(member.at, quoted(definition.name) + " has two members " + quoted(member.name));
        }
      }
      if (const auto* choice = std::get_if<Union>(&definition.body)) check_union(definition, *choice);
    }
  }

  void check_declaration(const Declaration& declaration) {
    const bool opaque = declaration.type.kind == Kind::opaque;
    const bool string = declaration.type.kind == Kind::string;
    const std::string name = quoted(declaration.name);
    if (string && declaration.shape != Shape::variable)
      return fail(declaration.at, "the string " + name + " needs a length: <N> or <>");
    if (opaque && declaration.shape != Shape::variable && declaration.shape != Shape::fixed)
      return fail(declaration.at, "the opaque data " + name + " needs a length: [N], <N> or <>");
    if (declaration.payload && (!opaque || declaration.shape != Shape::variable))
      fail(declaration.at, "payload is for opaque data of variable length, not for " + name);
    if (declaration.ddp && !ddp_possible(schema_.resolved(declaration)))
      fail(declaration.at, "ddp is for payload and strings, not for " + name);
    for (const auto* value : {&declaration.bound, &declaration.max}) {
      if (*value && !fits_uint32((*value)->number)) fail((*value)->at, "a length is a number of 32 bits");
    }
    if (declaration.shape == Shape::fixed && declaration.bound->number.magnitude == 0)
      fail(declaration.bound->at, "an array has at least one element");
    check_limit(declaration);
  }

  static bool ddp_possible(const Declaration& resolved) {
    return resolved.shape == Shape::variable && (resolved.payload || resolved.type.kind == Kind::string);
  }

  void check_limit(const Declaration& declaration) {
    const std::string name = quoted(declaration.name);
    const bool list = schema_.is_list(declaration);
    if (declaration.max && declaration.shape != Shape::variable && !list)
      return fail(declaration.max->at, "max is for data of variable length, not for " + name);
    if (list && !declaration.max)
      return fail(declaration.at, "the list " + name + " needs a limit: [[max(N)]]");
    if (declaration.shape == Shape::variable && !declaration.bound && !declaration.max)
      return fail(declaration.at, name + " has no limit: write <N> or [[max(N)]]");
    if (declaration.bound && declaration.max &&
        declaration.max->number.magnitude > declaration.bound->number.magnitude)
      fail(declaration.max->at, "max is above the length that " + name + " may have");
  }

  // Unions.
  void check_union(const Definition& definition, const Union& choice) {
    const Declaration& tag = schema_.resolved(choice.discriminant);
    const Definition* named = tag.type.kind == Kind::named ? schema_.compound(tag.type) : nullptr;
    const Enum* list = named == nullptr ? nullptr : std::get_if<Enum>(&named->body);
    const bool plain = tag.type.kind == Kind::signed_int || tag.type.kind == Kind::unsigned_int ||
                       tag.type.kind == Kind::boolean || list != nullptr;
    if (tag.shape != Shape::plain || !plain)
      return fail(choice.discriminant.at, "a discriminant is an int, unsigned int, bool or enum");
    std::set<std::pair<bool, std::uint64_t>> seen;
    std::set<std::string_view> names{choice.discriminant.name};
    bool has_default = false;
    for (const Arm& arm : choice.arms) {
      if (arm.labels.empty() && std::exchange(has_default, true)) fail(arm.at, "a union has one default");
      if (!arm.declaration.name.empty() && !names.insert(arm.declaration.name).second)
        fail(arm.declaration.at,
             quoted(definition.name) + " has two members " + quoted(arm.declaration.name));
      for (const Value& label : arm.labels) {
        if (!seen.insert({label.number.negative, label.number.magnitude}).second)
          fail(label.at, "a second case of the same value");
        check_label(tag, named, list, label);
      }
    }
  }

  void check_label(const Declaration& tag, const Definition* named, const Enum* list, const Value& label) {
    if (list != nullptr) {
      auto is_label = [&](const Enumerator& one) { return one.value.number == label.number; };
      if (std::ranges::none_of(list->enumerators, is_label))
        fail(label.at, "the case is not a value of the enum " + quoted(named->name));
    } else if (tag.type.kind == Kind::boolean        ? label.number.negative || label.number.magnitude > 1
               : tag.type.kind == Kind::unsigned_int ? !fits_uint32(label.number)
                                                     : !fits_int32(label.number)) {
      fail(label.at, "the case is not a value of the discriminant");
    }
  }

  // Programs.
  void check_programs() {
    for (Definition& definition : file_->definitions) {
      auto* program = std::get_if<Program>(&definition.body);
      if (program == nullptr) continue;
      resolve32(program->number);
      for (Version& version : program->versions) check_version(version);
    }
  }

  void check_version(Version& version) {
    resolve32(version.number);
    std::set<std::string_view> names;
    std::set<std::uint64_t> numbers;
    for (Procedure& procedure : version.procedures) {
      resolve32(procedure.number);
      if (!names.insert(procedure.name).second)
        fail(procedure.at, "a second procedure " + quoted(procedure.name));
      if (!numbers.insert(procedure.number.number.magnitude).second)
        fail(procedure.number.at, "a second procedure of the same number");
      check_type(procedure.result);
      for (const TypeSpecifier& argument : procedure.arguments) check_type(argument);
    }
  }

  void resolve32(Value& value) {
    resolve(value);
    if (!fits_uint32(value.number)) fail(value.at, "program, version and procedure numbers have 32 bits");
  }

  // Order and layout: a type comes behind what it contains; one that contains itself has no end.
  void order() {
    schema_.types.clear();
    for (const Definition& definition : file_->definitions) {
      if (std::holds_alternative<Constant>(definition.body) ||
          std::holds_alternative<Program>(definition.body))
        continue;
      visit(definition, definition.at);
    }
  }

  void visit(const Definition& definition, Position from) {
    if (error_ || schema_.layouts.contains(&definition)) return;
    if (!open_.insert(&definition).second) {
      return fail(
          from,
          quoted(definition.name) +
              " contains itself; only a list whose last member is the pointer to the next is supported");
    }
    each_declaration(definition.body, [&](const Declaration& declaration) {
      if (declaration.type.kind == Kind::named)
        visit(*schema_.find(declaration.type.name)->definition, declaration.type.at);
    });
    open_.erase(&definition);
    if (error_) return;
    schema_.layouts[&definition] = layout_of(definition);
    schema_.types.push_back(&definition);
  }

  Layout layout_of(const Definition& definition) {
    Layout all;
    if (const auto* record = std::get_if<Struct>(&definition.body)) {
      for (const Declaration& member : record->members) append(all, part(member));
    } else if (const auto* choice = std::get_if<Union>(&definition.body)) {
      all = arms_of(*choice);
    } else if (const auto* alias = std::get_if<Typedef>(&definition.body)) {
      all = part(alias->declaration);
    } else {
      all = {.bytes_min = 4, .bytes_max = 4, .steps = 1, .trivial = true};
    }
    return all;
  }

  Layout arms_of(const Union& choice) {
    Layout all = part(choice.discriminant);
    Layout arms{.bytes_min = std::numeric_limits<std::uint64_t>::max()};
    for (const Arm& arm : choice.arms) {
      const Layout one = part(arm.declaration);
      arms.bytes_min = std::min(arms.bytes_min, one.bytes_min);
      arms.bytes_max = std::max(arms.bytes_max, one.bytes_max);
      arms.steps += one.steps + 1;
      arms.trivial = arms.trivial && one.trivial;
    }
    append(all, arms);
    return all;
  }

  Layout part(const Declaration& declaration) {
    const Layout layout = schema_.layout_of(declaration);
    const Declaration& last = schema_.resolved(declaration);
    const bool repeated =
        last.shape == Shape::fixed || last.shape == Shape::variable || schema_.is_list(last);
    if (repeated && last.type.kind != Kind::opaque && last.type.kind != Kind::string) {
      const Layout one = schema_.layout_of(element_of(last));
      if (!one.trivial)
        fail(declaration.at, "the elements of " + quoted(declaration.name) + " may not hold payload");
      if (one.bytes_min == 0)
        fail(declaration.at, "the elements of " + quoted(declaration.name) + " are empty");
    }
    return layout;
  }

  static void append(Layout& all, const Layout& next) {
    const auto max = std::numeric_limits<std::uint64_t>::max();
    all.bytes_min += next.bytes_min;
    all.bytes_max = all.bytes_max > max - next.bytes_max ? max : all.bytes_max + next.bytes_max;
    all.steps += next.steps;
    all.trivial = all.trivial && next.trivial;
  }

  Schema& schema_;
  File* file_ = nullptr;
  std::set<const Definition*> open_;  // being ordered
  std::optional<Diagnostic> error_;
};

}  // namespace

base::Result<void, Diagnostic> check(Schema& schema) { return Checker(schema).run(); }

}  // namespace braid::xdrc
