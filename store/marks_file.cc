#include "store/marks_file.h"

#include <fmt/format.h>

#include <array>

#include "base/bytes.h"
#include "base/xxhash64.h"
#include "store/chunks/location.h"
#include "store/text_lines.h"

namespace braid::store {
namespace {

constexpr std::string_view marks_head = "braid marks 1\n";

}  // namespace

std::string encode(const Marks& marks) {
  std::string out =
      fmt::format("{}marked {}\nlive {}\ngarbage {}\n", marks_head, marks.marked, marks.live, marks.garbage);
  for (const auto& [container, since] : marks.missed) out += fmt::format("missed {} {}\n", container, since);
  for (const auto& [container, thin] : marks.thin)
    out += fmt::format("thin {} {} {}\n", container, thin.since, thin.chunks);
  return out + fmt::format("check {:016x}\n", base::xxhash64(base::bytes_of(out)));
}

std::optional<Marks> decode_marks(std::string_view text) {
  const std::string_view all = text;
  Marks out;
  if (!take_word(text, marks_head)) return std::nullopt;
  const std::array<NamedNumber, 3> numbers{
      {{"marked ", &out.marked}, {"live ", &out.live}, {"garbage ", &out.garbage}}};
  if (!take_numbers(text, numbers)) return std::nullopt;
  while (take_word(text, "missed ")) {
    const auto container = take_container(text);
    const auto since = container ? take_number(text, '\n') : std::nullopt;
    if (!since || out.missed.size() >= Marks::missed_max) return std::nullopt;
    out.missed.emplace(*container, *since);
  }
  while (take_word(text, "thin ")) {
    const auto container = take_container(text);
    const auto since = container ? take_number(text, ' ') : std::nullopt;
    const auto chunks = since ? take_number(text, '\n') : std::nullopt;
    if (!chunks || out.thin.size() >= Marks::thin_max) return std::nullopt;
    out.thin.emplace(*container, Marks::Thin{*since, *chunks});
  }
  if (encode(out) != all) return std::nullopt;
  return out;
}

}  // namespace braid::store
