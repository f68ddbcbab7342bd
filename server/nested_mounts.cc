#include "server/nested_mounts.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ranges>
#include <set>
#include <sstream>
#include <system_error>

namespace braid::server {
namespace {

// The kernel writes blanks, line feeds, tabs and backslashes as \ooo.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view digits = text.substr(i + 1 < text.size() ? i + 1 : text.size(), 3);
    const bool octal =
        digits.size() == 3 && std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '7'; });
    if (text[i] != '\\' || !octal) {
      out += text[i];
      continue;
    }
    out += static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + (digits[2] - '0'));
    i += digits.size();
  }
  return out;
}

// The fifth field of each line.
std::set<std::string> mount_points(std::string_view mountinfo) {
  constexpr std::ptrdiff_t field = 4;
  std::set<std::string> points;
  for (const auto line : std::views::split(mountinfo, '\n')) {
    auto fields = std::views::split(line, ' ') | std::views::drop(field);
    if (fields.begin() != fields.end()) points.insert(unescaped(std::string_view(*fields.begin())));
  }
  return points;
}

bool is_below(std::string_view path, std::string_view directory) {
  if (directory == "/") return path.size() > 1;
  return path.size() > directory.size() && path.starts_with(directory) && path[directory.size()] == '/';
}

bool is_at_or_below(std::string_view path, std::string_view directory) {
  return path == directory || is_below(path, directory);
}

}  // namespace

std::vector<std::vector<std::string>> mounts_below(const std::vector<std::string>& directories,
                                                   std::string_view mountinfo) {
  const std::set<std::string> points = mount_points(mountinfo);
  std::vector<std::vector<std::string>> out;
  out.reserve(directories.size());
  for (const std::string& directory : directories) {
    std::vector<std::string>& named = out.emplace_back();
    for (const std::string& point : points) {
      const auto covers = [&](const std::string& other) {
        return is_below(other, directory) && is_at_or_below(point, other);
      };
      if (is_below(point, directory) && std::ranges::none_of(directories, covers) &&
          std::ranges::none_of(named, covers))
        named.push_back(point);
    }
  }
  return out;
}

std::vector<std::vector<std::string>> mounts_below(const std::vector<std::string>& directories) {
  std::ifstream file("/proc/self/mountinfo");
  std::ostringstream text;
  text << file.rdbuf();
  std::vector<std::string> real;
  real.reserve(directories.size());
  for (const std::string& directory : directories) {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::canonical(directory, error);
    real.push_back(error ? directory : path.string());
  }
  return mounts_below(real, text.str());
}

}  // namespace braid::server
