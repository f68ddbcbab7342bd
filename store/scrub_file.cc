#include "store/scrub_file.h"

#include <fmt/format.h>

#include <array>

#include "base/bytes.h"
#include "base/xxhash64.h"
#include "store/text_lines.h"

namespace braid::store {
namespace {

constexpr std::string_view scrub_head = "braid scrub 1\n";

}  // namespace

std::string encode(const ScrubState& state) {
  std::string out =
      fmt::format("{}begun {}\nended {}\nnext {}\n", scrub_head, state.begun, state.ended, state.next);
  for (const Location& place : state.bad) out += fmt::format("bad {} {}\n", place.container, place.offset);
  return out + fmt::format("check {:016x}\n", base::xxhash64(base::bytes_of(out)));
}

std::optional<ScrubState> decode_scrub(std::string_view text) {
  const std::string_view all = text;
  ScrubState out;
  if (!take_word(text, scrub_head)) return std::nullopt;
  std::uint64_t next = 0;
  const std::array<NamedNumber, 3> numbers{
      {{"begun ", &out.begun}, {"ended ", &out.ended}, {"next ", &next}}};
  if (!take_numbers(text, numbers)) return std::nullopt;
  if (next >= Location::container_end) return std::nullopt;
  out.next = static_cast<std::uint32_t>(next);
  while (take_word(text, "bad ")) {
    const auto container = take_container(text);
    const auto offset = container ? take_number(text, '\n') : std::nullopt;
    if (!offset || *offset >= Location::offset_end || out.bad.size() >= ScrubState::bad_max)
      return std::nullopt;
    out.bad.insert({.volume = 0, .container = *container, .offset = static_cast<std::uint32_t>(*offset)});
  }
  if (encode(out) != all) return std::nullopt;
  return out;
}

}  // namespace braid::store
