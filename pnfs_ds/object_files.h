// The objects of a data server as files: where they are, how they are made and removed.
// docs/format-pnfs-objects.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>

#include "base/bytes.h"
#include "io/op.h"
#include "pnfs/keys.h"
#include "pnfs/object.h"
#include "pnfs_ds/fence_record.h"
#include "vfs/file_system.h"
#include "vfs/open_file.h"

namespace braid::pnfs_ds {

using pnfs::ObjectOwner;

// "3f" and "000000000000123f.0002".
std::string shard_name(const ObjectKey& key);
std::string object_name(const ObjectKey& key);
// What an object's file says of itself, in the extended attribute of that name.
inline constexpr std::string_view object_record_name = "braid.object";
base::Bytes object_record(const pnfs::ClusterId& cluster, const pnfs::ServerId& server, const ObjectKey& key);

struct OpenedObject {
  vfs::OpenFileRef open;  // for reading and writing
  vfs::Credentials owner;
};

// Thread-safe. Every function may block, but not the thread: the file system sees to that.
class ObjectFiles {
 public:
  // `sets_owner`: the process may give files away. The objects lie below the root of `files`.
  ObjectFiles(std::shared_ptr<vfs::FileSystem> files, const pnfs::ServerId& server, bool sets_owner)
      : files_(std::move(files)), server_(server), sets_owner_(sets_owner) {}

  // Nothing: there is none.
  vfs::VfsOp<std::optional<OpenedObject>> open(ObjectKey key);
  // The same of one that is made if there is none. The name is durable.
  vfs::VfsOp<OpenedObject> make(ObjectKey key, ObjectOwner owner, pnfs::ClusterId cluster);
  // Done as well if there is none.
  vfs::VfsOp<> remove(ObjectKey key);
  vfs::VfsOp<vfs::FileSystemStatus> status();
  // What a WRITE that begins now would answer.
  [[nodiscard]] vfs::Verifier verifier() const;
  vfs::VfsOp<> close(vfs::OpenFileRef open) { return files_->close(std::move(open)); }
  [[nodiscard]] vfs::FileSystem& file_system() { return *files_; }

 private:
  // Nothing: no object of the shard has ever been made.
  vfs::VfsOp<std::optional<vfs::FileRef>> shard(ObjectKey key);
  vfs::VfsOp<vfs::FileRef> make_shard(ObjectKey key);
  vfs::VfsOp<std::optional<vfs::Found>> find(ObjectKey key);

  const std::shared_ptr<vfs::FileSystem> files_;
  const pnfs::ServerId server_;
  const bool sets_owner_;
  std::shared_mutex mutex_;
  std::map<std::string, vfs::FileRef> shards_;
};

}  // namespace braid::pnfs_ds
