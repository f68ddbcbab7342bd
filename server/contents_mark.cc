#include "server/contents_mark.h"

#include <fmt/format.h>
#include <sys/xattr.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "base/result.h"

namespace braid::server {
namespace {

// Empty: there is none, or who may not see it.
std::expected<std::string, int> mark_of(const std::string& directory) {
  constexpr std::size_t bytes_max = 4096;
  std::array<char, bytes_max> text{};
  const ssize_t size = ::getxattr(directory.c_str(), contents_mark, text.data(), text.size());
  if (size >= 0) return std::string(text.data(), static_cast<std::size_t>(size));
  if (errno == ENODATA || errno == ENOTSUP) return std::string();
  return std::unexpected(errno);
}

std::string joined(std::span<vfs::ContentSource* const> sources) {
  std::string out;
  for (const vfs::ContentSource* const source : sources) {
    if (!out.empty()) out += ',';
    out += source->record();
  }
  return out;
}

}  // namespace

std::expected<void, std::string> mark_contents(const std::string& directory,
                                               std::span<vfs::ContentSource* const> sources) {
  const std::string wanted = joined(sources);
  const auto found = mark_of(directory);
  if (!found)
    return std::unexpected(fmt::format("cannot serve {}: its attribute {} cannot be read: {}", directory,
                                       contents_mark, base::message_of(base::errno_of(found.error()))));
  if (*found == wanted) return {};
  if (!found->empty())
    return std::unexpected(
        fmt::format("{} has files whose bytes are elsewhere ({}); serve it as before (for "
                    "trusted.braid.layout with data = "
                    "\"striped\" and [pnfs], for trusted.braid.store with its store). If none of them is "
                    "left: setfattr -x {} {}",
                    directory, *found, contents_mark, directory));
  if (::setxattr(directory.c_str(), contents_mark, wanted.data(), wanted.size(), 0) == 0) return {};
  return std::unexpected(
      fmt::format("cannot keep in {} that bytes of its files are elsewhere (the attribute {}): {}", directory,
                  contents_mark, base::message_of(base::errno_of(errno))));
}

}  // namespace braid::server
