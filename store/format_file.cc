#include "store/format_file.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <vector>

#include "base/xxhash64.h"

namespace braid::store {
namespace {

constexpr std::string_view later_version = "is of a later version of braid";
constexpr std::string_view damaged_text = "is damaged";

std::optional<unsigned> digit_of(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  return std::nullopt;
}

std::optional<std::uint64_t> number_of_hex(std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, 16);
  if (error != std::errc() || end != text.data() + text.size() || text.size() != 16) return std::nullopt;
  return out;
}

// The next line of `text`, which begins with `name` and a space; what follows that.
std::optional<std::string_view> take_line(std::string_view& text, std::string_view name) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(name) || end <= name.size() ||
      text[name.size()] != ' ')
    return std::nullopt;
  const std::string_view value = text.substr(name.size() + 1, end - name.size() - 1);
  text.remove_prefix(end + 1);
  return value;
}

std::string checked(const std::string& text) {
  return text + fmt::format("check {:016x}\n", base::xxhash64(base::bytes_of(text)));
}

}  // namespace

std::string hex_text(base::BytesView bytes) {
  std::string out;
  for (const std::byte byte : bytes) out += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return out;
}

bool parse_hex(std::string_view text, base::MutableBytes to) {
  if (text.size() != 2 * to.size()) return false;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
    if (!high || !low) return false;
    to[i] = static_cast<std::byte>(*high << 4U | *low);
  }
  return true;
}

std::string encode(const FormatFile& format) {
  return checked(fmt::format("braid store {}\nid {}\nkey {}\nrequired {:016x}\noptional {:016x}\n",
                             FormatFile::version, hex_text(format.store), hex_text(format.key.bytes),
                             format.required, format.optional));
}

std::expected<FormatFile, std::string> decode_format(std::string_view text) {
  const auto damaged = [] { return std::unexpected(std::string(damaged_text)); };
  const std::string_view all = text;
  const auto version = take_line(text, "braid store");
  if (!version) return damaged();
  unsigned number = 0;
  const auto [end, error] = std::from_chars(version->data(), version->data() + version->size(), number);
  if (error != std::errc() || end != version->data() + version->size() || number == 0) return damaged();
  if (number > FormatFile::version) return std::unexpected(std::string(later_version));
  FormatFile out;
  const auto id = take_line(text, "id"), key = take_line(text, "key"), required = take_line(text, "required"),
             optional = take_line(text, "optional");
  if (!id || !key || !required || !optional || !parse_hex(*id, out.store) || !parse_hex(*key, out.key.bytes))
    return damaged();
  const auto needed = number_of_hex(*required), helpful = number_of_hex(*optional);
  if (!needed || !helpful) return damaged();
  out.required = *needed;
  out.optional = *helpful;
  if (encode(out) != all) return damaged();
  if ((out.required & ~FormatFile::known_features) != 0)
    return std::unexpected(std::string("needs features that this version of braid does not have"));
  return out;
}

}  // namespace braid::store
