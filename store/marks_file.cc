#include "store/marks_file.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include "base/bytes.h"
#include "base/xxhash64.h"
#include "store/location.h"

namespace braid::store {
namespace {

constexpr std::string_view marks_head = "braid marks 1\n";

// A number and what ends it.
std::optional<std::uint64_t> take_number(std::string_view& text, char end) {
  std::uint64_t out = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || at == text.data() + text.size() || *at != end) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(at - text.data()) + 1);
  return out;
}

bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

}  // namespace

std::string encode(const Marks& marks) {
  std::string out =
      fmt::format("{}marked {}\nlive {}\ngarbage {}\n", marks_head, marks.marked, marks.live, marks.garbage);
  for (const auto& [container, since] : marks.missed) out += fmt::format("missed {} {}\n", container, since);
  return out + fmt::format("check {:016x}\n", base::xxhash64(base::bytes_of(out)));
}

std::optional<Marks> decode_marks(std::string_view text) {
  const std::string_view all = text;
  Marks out;
  if (!take_word(text, marks_head)) return std::nullopt;
  const std::array<std::pair<std::string_view, std::uint64_t*>, 3> numbers{
      {{"marked ", &out.marked}, {"live ", &out.live}, {"garbage ", &out.garbage}}};
  for (const auto& [word, number] : numbers) {
    const auto found = take_word(text, word) ? take_number(text, '\n') : std::nullopt;
    if (!found) return std::nullopt;
    *number = *found;
  }
  while (take_word(text, "missed ")) {
    const auto container = take_number(text, ' '), since = container ? take_number(text, '\n') : std::nullopt;
    if (!since || *container == 0 || *container >= Location::container_end ||
        out.missed.size() >= Marks::missed_max)
      return std::nullopt;
    out.missed.emplace(static_cast<std::uint32_t>(*container), *since);
  }
  if (encode(out) != all) return std::nullopt;
  return out;
}

}  // namespace braid::store
