#include "server/config/toml_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/arith.h"
#include "server/config/suggest.h"
#include "server/config/units.h"

namespace braid::server::config {

std::string_view type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::none:
      return "nothing";
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a number with a fraction";
    case toml::node_type::boolean:
      return "a boolean";
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time:
      return "a date or time";
  }
  return "nothing";
}

const toml::node* TomlReader::node(std::string_view key) {
  known_.push_back(key);
  return table_.get(key);
}

std::uint32_t TomlReader::line_of(std::string_view key) const {
  const toml::node* node = table_.get(key);
  return (node != nullptr ? node->source() : table_.source()).begin.line;
}

void TomlReader::problem(std::string_view at_key, std::string what) {
  problems_.push_back({line_of(at_key), std::move(what)});
}

bool TomlReader::text(std::string_view key, std::string& out, std::string_view example) {
  const toml::node* found = node(key);
  if (found == nullptr) return false;
  const auto* value = found->as_string();
  if (value == nullptr) {
    problem(key, fmt::format("'{}' is {}; write a string: {}", key, type_name(*found), example));
    return false;
  }
  if (value->get().find('\0') != std::string::npos) {
    problem(key, fmt::format("'{}' contains a NUL character; write: {}", key, example));
    return false;
  }
  out = value->get();
  return true;
}

bool TomlReader::boolean(std::string_view key, bool& out) {
  const toml::node* found = node(key);
  if (found == nullptr) return false;
  const auto* value = found->as_boolean();
  if (value == nullptr) {
    problem(key, fmt::format("'{0}' is {1}; write {0} = true or {0} = false", key, type_name(*found)));
    return false;
  }
  out = value->get();
  return true;
}

bool TomlReader::integer_in_range(std::string_view key, std::int64_t& out, std::int64_t least,
                                  std::int64_t most) {
  const toml::node* found = node(key);
  if (found == nullptr) return false;
  const auto* value = found->as_integer();
  if (value == nullptr) {
    problem(key,
            fmt::format("'{}' is {}; write an integer from {} to {}", key, type_name(*found), least, most));
    return false;
  }
  if (value->get() < least || value->get() > most) {
    problem(key, fmt::format("'{}' is {}; write an integer from {} to {}", key, value->get(), least, most));
    return false;
  }
  out = value->get();
  return true;
}

bool TomlReader::bytes(std::string_view key, std::size_t& out, std::uint64_t least, std::uint64_t most) {
  const toml::node* found = node(key);
  if (found == nullptr) return false;
  const std::string wanted =
      fmt::format("write a size from \"{}\" to \"{}\"", bytes_text(least), bytes_text(most));
  std::optional<std::uint64_t> value;
  std::string written(type_name(*found));
  if (const auto* number = found->as_integer()) {
    value = base::narrow<std::uint64_t>(number->get());
    written = fmt::format("{}", number->get());
  } else if (const auto* words = found->as_string()) {
    value = parse_bytes(words->get());
    written = fmt::format("\"{}\"", words->get());
  }
  if (!value || *value < least || *value > most) {
    problem(key, fmt::format("'{}' is {}; {}", key, written, wanted));
    return false;
  }
  out = *value;
  return true;
}

bool TomlReader::texts(std::string_view key, std::vector<std::string>& out, std::string_view example) {
  const toml::node* found = node(key);
  if (found == nullptr) return false;
  const auto* array = found->as_array();
  if (array == nullptr) {
    problem(key, fmt::format("'{}' is {}; write an array of strings: {}", key, type_name(*found), example));
    return false;
  }
  out.clear();
  for (const toml::node& element : *array) {
    const auto* value = element.as_string();
    if (value == nullptr) {
      problems_.push_back(
          {element.source().begin.line,
           fmt::format("'{}' holds {}; write an array of strings: {}", key, type_name(element), example)});
      return false;
    }
    out.push_back(value->get());
  }
  return true;
}

void TomlReader::absolute_path(std::string_view key, std::string& out, std::string_view example) {
  if (!text(key, out, example)) return;
  if (out.empty() || out.front() != '/')
    problem(key, fmt::format("'{}' is \"{}\"; write an absolute path: {}", key, out, example));
}

std::optional<TomlReader> TomlReader::section(std::string_view key) {
  const toml::node* found = node(key);
  if (found == nullptr) return std::nullopt;
  const toml::table* const table = found->as_table();
  if (table == nullptr) {
    problem(key, fmt::format("'{0}' is {1}; write the section [{0}]", key, type_name(*found)));
    return std::nullopt;
  }
  return TomlReader(*table, fmt::format("[{}]", key), problems_);
}

void TomlReader::finish() {
  for (const auto& [key, value] : table_) {
    const std::string_view name = key.str();
    if (std::ranges::find(known_, name) != known_.end()) continue;
    const std::string_view near = closest(name, known_);
    std::string advice = near.empty() ? fmt::format("known keys are {}", fmt::join(known_, ", "))
                                      : fmt::format("did you mean '{}'?", near);
    problems_.push_back(
        {key.source().begin.line, fmt::format("unknown key '{}' in {}; {}", name, name_, advice)});
  }
}

}  // namespace braid::server::config
