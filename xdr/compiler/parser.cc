#include "xdr/compiler/parser.h"

#include <algorithm>
#include <array>
#include <utility>

#include "xdr/compiler/lexer.h"
#include "xdr/compiler/numbers.h"

namespace braid::xdrc {
namespace {

using Kind = TypeSpecifier::Kind;
using Shape = Declaration::Shape;

constexpr std::array<std::string_view, 18> reserved = {
    "bool",      "case",   "const",  "default", "double", "enum",    "float", "hyper",    "int",
    "quadruple", "opaque", "string", "struct",  "switch", "typedef", "union", "unsigned", "void"};

bool is_reserved(std::string_view word) { return std::ranges::find(reserved, word) != reserved.end(); }

// The first error is kept and moves the cursor to the end of the file, so every loop ends soon after.
class Parser {
 public:
  Parser(File& file, std::vector<Token> tokens) : file_(file), tokens_(std::move(tokens)) {}

  base::Result<void, Diagnostic> run() {
    while (!at_end()) definition();
    if (error_) return base::fail(*error_);
    return {};
  }

 private:
  // Cursor.
  [[nodiscard]] const Token& here() const { return tokens_[next_]; }
  [[nodiscard]] bool at_end() const { return here().kind == Token::Kind::end; }
  [[nodiscard]] bool sees(std::string_view text) const {
    return here().kind != Token::Kind::text && here().kind != Token::Kind::end && here().text == text;
  }
  Token take() {
    const Token token = here();
    if (!at_end()) ++next_;
    return token;
  }
  bool accept(std::string_view text) {
    if (!sees(text)) return false;
    ++next_;
    return true;
  }
  void expect(std::string_view text, std::string_view where) {
    if (!accept(text)) fail_here("expected '" + std::string(text) + "' " + std::string(where));
  }
  void fail(Position at, std::string what) {
    if (!error_) error_ = Diagnostic{file_.path, at, std::move(what)};
    next_ = tokens_.size() - 1;
  }
  void fail_here(std::string what) {
    if (at_end()) {
      what += ", but the file ends";
    } else {
      what += ", but found '" + std::string(here().text) + "'";
    }
    fail(here().at, std::move(what));
  }

  std::string identifier(std::string_view what) {
    if (here().kind != Token::Kind::identifier) {
      fail_here("expected " + std::string(what));
      return {};
    }
    if (is_reserved(here().text)) {
      fail(here().at,
           "'" + std::string(here().text) + "' is a word of the language, not " + std::string(what));
      return {};
    }
    return std::string(take().text);
  }

  Value value(std::string_view what) {
    Value value{.at = here().at, .name = {}, .number = {}};
    if (here().kind == Token::Kind::number) {
      if (auto number = number_of(here().text)) {
        value.number = *number;
        take();
      } else {
        fail(here().at, "'" + std::string(here().text) + "' is not a number of 64 bits");
      }
    } else {
      value.name = identifier(what);
    }
    return value;
  }

  // Definitions.
  void definition() {
    const Position at = here().at;
    if (accept("import")) {
      import(at);
    } else if (accept("const")) {
      std::string name = identifier("the name of a constant");
      expect("=", "after the name of a constant");
      add(at, std::move(name), Constant{value("the value of a constant")});
      expect(";", "after a constant");
    } else if (accept("enum")) {
      std::string name = identifier("the name of an enum");
      add(at, std::move(name), enum_body());
      expect(";", "after an enum");
    } else if (accept("struct")) {
      std::string name = identifier("the name of a struct");
      Struct body = struct_body(name);
      add(at, std::move(name), std::move(body));
      expect(";", "after a struct");
    } else if (accept("union")) {
      std::string name = identifier("the name of a union");
      Union body = union_body(name);
      add(at, std::move(name), std::move(body));
      expect(";", "after a union");
    } else if (accept("typedef")) {
      type_definition(at);
    } else if (accept("program")) {
      program(at);
    } else {
      fail_here("expected const, enum, struct, union, typedef, program or import");
    }
  }

  template <class Body>
  void add(Position at, std::string name, Body body) {
    if (!error_) file_.definitions.push_back({at, std::move(name), std::move(body)});
  }

  void import(Position at) {
    if (here().kind != Token::Kind::text) {
      fail_here("expected the file to import between quotes");
      return;
    }
    file_.imports.push_back({at, std::string(take().text)});
    expect(";", "after an import");
  }

