#include "pnfs_ds/object_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/big_endian.h"

namespace braid::pnfs_ds {
namespace {

// The server's own: what it may do is a question of handles, not of permissions.
const vfs::Credentials server_itself;

constexpr std::uint8_t record_version = 1;
constexpr std::uint32_t object_mode = 0600;
constexpr std::uint32_t shard_mode = 0700;

}  // namespace

std::string shard_name(const ObjectKey& key) { return fmt::format("{:02x}", key.object.value() & 0xff); }

std::string object_name(const ObjectKey& key) {
  return fmt::format("{:016x}.{:04x}", key.object.value(), key.index);
}

base::Bytes object_record(const pnfs::ClusterId& cluster, const pnfs::ServerId& server,
                          const ObjectKey& key) {
  base::Bytes out(1 + cluster.size() + server.size() + 8 + 4);
  base::store_be<std::uint8_t>(out, 0, record_version);
  std::ranges::copy(cluster, out.begin() + 1);
  std::ranges::copy(server, out.begin() + 17);
  base::store_be<std::uint64_t>(out, 33, key.object.value());
  base::store_be<std::uint32_t>(out, 41, key.index);
  return out;
}

vfs::VfsOp<std::optional<vfs::FileRef>> ObjectFiles::shard(ObjectKey key) {
  const std::string name = shard_name(key);
  {
    const std::shared_lock lock(mutex_);
    if (const auto known = shards_.find(name); known != shards_.end()) co_return known->second;
  }
  const vfs::FileRef root = files_->root();
  auto found = co_await files_->lookup(server_itself, root, name).as_result();
  if (!found && found.error() == vfs::Error::noent) co_return std::nullopt;
  if (!found) co_await base::fail(found.error());
  const std::scoped_lock lock(mutex_);
  co_return shards_.try_emplace(name, found->file).first->second;
}

vfs::VfsOp<vfs::FileRef> ObjectFiles::make_shard(ObjectKey key) {
  auto there = co_await shard(key);
  if (there) co_return std::move(*there);
  const std::string name = shard_name(key);
  const vfs::FileRef root = files_->root();
  vfs::SetAttributes set;
  set.mode = shard_mode;
  vfs::Wcc wcc;
  const auto made = co_await files_->mkdir(server_itself, root, name, set, wcc).as_result();
  if (!made && made.error() != vfs::Error::exist) co_await base::fail(made.error());
  there = co_await shard(key);
  if (!there) co_await base::fail(vfs::Error::io);
  co_return std::move(*there);
}

vfs::VfsOp<std::optional<vfs::Found>> ObjectFiles::find(ObjectKey key) {
  const auto directory = co_await shard(key);
  if (!directory) co_return std::nullopt;
  const std::string name = object_name(key);
  auto found = co_await files_->lookup(server_itself, *directory, name).as_result();
  if (!found && found.error() == vfs::Error::noent) co_return std::nullopt;
  if (!found) co_await base::fail(found.error());
  co_return std::move(*found);
}

vfs::VfsOp<std::optional<OpenedObject>> ObjectFiles::open(ObjectKey key) {
  const auto found = co_await find(key);
  if (!found) co_return std::nullopt;
  OpenedObject out;
  out.open = co_await files_->open(server_itself, found->file, vfs::OpenAccess::both, vfs::OpenRule::caller);
  out.owner.uid = found->attributes.uid;
  out.owner.gid = found->attributes.gid;
  co_return std::move(out);
}

vfs::VfsOp<OpenedObject> ObjectFiles::make(ObjectKey key, ObjectOwner owner, pnfs::ClusterId cluster) {
  const vfs::FileRef directory = co_await make_shard(key);
  const std::string name = object_name(key);
  vfs::CreateHow how;
  how.attributes.mode = object_mode;
  if (sets_owner_) {
    how.attributes.uid = owner.uid;
    how.attributes.gid = owner.gid;
  }
  vfs::Wcc wcc;
  vfs::OpenCreated made =
      co_await files_->open_create(server_itself, directory, name, vfs::OpenAccess::both, how, wcc);
  if (made.created) {
    const base::Bytes record = object_record(cluster, server_, key);
    // It tells a person whose object this is; a file system that cannot keep it is good enough.
    (void)co_await files_
        ->set_xattr(server_itself, made.file, object_record_name, record, vfs::XattrMode::either, wcc)
        .as_result();
  }
  OpenedObject out;
  out.open = std::move(made.open);
  out.owner.uid = made.attributes.uid;
  out.owner.gid = made.attributes.gid;
  co_return std::move(out);
}

vfs::VfsOp<> ObjectFiles::remove(ObjectKey key) {
  const auto directory = co_await shard(key);
  if (!directory) co_return;
  const std::string name = object_name(key);
  vfs::Wcc wcc;
  const auto done = co_await files_->remove(server_itself, *directory, name, wcc).as_result();
  if (!done && done.error() != vfs::Error::noent) co_await base::fail(done.error());
}

vfs::Verifier ObjectFiles::verifier() const {
  const vfs::FileRef root = files_->root();
  return files_->borrow(server_itself, root)->write_verifier();
}

vfs::VfsOp<vfs::FileSystemStatus> ObjectFiles::status() {
  const vfs::FileRef root = files_->root();
  co_return co_await files_->status(root);
}

}  // namespace braid::pnfs_ds
