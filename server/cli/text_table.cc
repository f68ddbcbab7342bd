#include "server/cli/text_table.h"

#include <algorithm>

#include "base/quoting.h"

namespace braid::server::cli {
namespace {

// Columns of a terminal, if each character has one.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
}

}  // namespace

std::string table_text(std::vector<std::vector<std::string>> rows, std::size_t text_columns) {
  std::vector<std::size_t> widths(rows.front().size());
  for (auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = base::printable(row[i]);
      widths[i] = std::max(widths[i], width_of(row[i]));
    }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string fill(widths[i] - width_of(row[i]), ' ');
      line += "  " + (i < text_columns ? row[i] + fill : fill + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace braid::server::cli
