// Typed access to one TOML table that names every mistake with its line: wrong types, values out of range,
// keys that nobody asked for.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Errors of the parser are values here.
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include "server/config/config.h"

namespace braid::server::config {

class TomlReader {
 public:
  // `name` is how the table is written: "[server]". Table and problems must outlive the reader.
  TomlReader(const toml::table& table, std::string name, std::vector<Problem>& problems)
      : table_(table), name_(std::move(name)), problems_(problems) {}

  // Each takes one key if it is present; true if `out` was set. `example` is a right line to write.
  bool text(std::string_view key, std::string& out, std::string_view example);
  bool boolean(std::string_view key, bool& out);
  template <class T>
  bool integer(std::string_view key, T& out, T least, T most = std::numeric_limits<T>::max());
  // An integer of bytes, or a text such as "64MiB".
  bool bytes(std::string_view key, std::size_t& out, std::uint64_t least, std::uint64_t most);
  bool texts(std::string_view key, std::vector<std::string>& out, std::string_view example);
  // A text that is an absolute path.
  void absolute_path(std::string_view key, std::string& out, std::string_view example);
  // The table [key], or nothing if it is absent or something else. Its finish() is the caller's.
  std::optional<TomlReader> section(std::string_view key);
  // The node of a key that the caller reads itself, or null.
  const toml::node* node(std::string_view key);

  [[nodiscard]] std::uint32_t line_of(std::string_view key) const;  // of the table if the key is absent
  [[nodiscard]] bool has(std::string_view key) const { return table_.contains(key); }
  void problem(std::string_view at_key, std::string what);
  // Of the whole file, for problems at other lines than a key's.
  [[nodiscard]] std::vector<Problem>& problems() { return problems_; }
  // Complains about keys that were not asked for.
  void finish();

 private:
  bool integer_in_range(std::string_view key, std::int64_t& out, std::int64_t least, std::int64_t most);

  const toml::table& table_;
  std::string name_;
  std::vector<Problem>& problems_;
  std::vector<std::string_view> known_;
};

template <class T>
bool TomlReader::integer(std::string_view key, T& out, T least, T most) {
  std::int64_t value = 0;
  if (!integer_in_range(key, value, std::int64_t{least}, std::int64_t{most})) return false;
  out = static_cast<T>(value);
  return true;
}

// "an integer", "a string": what a node is, for messages.
std::string_view type_name(const toml::node& node);

}  // namespace braid::server::config
