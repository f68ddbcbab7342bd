#include "xdr/compiler/schema.h"

#include <algorithm>
#include <limits>

#include "xdr/compiler/checker.h"
#include "xdr/compiler/parser.h"

namespace braid::xdrc {
namespace {

using Kind = TypeSpecifier::Kind;
using Shape = Declaration::Shape;

constexpr std::uint64_t unbounded = std::numeric_limits<std::uint64_t>::max();

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  return a > unbounded - b ? unbounded : a + b;
}
std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > unbounded / b ? unbounded : a * b;
}
constexpr std::uint64_t padded(std::uint64_t bytes) { return (bytes + 3) / 4 * 4; }

Layout primitive_layout(Kind kind) {
  switch (kind) {
    case Kind::hyper:
    case Kind::unsigned_hyper:
    case Kind::double_floating:
      return {.bytes_min = 8, .bytes_max = 8, .steps = 1};
    case Kind::nothing:
      return {};
    default:
      return {.bytes_min = 4, .bytes_max = 4, .steps = 1};
  }
}

class Loader {
 public:
  Loader(Schema& schema, const Reader& read) : schema_(schema), read_(read) {}

  base::Result<void, Diagnostic> load(std::string path, const std::string& include_as,
                                      std::string_view source) {
    auto parsed = parse(std::move(path), include_as, source);
    if (!parsed) return base::fail(parsed.error());
    open_.push_back(include_as);
    for (const Import& import : parsed->imports) {
      if (auto loaded = load_import(parsed->path, import); !loaded) return loaded;
    }
    open_.pop_back();
    schema_.files.push_back(std::make_unique<File>(std::move(*parsed)));
    return {};
  }

 private:
  base::Result<void, Diagnostic> load_import(const std::string& path, const Import& import) {
    auto is_import = [&](const auto& file) { return file->include_as == import.include_as; };
    if (std::ranges::any_of(schema_.files, is_import)) return {};
    if (std::ranges::find(open_, import.include_as) != open_.end()) {
      return base::fail(Diagnostic{path, import.at, "'" + import.include_as + "' imports itself"});
    }
    auto text = read_(import.include_as);
    if (!text) return base::fail(Diagnostic{path, import.at, text.error()});
    return load(import.include_as, import.include_as, *text);
  }

  Schema& schema_;
  const Reader& read_;
  std::vector<std::string> open_;  // files whose imports are being read
};

}  // namespace

const Symbol* Schema::find(const std::string& name) const {
  auto found = symbols.find(name);
  return found == symbols.end() ? nullptr : &found->second;
}

const Declaration& Schema::resolved(const Declaration& declaration) const {
  const Declaration* at = &declaration;
  while (at->shape == Shape::plain && at->type.kind == Kind::named) {
    const auto* alias = std::get_if<Typedef>(&find(at->type.name)->definition->body);
    if (alias == nullptr) break;
    at = &alias->declaration;
  }
  return *at;
}

const Definition* Schema::compound(const TypeSpecifier& type) const {
  Declaration plain;
  plain.type = type;
  const Declaration& last = resolved(plain);
  if (last.shape != Shape::plain || last.type.kind != Kind::named) return nullptr;
  return find(last.type.name)->definition;
}

bool Schema::is_list(const Declaration& declaration) const {
  if (declaration.shape != Shape::optional) return false;
  const Definition* node = compound(declaration.type);
  const auto* body = node == nullptr ? nullptr : std::get_if<Struct>(&node->body);
  return body != nullptr && body->list_node;
}

Layout Schema::layout_of(const Declaration& declaration) const {
  const Declaration& last = resolved(declaration);
  const bool bytes = last.type.kind == Kind::opaque || last.type.kind == Kind::string;
  if (bytes && last.shape == Shape::fixed) {
    const std::uint64_t length = padded(last.bound->number.magnitude);
    return {.bytes_min = length, .bytes_max = length, .steps = 1};
  }
  if (bytes) {
    const std::uint64_t most = saturating_add(4, padded(limit_of(last).number.magnitude));
    return {.bytes_min = 4, .bytes_max = most, .steps = 1, .trivial = !last.payload};
  }
  if (last.shape == Shape::plain) {
    return last.type.kind == Kind::named ? layouts.at(find(last.type.name)->definition)
                                         : primitive_layout(last.type.kind);
  }
  const Layout one = layout_of(element_of(last));
  if (last.shape == Shape::fixed) {
    const std::uint64_t count = last.bound->number.magnitude;
    return {saturating_multiply(one.bytes_min, count), saturating_multiply(one.bytes_max, count),
            one.steps + 1, one.trivial};
  }
  const bool list = is_list(last);
  const std::uint64_t count = last.shape == Shape::variable || list ? limit_of(last).number.magnitude : 1;
  const std::uint64_t each = saturating_add(one.bytes_max, list ? 4 : 0);
  return {.bytes_min = 4,
          .bytes_max = saturating_add(4, saturating_multiply(each, count)),
          .steps = one.steps + 1,
          .trivial = one.trivial};
}

Declaration element_of(const Declaration& declaration) {
  Declaration element;
  element.at = declaration.at;
  element.name = declaration.name;
  element.type = declaration.type;
  return element;
}

const Value& limit_of(const Declaration& declaration) {
  return declaration.max ? *declaration.max : *declaration.bound;
}

base::Result<Schema, Diagnostic> load(std::string path, const std::string& include_as,
                                      std::string_view source, const Reader& read) {
  Schema schema;
  auto loaded = Loader(schema, read).load(std::move(path), include_as, source);
  if (!loaded) return base::fail(loaded.error());
  if (auto checked = check(schema); !checked) return base::fail(checked.error());
  return schema;
}

}  // namespace braid::xdrc
