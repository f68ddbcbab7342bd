#include "tests/unit/xdr/random_wire.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace braid::xdr_tests {

using xdrc::Declaration;
using xdrc::Definition;
using Kind = xdrc::TypeSpecifier::Kind;
using Shape = Declaration::Shape;

xdrc::Schema schema_of(const std::string& include_as) {
  auto read = [](const std::string& name) -> base::Result<std::string, std::string> {
    std::ifstream file(std::string(SOURCE_ROOT) + "/" + name);
    std::ostringstream text;
    if (!(text << file.rdbuf())) return base::fail("cannot read " + name);
    return text.str();
  };
  auto text = read(include_as);
  base::check(text.has_value(), "the .x file can be read");
  auto schema = xdrc::load(include_as, include_as, *text, read);
  base::check(schema.has_value(), "the .x file is right");
  return std::move(*schema);
}

base::Bytes RandomWire::message(const std::string& type) {
  out_.clear();
  named(*schema_.find(type)->definition);
  return std::exchange(out_, {});
}

void RandomWire::word(std::uint32_t value) {
  for (const int shift : {24, 16, 8, 0}) out_.push_back(static_cast<std::byte>(value >> shift & 0xff));
}

std::uint32_t RandomWire::length(std::uint32_t limit) {
  switch (below(8)) {
    case 0:
      return 0;
    case 1:
      return std::min<std::uint32_t>(limit, 20 + below(400));
    case 2:
      return limit <= 1024 ? limit : below(64);
    default:
      return std::min<std::uint32_t>(limit, below(12));
  }
}

void RandomWire::octets(std::uint32_t count, bool text) {
  for (std::uint32_t i = 0; i < count; ++i)
    out_.push_back(static_cast<std::byte>(text ? 1 + below(255) : below(256)));
  while (out_.size() % 4 != 0) out_.push_back(std::byte{0});
}

void RandomWire::primitive(Kind kind) {
  switch (kind) {
    case Kind::nothing:
      return;
    case Kind::boolean:
      return word(below(2));
    case Kind::floating:
      return word(0x40000000U | below(0x3fffffff));  // no NaN: those are not equal to themselves
    case Kind::double_floating:
      word(0x40000000U | below(0x3fffffff));
      return word(random_() & 0xffffffff);
    case Kind::hyper:
    case Kind::unsigned_hyper:
      word(random_() & 0xffffffff);
      [[fallthrough]];
    default:
      word(random_() & 0xffffffff);
  }
}

void RandomWire::declaration(const Declaration& declared) {
  const Declaration& last = schema_.resolved(declared);
  const bool text = last.type.kind == Kind::string;
  const bool octet = text || last.type.kind == Kind::opaque;
  const Declaration element = xdrc::element_of(last);
  if (last.shape == Shape::plain) {
    if (last.type.kind == Kind::named) return named(*schema_.find(last.type.name)->definition);
    return primitive(last.type.kind);
  }
  if (last.shape == Shape::optional && schema_.is_list(last)) {
    const std::uint32_t most = static_cast<std::uint32_t>(limit_of(last).number.magnitude);
    for (std::uint32_t left = std::min(most, below(2) == 0 ? below(4) : below(20)); left > 0; --left) {
      word(1);
      this->declaration(element);
    }
    return word(0);
  }
  if (last.shape == Shape::optional) {
    const std::uint32_t present = below(2);
    word(present);
    if (present == 1) this->declaration(element);
    return;
  }
  std::uint32_t count;
  if (last.shape == Shape::fixed) {
    count = static_cast<std::uint32_t>(last.bound->number.magnitude);
  } else {
    const auto most = static_cast<std::uint32_t>(limit_of(last).number.magnitude);
    count = octet ? length(most) : std::min(most, below(10));
    word(count);
  }
  if (octet) return octets(count, text);
  for (std::uint32_t i = 0; i < count; ++i) this->declaration(element);
}

void RandomWire::one_union(const xdrc::Union& choice) {
  // A discriminant by its type; if no arm takes it, one of a case.
  const std::size_t at = out_.size();
  declaration(choice.discriminant);
  std::uint32_t tag = 0;
  for (std::size_t i = at; i < at + 4; ++i) tag = tag << 8 | std::to_integer<std::uint32_t>(out_[i]);
  const xdrc::Arm* otherwise = nullptr;
  std::vector<std::pair<std::uint32_t, const xdrc::Arm*>> cases;
  for (const xdrc::Arm& arm : choice.arms) {
    if (arm.labels.empty()) otherwise = &arm;
    for (const xdrc::Value& label : arm.labels) {
      const auto number = static_cast<std::uint32_t>(label.number.magnitude);
      cases.emplace_back(label.number.negative ? 0 - number : number, &arm);
    }
  }
  auto is_tag = [&](const auto& one) { return one.first == tag; };
  auto found = std::ranges::find_if(cases, is_tag);
  if (found == cases.end() && (otherwise == nullptr || below(2) == 0)) {
    found = cases.begin() + below(static_cast<std::uint32_t>(cases.size()));
    out_.resize(at);
    word(found->first);
  }
  declaration((found == cases.end() ? otherwise : found->second)->declaration);
}

void RandomWire::named(const Definition& definition) {
  if (const auto* list = std::get_if<xdrc::Enum>(&definition.body)) {
    // The success value of a status often, so that successful results are seen often.
    const std::size_t count = list->enumerators.size();
    const std::size_t index = below(3) == 0 ? 0 : below(static_cast<std::uint32_t>(count));
    const xdrc::Number& number = list->enumerators[index].value.number;
    const auto value = static_cast<std::uint32_t>(number.magnitude);
    word(number.negative ? 0 - value : value);
  } else if (const auto* record = std::get_if<xdrc::Struct>(&definition.body)) {
    for (const Declaration& member : record->members) declaration(member);
  } else if (const auto* choice = std::get_if<xdrc::Union>(&definition.body)) {
    one_union(*choice);
  } else if (const auto* alias = std::get_if<xdrc::Typedef>(&definition.body)) {
    declaration(alias->declaration);
  }
}

}  // namespace braid::xdr_tests
