#include "vfs/posix/tree.h"

#include <cstring>
#include <utility>

namespace braid::vfs::posix {
namespace {

// FILEID_BTRFS_WITHOUT_PARENT and ..._WITH_PARENT...: objectid, root objectid, generation.
constexpr std::uint16_t btrfs_handle_first = 0x4d;
constexpr std::uint16_t btrfs_handle_last = 0x4f;

// Inode numbers are unique in a subvolume only, so the subvolume has to be part of the fsid. Its number is
// the same after a restart; its device number is not.
std::uint64_t subvolume_of(const FileHandle& handle, const Stat& stat) {
  const HandleBody body = HandleCodec::body_of(handle.view());
  if (body.transient) return device_of(stat);
  if (body.type < btrfs_handle_first || body.type > btrfs_handle_last || body.bytes.size() < 16) return 0;
  std::uint64_t root = 0;
  std::memcpy(&root, body.bytes.data() + 8, sizeof root);
  return root;
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  constexpr base::SipKey fixed{0x6272616964206673,
                               0x7375627665207a31};  // part of what fsids mean: never changed
  const std::array<std::uint64_t, 2> both{a, b};
  return base::siphash24(fixed, std::as_bytes(std::span(both)));
}

std::uint64_t hash_of(std::string_view text) {
  constexpr base::SipKey fixed{0x6272616964206673, 0x70617468207a7a31};  // as above
  return base::siphash24(fixed, base::bytes_of(text));
}

}  // namespace

Tree::Tree(ExportRoot root, const TreeOptions& options, const base::Clock& clock)
    : root_(std::move(root)),
      options_(options),
      opens_(options.opens == nullptr ? std::make_shared<OpensOptions>(options.read_only, options.sync)
                                      : options.opens),
      clock_(clock),
      codec_(options.id, options.key),
      write_back_(options.write_backs == nullptr ? std::make_shared<WriteBack>()
                                                 : options.write_backs->of(root_.filesystem)),
      fsid_(mix(root_.filesystem, hash_of(options.export_path))),
      cache_(options.cache),
      inherited_(root_.traits.local) {
  if (!root_.transient_because.empty())
    transient_.emplace(codec_, base::random_sip_key()[0], options.transient_handles_max);
  else if (root_.traits.local && identity_.opens_all())
    cache_.park_opens();
}

base::Result<void> Tree::start(std::weak_ptr<PosixFileSystem> owner) {
  owner_ = std::move(owner);
  base::UniqueFd fd(::openat(root_.fd.get(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return base::fail(base::last_errno());
  const auto stat = stat_of(fd.get());
  if (!stat) return base::fail(EIO);
  FileHandle handle;
  if (transient_) {
    handle = transient_->handle_of(*stat);
  } else {
    const auto kernel = kernel_handle(fd.get(), "");
    if (!kernel) return base::fail(EIO);
    handle = codec_.seal({false, kernel->type, kernel->view()});
  }
  root_subvolume_ = subvolume_of(handle, *stat);
  auto file = keep(handle, std::move(fd), Opened::path, *stat);
  if (!file) return base::fail(EIO);
  root_file_ = std::move(*file);
  return {};
}

std::uint64_t Tree::fsid_of(const FileHandle& handle, const Stat& stat) const {
  const std::uint64_t subvolume = subvolume_of(handle, stat);
  return subvolume == root_subvolume_ ? fsid_ : mix(fsid_, subvolume);
}

}  // namespace braid::vfs::posix
