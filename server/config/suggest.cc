#include "server/config/suggest.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <vector>

namespace braid::server::config {
namespace {

// How people vary a name without meaning another one: case, and '-' or nothing for '_'.
std::string folded(std::string_view word) {
  std::string out;
  for (char c : word)
    if (c != '_' && c != '-') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Optimal string alignment distance: insertions, deletions, substitutions, swaps of neighbours.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::string_view closest(std::string_view word, std::span<const std::string_view> known) {
  constexpr std::size_t word_bytes_max = 64;  // a longer one is no misspelling, and costs its square
  if (word.size() > word_bytes_max) return {};
  const std::string wanted = folded(word);
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(wanted.size() / 3, 1) + 1;
  for (std::string_view candidate : known) {
    const std::size_t d = distance(wanted, folded(candidate));
    if (d < best_distance) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

}  // namespace braid::server::config
