#include "store/text_lines.h"

#include <charconv>
#include <system_error>

#include "store/chunks/location.h"

namespace braid::store {

bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

std::optional<std::uint64_t> take_number(std::string_view& text, char end) {
  std::uint64_t out = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || at == text.data() + text.size() || *at != end) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(at - text.data()) + 1);
  return out;
}

bool take_numbers(std::string_view& text, std::span<const NamedNumber> lines) {
  for (const auto& [word, number] : lines) {
    const auto found = take_word(text, word) ? take_number(text, '\n') : std::nullopt;
    if (!found) return false;
    *number = *found;
  }
  return true;
}

std::optional<std::uint32_t> take_container(std::string_view& text) {
  const auto out = take_number(text, ' ');
  if (!out || *out == 0 || *out >= Location::container_end) return std::nullopt;
  return static_cast<std::uint32_t>(*out);
}

}  // namespace braid::store
