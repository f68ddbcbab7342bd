// What is done to objects, whoever asks: clients by their handles, the metadata server by its control calls.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "pnfs/keys.h"
#include "pnfs_ds/fence_log.h"
#include "pnfs_ds/fence_record.h"
#include "pnfs_ds/fence_table.h"
#include "pnfs_ds/object_cache.h"
#include "pnfs_ds/object_files.h"
#include "vfs/open_file.h"

namespace braid::pnfs_ds {

// The cluster that the server belongs to; zeros until it does. Any thread.
using ClusterOf = std::function<pnfs::ClusterId()>;

// Thread-safe; on reactors. What is referred to outlives it.
class Objects {
 public:
  struct Parts {
    std::shared_ptr<vfs::FileSystem> files;  // the objects lie below its root
    pnfs::ServerId server{};
    bool sets_owner = false;      // ObjectFiles
    std::size_t objects_max = 0;  // that are kept open though nobody uses them
    FenceTable& fences;
    FenceLog& log;
    ClusterOf cluster;
  };
  explicit Objects(const Parts& parts)
      : files_(parts.files, parts.server, parts.sets_owner),
        fences_(parts.fences),
        log_(parts.log),
        cluster_(parts.cluster),
        cache_(parts.objects_max) {}

  // I/O of one object: as long as it has begun, whoever fences the object waits. Made on the stack of a call;
  // begin(), then whether the caller may do this is to be looked at, then the I/O.
  class Use {
   public:
    Use(Objects& all, const ObjectKey& key) : call_(all.calls_), got_(all.cache_.get(key)) {}
    void begin() { running_.emplace(got_.object->running); }
    // Before whatever may wait for somebody who fences.
    void end() { running_.reset(); }
    [[nodiscard]] Object& object() const { return *got_.object; }

   private:
    friend class Objects;
    // Counts a call, as long as it lives.
    class Call {
     public:
      explicit Call(std::atomic<std::uint32_t>& calls) : calls_(calls) {
        calls_.fetch_add(1, std::memory_order_relaxed);
      }
      Call(const Call&) = delete;
      Call& operator=(const Call&) = delete;
      ~Call() { calls_.fetch_sub(1, std::memory_order_relaxed); }

     private:
      std::atomic<std::uint32_t>& calls_;
    };
    const Call call_;
    ObjectCache::Got got_;
    std::optional<RunningIo::Hold> running_;
  };
  using Opened = std::shared_ptr<const OpenedObject>;

  // Null: there is no such object. Costs no system call if it is open.
  vfs::VfsOp<Opened> find(Use& use);
  // The same; one that is not there is made.
  vfs::VfsOp<Opened> make(Use& use, ObjectOwner owner);
  vfs::VfsOp<vfs::ReadResult> read(const OpenedObject& object, std::uint64_t offset, std::uint32_t count,
                                   vfs::ReadMemory memory) {
    return object.open->read(offset, count, memory);
  }
  vfs::VfsOp<vfs::WriteResult> write(Use& use, Opened opened, std::uint64_t offset, io::Payload data,
                                     vfs::Stability stability);
  // All bytes. Of an object that is not there, none are to be made durable.
  vfs::VfsOp<vfs::Verifier> commit(Use& use);
  // What a WRITE that begins now would answer; of all objects.
  [[nodiscard]] vfs::Verifier verifier() const { return files_.verifier(); }

  struct Stat {
    std::uint64_t end = 0;
    std::uint64_t space = 0;
    bool changed = false;
  };
  // What has changed is told once. `stay_announced`: the metadata server goes on taking the object to be
  // written to; else it is to be announced before its next write.
  vfs::VfsOp<Stat> stat(ObjectKey key, bool stay_announced);
  vfs::VfsOp<vfs::Attributes> stat_of(const OpenedObject& object) {
    const vfs::FileRef file = object.open->file();
    co_return co_await files_.file_system().getattr(file);
  }

  // In force, and on the medium; what had been let in before is over.
  vfs::VfsOp<> fence(std::vector<FenceRecord> fences);
  // After fence(): on the medium. An object that is not there is not made. One that was cut with this number
  // or a larger one, since the process started, stays as it is.
  vfs::VfsOp<> cut(ObjectKey key, std::uint64_t number, std::uint64_t end);
  vfs::VfsOp<> remove(ObjectKey key);

  vfs::VfsOp<vfs::FileSystemStatus> room() { return files_.status(); }
  [[nodiscard]] const FenceTable& fences() const { return fences_; }
  [[nodiscard]] std::size_t open_objects() const { return cache_.size(); }
  // Closes what nobody has used since this was called so many times, a few objects at a time.
  vfs::VfsOp<> close_idle(std::uint32_t rounds);
  // Under way on objects.
  [[nodiscard]] std::uint32_t calls() const { return calls_.load(std::memory_order_relaxed); }

 private:
  vfs::VfsOp<> close_all(std::vector<Opened> forgotten);
  vfs::VfsOp<> close_forgotten(Use& use) { return close_all(std::exchange(use.got_.forgotten, {})); }
  vfs::VfsOp<Opened> open(Object& object);

  ObjectFiles files_;
  FenceTable& fences_;
  FenceLog& log_;
  const ClusterOf cluster_;
  ObjectCache cache_;
  std::atomic<std::uint32_t> calls_{0};
};

}  // namespace braid::pnfs_ds
