// Objects by handle and by name.
#include <algorithm>
#include <ranges>
#include <vector>

#include "vfs/posix/tree.h"

namespace braid::vfs::posix {
namespace {

// Directories that a walk from a transient handle opens at most.
constexpr std::size_t depth_max = 256;

}  // namespace

Outcome<FileRef> Tree::find(base::BytesView handle) {
  if (const auto opened = codec_.open(handle); !opened) return base::fail(opened.error());
  return cache_.find(handle);
}

Outcome<FileRef> Tree::resolve(base::BytesView wire) {
  FileHandle handle;
  handle.size = static_cast<std::uint8_t>(wire.size());
  std::ranges::copy(wire, handle.bytes.begin());
  const auto opened = codec_.open(handle.view());
  if (!opened) return base::fail(opened.error());
  const HandleBody& body = opened->body;
  if (transient_) {
    // One that an earlier process made, or this one's predecessor with more rights.
    if (!body.transient || !transient_->is_current(body.bytes)) return base::fail(Error::stale);
    return walk_to(handle);
  }
  if (body.transient) return base::fail(Error::stale);
  auto fd = with_room([&] { return open_kernel_handle(root_.fd.get(), body.type, body.bytes, O_PATH); });
  if (!fd) return base::fail(fd.error());
  return keep(handle, std::move(*fd), Opened::path);
}

Outcome<FileRef> Tree::keep(const FileHandle& handle, base::UniqueFd fd, Opened opened) {
  const auto stat = stat_of(fd.get());
  if (!stat) return base::fail(stat.error());
  return keep(handle, std::move(fd), opened, *stat);
}

Outcome<FileRef> Tree::keep(const FileHandle& handle, base::UniqueFd fd, Opened opened, const Stat& stat) {
  if (stat.stx_nlink == 0) return base::fail(Error::stale);
  return cache_.insert({handle, type_of(stat), stat.stx_ino, fsid_of(handle, stat), device_of(stat)},
                       std::move(fd), opened);
}

// The handle of what is called directory/name, without opening it. The caller's right to search was checked.
Outcome<FileHandle> Tree::handle_at(const PosixFile& directory, const Name& name) {
  if (name.is_dot() || (name.is_dot_dot() && is_root(directory))) return directory.handle();
  if (!transient_) {
    const auto kernel = kernel_handle(directory.fd(), name.c_str());
    if (!kernel) return base::fail(kernel.error());
    return codec_.seal({false, kernel->type, kernel->view()});
  }
  if (name.is_dot_dot()) {
    const auto at = transient_->find(directory.handle());
    if (!at) return base::fail(Error::stale);
    return at->parent;
  }
  const auto stat = stat_at(directory.fd(), name.c_str());
  if (!stat) return base::fail(stat.error());
  if (stat->stx_mnt_id != root_.mount) return base::fail(Error::acces);
  const FileHandle handle = transient_->handle_of(*stat);
  transient_->place(handle, directory.handle(), name.view());
  return handle;
}

Outcome<FileRef> Tree::file_at(PosixFile& directory, const Name& name) {
  const auto handle = handle_at(directory, name);
  if (!handle) return base::fail(handle.error());
  if (FileRef file = cache_.find(handle->view())) return file;
  auto file = resolve(handle->view());
  // Gone since its name was looked up.
  if (!file && file.error() == Error::stale) return base::fail(Error::noent);
  return file;
}

// Takes in a descriptor of what was just made as directory/name.
Late<Found> Tree::adopt(PosixFile& directory, const Name& name, base::UniqueFd fd, Opened opened) {
  const auto stat = stat_of(fd.get());
  if (!stat) return late(stat.error());
  FileHandle handle;
  if (transient_) {
    handle = transient_->handle_of(*stat);
    transient_->place(handle, directory.handle(), name.view());
  } else {
    const auto kernel = kernel_handle(fd.get(), "");
    if (!kernel) return late(kernel.error());
    handle = codec_.seal({false, kernel->type, kernel->view()});
  }
  auto file = keep(handle, std::move(fd), opened, *stat);
  if (!file) return late(file.error());
  auto& node = static_cast<PosixFile&>(**file);
  // Others may have found it by its name by now, and changed it.
  if (node.changes().changes() != 0) {
    auto as_it_is = found(std::move(*file));
    if (!as_it_is) return late(as_it_is.error());
    return std::move(*as_it_is);
  }
  const Attributes now = seen(node, *stat, 0);
  return Found{std::move(*file), now};
}

Outcome<Found> Tree::found(FileRef file) {
  const auto attributes = live_attributes(static_cast<PosixFile&>(*file));
  if (!attributes) return base::fail(attributes.error());
  return Found{std::move(file), *attributes};
}

// Opens the directories from the nearest open one down to the object, by the names they had when they were
// seen last.
Outcome<FileRef> Tree::walk_to(const FileHandle& handle) {
  struct Step {
    FileHandle handle;
    std::string name;
  };
  std::vector<Step> steps;
  FileHandle at = handle;
  FileRef file;
  while (!file) {
    auto seen = transient_->find(at);
    if (!seen || steps.size() == depth_max) return base::fail(Error::stale);
    steps.push_back({at, std::move(seen->name)});
    at = seen->parent;
    file = cache_.find(at.view());
  }
  for (const Step& step : std::views::reverse(steps)) {
    auto next = step_to(step.handle, static_cast<PosixFile&>(*file), step.name);
    if (!next) return base::fail(next.error() == Error::delay ? Error::delay : Error::stale);
    file = std::move(*next);
  }
  return file;
}

Outcome<FileRef> Tree::step_to(const FileHandle& handle, const PosixFile& parent, const std::string& name) {
  auto fd = with_room([&] { return open_path_beneath(parent.fd(), name.c_str()); });
  if (!fd) return base::fail(fd.error());
  const auto stat = stat_of(fd->get());
  if (!stat) return base::fail(stat.error());
  // Something else has the name by now.
  if (transient_->handle_of(*stat) != handle) return base::fail(Error::stale);
  return keep(handle, std::move(*fd), Opened::path, *stat);
}

}  // namespace braid::vfs::posix