  // `typedef struct {...} name;` defines the struct under that name; everything else is an alias.
  void type_definition(Position at) {
    const bool body = body_follows();
    if (!body) {
      Declaration declaration = this->declaration("");
      if (declaration.type.kind == Kind::nothing) fail(declaration.at, "void has no name");
      std::string name = declaration.name;
      add(at, std::move(name), Typedef{std::move(declaration)});
      expect(";", "after a typedef");
      return;
    }
    const Token word = take();
    decltype(Definition::body) parsed;
    // Types inside need the name that comes last.
    const std::string name = name_after_body();
    if (word.text == "enum") {
      parsed = enum_body();
    } else if (word.text == "struct") {
      parsed = struct_body(name);
    } else {
      parsed = union_body(name);
    }
    const std::string written = identifier("the name of a type");
    add(at, written, std::move(parsed));
    expect(";", "after a typedef");
  }

  // The cursor is at the word enum, struct or union of a definition, not of a mention of the type.
  [[nodiscard]] bool body_follows() const {
    if (!sees("enum") && !sees("struct") && !sees("union")) return false;
    const Token& next = tokens_[std::min(next_ + 1, tokens_.size() - 1)];
    return next.text == "{" || (here().text == "union" && next.text == "switch");
  }

  // The identifier behind the closing brace that belongs to the body at the cursor.
  [[nodiscard]] std::string name_after_body() const {
    int depth = 0;
    for (std::size_t i = next_; i < tokens_.size(); ++i) {
      if (tokens_[i].text == "{") ++depth;
      if (tokens_[i].text != "}" || --depth != 0) continue;
      ++i;
      if (i < tokens_.size() && tokens_[i].text == "*") ++i;
      return i < tokens_.size() ? std::string(tokens_[i].text) : std::string();
    }
    return {};
  }

  Enum enum_body() {
    Enum body;
    expect("{", "before the enumerators");
    do {
      Enumerator one{.at = here().at, .name = identifier("an enumerator"), .value = {}};
      expect("=", "after an enumerator: XDR has no implicit values");
      one.value = value("the value of an enumerator");
      body.enumerators.push_back(std::move(one));
    } while (accept(","));
    expect("}", "after the enumerators");
    return body;
  }

  // `owner`: prefix for the names of types defined inside.
  Struct struct_body(const std::string& owner) {
    Struct body;
    expect("{", "before the members of a struct");
    do {
      Declaration member = declaration(owner);
      if (member.type.kind == Kind::nothing) fail(member.at, "a member of a struct cannot be void");
      body.members.push_back(std::move(member));
      expect(";", "after a member");
    } while (!at_end() && !sees("}"));
    expect("}", "after the members of a struct");
    return body;
  }

  Union union_body(const std::string& owner) {
    Union body;
    expect("switch", "before the discriminant of a union");
    expect("(", "before the discriminant of a union");
    body.discriminant = declaration(owner);
    expect(")", "after the discriminant of a union");
    expect("{", "before the arms of a union");
    do {
      body.arms.push_back(arm(owner));
      expect(";", "after an arm of a union");
    } while (!at_end() && !sees("}"));
    expect("}", "after the arms of a union");
    return body;
  }

  Arm arm(const std::string& owner) {
    Arm arm{.at = here().at, .labels = {}, .declaration = {}};
    if (accept("default")) {
      expect(":", "after default");
    } else {
      if (!sees("case")) fail_here("expected case or default");
      while (accept("case")) {
        arm.labels.push_back(value("the value of a case"));
        expect(":", "after the value of a case");
      }
    }
    arm.declaration = declaration(owner);
    return arm;
  }

  // Declarations.
  Declaration declaration(const std::string& owner) {
    Declaration result;
    result.at = here().at;
    if (accept("void")) return result;
    result.type = type(owner);
    if (accept("*")) result.shape = Shape::optional;
    result.at = here().at;
    result.name = identifier("a name");
    if (result.shape == Shape::plain) array(result);
    attributes(result);
    return result;
  }

  void array(Declaration& declaration) {
    if (sees("[") && !attribute_follows()) {
      take();
      declaration.shape = Shape::fixed;
      declaration.bound = value("the length of an array");
      expect("]", "after the length of an array");
    } else if (accept("<")) {
      declaration.shape = Shape::variable;
      if (!sees(">")) declaration.bound = value("the largest length of an array");
      expect(">", "after the largest length of an array");
    }
  }

  [[nodiscard]] bool attribute_follows() const {
    return sees("[") && tokens_[std::min(next_ + 1, tokens_.size() - 1)].text == "[";
  }

