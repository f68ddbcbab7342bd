#include "base/quoting.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace braid::base {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80; }

// How many bytes a character that begins with this byte has (RFC 3629); 0: none begins with it.
std::size_t length_of(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

// The bytes of the printable character that `text` begins with; 0: it begins with none.
std::size_t printable_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t bytes = length_of(first);
  if (bytes == 1) return first >= 0x20 && first != 0x7f ? 1 : 0;
  if (bytes == 0 || bytes > text.size()) return 0;
  if (!std::ranges::all_of(text.substr(1, bytes - 1), is_continuation)) return 0;
  const auto second = static_cast<unsigned char>(text[1]);
  const bool c1 = first == 0xc2 && second < 0xa0;
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool no_character = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  return c1 || overlong || no_character ? 0 : bytes;
}

bool is_plain(char c) {
  constexpr std::string_view others = "_@%+=:,./-[]";  // brackets: of IPv6 addresses
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || others.contains(c);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = printable_bytes(text);
    if (bytes == 0)
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(text.front()));
    else
      out += text.substr(0, bytes);
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return out;
}

std::string shell_word(std::string_view text) {
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  bool all_printable = true;
  std::string simple, escaped;
  while (!text.empty()) {
    const std::size_t bytes = printable_bytes(text);
    const std::string_view one = text.substr(0, std::max<std::size_t>(bytes, 1));
    all_printable = all_printable && bytes != 0;
    simple += one == "'" ? R"('\'')" : one;
    if (bytes == 0)
      fmt::format_to(std::back_inserter(escaped), "\\{:03o}", static_cast<unsigned char>(one.front()));
    else if (one == "'" || one == "\\")
      (escaped += '\\') += one;
    else
      escaped += one;
    text.remove_prefix(one.size());
  }
  return all_printable ? fmt::format("'{}'", simple) : fmt::format("$'{}'", escaped);
}

}  // namespace braid::base
