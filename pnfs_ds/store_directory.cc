#include "pnfs_ds/store_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "base/assert.h"

namespace braid::pnfs_ds {
namespace {

constexpr const char* identity_name = "identity";
constexpr const char* new_identity_name = "identity.new";
constexpr const char* objects_name = "objects";
constexpr std::string_view head = "braid object store ";
constexpr std::string_view version = "1";
constexpr std::size_t identity_bytes_max = 4096;

std::unexpected<std::string> trouble(const std::string& path, std::string_view what, base::Errno error) {
  return std::unexpected(
      fmt::format("the data server's directory {} {}: {}", path, what, base::message_of(error)));
}

template <class Id>
std::optional<Id> id_of(std::string_view hex) {
  Id id{};
  if (hex.size() != 2 * id.size()) return std::nullopt;
  for (std::size_t i = 0; i < id.size(); ++i) {
    std::uint8_t byte = 0;
    const char* const begin = hex.data() + 2 * i;
    if (std::from_chars(begin, begin + 2, byte, 16).ptr != begin + 2) return std::nullopt;
    id[i] = std::byte{byte};
  }
  return id;
}

// The next line, without its end, if it begins with `name`; what follows the name.
std::optional<std::string_view> take_line(std::string_view& text, std::string_view name) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(name)) return std::nullopt;
  const std::string_view value = text.substr(name.size(), end - name.size());
  text.remove_prefix(end + 1);
  return value;
}

// Of the names in a directory below `parent`, all but "." and ".." are what `may_be` holds for.
template <class MayBe>
base::Result<bool> has_only(int parent, const char* name, MayBe may_be) {
  const int directory = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (directory < 0 && errno == ENOTDIR) return false;
  if (directory < 0) return base::fail(base::last_errno());
  DIR* const entries = ::fdopendir(directory);
  base::check(entries != nullptr, "a directory can be listed");
  bool only = true;
  while (const dirent* entry = ::readdir(entries)) {
    const std::string_view found = entry->d_name;
    if (found != "." && found != ".." && !may_be(found)) only = false;
  }
  ::closedir(entries);
  return only;
}

// Nothing but what a new file system has, and what make() leaves that did not get to its end.
base::Result<bool> is_empty(int directory) {
  bool has_objects = false;
  const auto nothing_else = has_only(directory, ".", [&](std::string_view name) {
    has_objects = has_objects || name == objects_name;
    return name == "lost+found" || name == "lock" || name == new_identity_name || name == objects_name;
  });
  if (!nothing_else || !*nothing_else || !has_objects) return nothing_else;
  return has_only(directory, objects_name, [](std::string_view /*name*/) { return false; });
}

// Nothing: there is no such file.
base::Result<std::optional<std::string>> read_identity(int directory) {
  const base::UniqueFd file(::openat(directory, identity_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file && errno == ENOENT) return std::nullopt;
  if (!file) return base::fail(base::last_errno());
  std::string text(identity_bytes_max, '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  if (got < 0) return base::fail(base::last_errno());
  text.resize(static_cast<std::size_t>(got));
  return text;
}

}  // namespace

std::string hex_of(const pnfs::ServerId& id) {
  std::string out;
  for (const std::byte byte : id) out += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return out;
}

std::expected<std::unique_ptr<StoreDirectory>, std::string> StoreDirectory::open(const std::string& path,
                                                                                 std::string_view who,
                                                                                 const Wait& wait) {
  base::UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return trouble(path, "cannot be opened", base::last_errno());
  std::unique_ptr<StoreDirectory> store(new StoreDirectory(path, std::move(directory)));
  if (auto locked = store->lock(who, wait); !locked) return std::unexpected(std::move(locked.error()));
  auto identity = read_identity(store->fd());
  if (!identity) return trouble(path, "cannot be read", identity.error());
  auto done = *identity ? store->load(**identity) : store->make();
  if (!done) return std::unexpected(std::move(done.error()));
  return store;
}

std::expected<void, std::string> StoreDirectory::lock(std::string_view who, const Wait& wait) {
  const auto named = [](std::string_view holder) {
    return holder.empty() ? std::string_view("another data server") : holder;
  };
  Wait again;
  if (wait) again = [&](std::string_view holder) { return wait(named(holder)); };
  std::string holder;
  auto lock = base::LockFile::take(fd(), "lock", who, again, holder);
  if (!lock && lock.error() == base::errno_of(EBUSY))
    return std::unexpected(fmt::format("{} uses the directory {}", named(holder), path_));
  if (!lock) return trouble(path_, "cannot be locked", lock.error());
  lock_.emplace(std::move(*lock));
  return {};
}

std::expected<void, std::string> StoreDirectory::make() {
  const auto empty = is_empty(fd());
  if (!empty) return trouble(path_, "cannot be read", empty.error());
  if (!*empty)
    return std::unexpected(fmt::format(
        "the directory {} is not empty, and no data server's: it has no file '{}'; give an empty directory, "
        "or bring that file back",
        path_, identity_name));
  const ssize_t got = ::getrandom(server_.data(), server_.size(), 0);
  base::check(got == static_cast<ssize_t>(server_.size()), "the kernel gives random bytes");
  // Who finds an identity finds the directory of its objects.
  if (::mkdirat(fd(), objects_name, 0700) != 0 && errno != EEXIST)
    return trouble(path_, "cannot be written to", base::last_errno());
  if (const auto done = write_identity({}); !done)
    return trouble(path_, "cannot be written to", done.error());
  return {};
}

std::expected<void, std::string> StoreDirectory::load(const std::string& text) {
  std::string_view left = text;
  const auto found_version = take_line(left, head);
  if (found_version && *found_version != version)
    return std::unexpected(fmt::format("the object store in {} is of a later version of braid", path_));
  const auto server = take_line(left, "server ");
  const auto cluster = take_line(left, "cluster ");
  const auto server_id = server ? id_of<pnfs::ServerId>(*server) : std::nullopt;
  const auto cluster_id = cluster ? id_of<pnfs::ClusterId>(*cluster) : std::nullopt;
  if (!found_version || !server_id || !cluster_id || !left.empty())
    return std::unexpected(fmt::format("the file {}/{} is damaged", path_, identity_name));
  struct stat objects{};
  if (::fstatat(fd(), objects_name, &objects, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(objects.st_mode))
    return std::unexpected(fmt::format(
        "the object store in {} has lost its directory 'objects': what was stored there is gone", path_));
  server_ = *server_id;
  cluster_ = *cluster_id;
  return {};
}

base::Result<void> StoreDirectory::write_identity(const pnfs::ClusterId& cluster) {
  const std::string text =
      fmt::format("{}{}\nserver {}\ncluster {}\n", head, version, hex_of(server_), hex_of(cluster));
  const base::UniqueFd file(
      ::openat(fd(), new_identity_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return base::fail(base::last_errno());
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return base::fail(ENOSPC);
  if (::fsync(file.get()) != 0 || ::renameat(fd(), new_identity_name, fd(), identity_name) != 0 ||
      ::fsync(fd()) != 0)
    return base::fail(base::last_errno());
  return {};
}

pnfs::ClusterId StoreDirectory::cluster() const {
  const std::scoped_lock lock(mutex_);
  return cluster_;
}

base::Result<void> StoreDirectory::join(const pnfs::ClusterId& cluster) {
  const std::scoped_lock lock(mutex_);
  if (cluster_ == cluster) return {};
  if (cluster_ != pnfs::ClusterId{}) return base::fail(EEXIST);
  if (auto done = write_identity(cluster); !done) return done;
  cluster_ = cluster;
  return {};
}

}  // namespace braid::pnfs_ds