  void attributes(Declaration& declaration) {
    while (attribute_follows()) {
      take();
      take();
      do {
        attribute(declaration);
      } while (accept(","));
      expect("]", "after an attribute");
      expect("]", "after an attribute");
    }
  }

  void attribute(Declaration& declaration) {
    if (accept("payload")) {
      declaration.payload = true;
    } else if (accept("ddp")) {
      declaration.ddp = true;
    } else if (accept("max")) {
      expect("(", "after max");
      declaration.max = value("a limit");
      expect(")", "after a limit");
    } else {
      fail_here("expected the attribute payload, ddp or max(N)");
    }
  }

  TypeSpecifier type(const std::string& owner) {
    TypeSpecifier type{.at = here().at, .kind = Kind::named, .name = {}};
    if (accept("unsigned")) {
      type.kind = accept("hyper") ? Kind::unsigned_hyper : Kind::unsigned_int;
      if (type.kind == Kind::unsigned_int) accept("int");
    } else if (accept("int")) {
      type.kind = Kind::signed_int;
    } else if (accept("hyper")) {
      type.kind = Kind::hyper;
    } else if (accept("float")) {
      type.kind = Kind::floating;
    } else if (accept("double")) {
      type.kind = Kind::double_floating;
    } else if (accept("bool")) {
      type.kind = Kind::boolean;
    } else if (accept("string")) {
      type.kind = Kind::string;
    } else if (accept("opaque")) {
      type.kind = Kind::opaque;
    } else if (sees("quadruple")) {
      fail(here().at, "quadruple is not supported: C++ has no such type");
    } else if (sees("enum") || sees("struct") || sees("union")) {
      compound(type, owner);
    } else {
      type.name = identifier("a type");
    }
    return type;
  }

  // `struct {...} x` defines a type of its own; `struct x y` refers to one.
  void compound(TypeSpecifier& type, const std::string& owner) {
    const bool body = body_follows();
    const Token word = take();
    if (!body) {
      type.name = identifier("the name of a type");
      return;
    }
    const std::string name = owner + "_" + name_after_body();
    if (word.text == "enum") {
      add(type.at, name, enum_body());
    } else if (word.text == "struct") {
      Struct inner = struct_body(name);
      add(type.at, name, std::move(inner));
    } else {
      Union inner = union_body(name);
      add(type.at, name, std::move(inner));
    }
    type.name = name;
  }

  // Programs (RFC 5531 section 12).
  void program(Position at) {
    Program body;
    std::string name = identifier("the name of a program");
    expect("{", "before the versions of a program");
    do {
      body.versions.push_back(version());
      expect(";", "after a version");
    } while (!at_end() && !sees("}"));
    expect("}", "after the versions of a program");
    expect("=", "before the number of a program");
    body.number = value("the number of a program");
    add(at, std::move(name), std::move(body));
    expect(";", "after a program");
  }

  Version version() {
    Version version;
    version.at = here().at;
    expect("version", "in a program");
    version.name = identifier("the name of a version");
    expect("{", "before the procedures of a version");
    do {
      version.procedures.push_back(procedure());
      expect(";", "after a procedure");
    } while (!at_end() && !sees("}"));
    expect("}", "after the procedures of a version");
    expect("=", "before the number of a version");
    version.number = value("the number of a version");
    return version;
  }

  Procedure procedure() {
    Procedure procedure;
    procedure.result = procedure_type();
    procedure.at = here().at;
    procedure.name = identifier("the name of a procedure");
    expect("(", "before the arguments of a procedure");
    do {
      procedure.arguments.push_back(procedure_type());
    } while (accept(","));
    expect(")", "after the arguments of a procedure");
    expect("=", "before the number of a procedure");
    procedure.number = value("the number of a procedure");
    return procedure;
  }

  TypeSpecifier procedure_type() {
    if (sees("void")) return {.at = take().at, .kind = Kind::nothing, .name = {}};
    if (body_follows()) fail(here().at, "the types of a procedure are defined outside the program");
    return type("");
  }

  File& file_;
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  std::optional<Diagnostic> error_;
};

}  // namespace

base::Result<File, Diagnostic> parse(std::string path, std::string include_as, std::string_view source) {
  File file{.path = std::move(path), .include_as = std::move(include_as), .imports = {}, .definitions = {}};
  auto tokens = tokens_of(file.path, source);
  if (!tokens) return base::fail(tokens.error());
  if (auto parsed = Parser(file, std::move(*tokens)).run(); !parsed) return base::fail(parsed.error());
  return file;
}

}  // namespace braid::xdrc
