#include "tools/store_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "store/sealing/tree_probe.h"
#include "vfs/posix/directory_identity.h"

namespace braid::tools {
namespace {

// The directory itself, or that of the file.
std::string directory_of(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  return fs::is_directory(whole, error) ? whole.string() : whole.parent_path().string();
}

}  // namespace

std::string user_of_store(std::string_view command) {
  return fmt::format("{} (process {})", command, ::getpid());
}

std::expected<StoreTree, std::string> open_store_tree(const std::string& store, store::OpenFor what,
                                                      std::string_view command, const std::string& path,
                                                      const store::CompressionOptions& compression) {
  if (::geteuid() != 0)
    return std::unexpected("needs root: what is sealed is noted in extended attributes trusted.*");
  const std::string directory = directory_of(path);
  const base::UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return std::unexpected(fmt::format("{}: {}", directory, base::message_of(base::last_errno())));
  if (const std::string why = store::why_not_sealable(fd.get()); !why.empty())
    return std::unexpected(fmt::format("{}: files of this file system cannot be sealed: {}", directory, why));
  const auto identity = vfs::posix::directory_identity(fd.get(), "");
  if (!identity) return std::unexpected(fmt::format("{}: {}", directory, base::message_of(identity.error())));
  auto opened =
      store::Store::open(store, {.what = what, .who = user_of_store(command), .compression = compression});
  if (!opened) return std::unexpected(opened.error());
  if ((*opened)->registry() == nullptr)
    return std::unexpected(fmt::format("{}: its registry is damaged or gone", store));
  const auto number = (*opened)->tree_of(identity->file_system, directory);
  if (!number)
    return std::unexpected(fmt::format("{}/trees: {}", store,
                                       number.error() == base::errno_of(EBADMSG)
                                           ? "it is damaged or gone"
                                           : base::message_of(number.error())));
  return StoreTree{std::move(*opened), *number};
}

}  // namespace braid::tools
