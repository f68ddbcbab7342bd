#include "store/trees.h"

#include <fmt/format.h>

#include <charconv>

#include "base/bytes.h"
#include "base/xxhash64.h"
#include "store/format_file.h"

namespace braid::store {
namespace {

constexpr std::string_view trees_head = "braid trees 1\n";

std::string_view take_word(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  if (at == std::string_view::npos) return {};
  const std::string_view word = text.substr(0, at);
  text.remove_prefix(at + 1);
  return word;
}

std::optional<std::string> text_of_hex(std::string_view hex) {
  base::Bytes bytes(hex.size() / 2);
  if (!parse_hex(hex, bytes)) return std::nullopt;
  return std::string(base::text_of(bytes));
}

}  // namespace

std::string encode(const std::vector<Tree>& trees) {
  std::string out(trees_head);
  for (const Tree& tree : trees)
    out += fmt::format("{} {} {}\n", tree.number, hex_text(base::bytes_of(tree.file_system)),
                       hex_text(base::bytes_of(tree.path)));
  return out + fmt::format("check {:016x}\n", base::xxhash64(base::bytes_of(out)));
}

std::optional<std::vector<Tree>> decode_trees(std::string_view text) {
  const std::string_view all = text;
  if (!text.starts_with(trees_head)) return std::nullopt;
  text.remove_prefix(trees_head.size());
  std::vector<Tree> out;
  while (!text.empty() && !text.starts_with("check ")) {
    std::string_view line = take_word(text, '\n');
    const std::string_view digits = take_word(line, ' '), file_system = take_word(line, ' ');
    Tree tree;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), tree.number);
    auto name = text_of_hex(file_system), path = text_of_hex(line);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() || !name || !path)
      return std::nullopt;
    tree.file_system = std::move(*name);
    tree.path = std::move(*path);
    out.push_back(std::move(tree));
  }
  if (encode(out) != all) return std::nullopt;
  return out;
}

}  // namespace braid::store
