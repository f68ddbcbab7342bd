// Words and numbers at the beginning of a text, for the small files of a store.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace braid::store {

// Each takes what it returns off the text; nothing, or false: it is not there.
bool take_word(std::string_view& text, std::string_view word);
// A number and what ends it.
std::optional<std::uint64_t> take_number(std::string_view& text, char end);
// Lines of a word and a number each, in this order; false: they are not there.
using NamedNumber = std::pair<std::string_view, std::uint64_t*>;
bool take_numbers(std::string_view& text, std::span<const NamedNumber> lines);
// The number of a container, and a blank.
std::optional<std::uint32_t> take_container(std::string_view& text);

}  // namespace braid::store
