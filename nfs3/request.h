// One NFSv3 call on its way through a procedure.
#pragma once

#include <coroutine>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "io/op.h"
#include "io/peer_id.h"
#include "nfs3/nfs3.x.h"
#include "nfs3/op3.h"
#include "nfs3/service.h"
#include "rpc/call.h"
#include "vfs/export.h"
#include "vfs/file_system.h"

namespace braid::nfs3 {

// What a handle led to: an object, where it lives, and who the caller is there. Valid as long as its Request.
struct Target {
  const vfs::Export* from = nullptr;
  vfs::Credentials who;
  vfs::FileRef file;

  [[nodiscard]] vfs::FileSystem& fs() const { return *from->file_system; }
  [[nodiscard]] vfs::VfsOp<vfs::Attributes> attributes() const { return fs().getattr(file); }
  // Its content, as long as this Target.
  [[nodiscard]] vfs::Borrowed content() const { return fs().borrow(who, file); }
};

// `Target t = co_await request.target(handle);` in a procedure: an error ends the procedure with its status
// and an empty failing arm. Costs no coroutine of its own.
class TargetAwaiter {
 public:
  TargetAwaiter(Target target, vfs::VfsOp<vfs::FileRef> file, io::PeerId peer)
      : target_(std::move(target)), file_(std::move(file)), peer_(peer) {}

  [[nodiscard]] bool await_ready() {
    file_.start(peer_);
    return file_.done() && file_.result().has_value();
  }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> parent) {
    parent_ = parent;
    if (file_.done())
      wake<Promise>(this);
    else
      file_.set_continuation({&wake<Promise>, this});
  }
  Target await_resume() {
    target_.file = std::move(*file_.result());
    return std::move(target_);
  }

 private:
  template <class Promise>
  static void wake(void* argument) {
    auto* self = static_cast<TargetAwaiter*>(argument);
    if (self->file_.result().has_value()) {
      self->parent_.resume();
      return;
    }
    auto& promise = std::coroutine_handle<Promise>::from_address(self->parent_.address()).promise();
    promise.fail({status_of(self->file_.result().error()), {}});
  }

  Target target_;
  vfs::VfsOp<vfs::FileRef> file_;
  const io::PeerId peer_;
  std::coroutine_handle<> parent_;
};

// Lives in the frame of the glue, around the procedure; belongs to the call's thread.
class Request {
 public:
  // Takes the exports as they are now: a reload does not reach a running call.
  Request(const Nfs3Service& service, rpc::Call& call)
      : service_(service), call_(call), exports_(service.exports().current()) {}
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  // badhandle: no export of ours wrote it; acces: the export does not admit the client; stale and others from
  // the file system.
  [[nodiscard]] TargetAwaiter target(const nfs_fh3& handle);
  [[nodiscard]] const Nfs3Options& options() const { return service_.options(); }
  [[nodiscard]] io::SlabCursor& cursor() const { return call_.cursor; }
  // For the data of a READ.
  [[nodiscard]] vfs::ReadMemory memory() const {
    vfs::ReadMemory out{call_.cursor, call_.pipes};
    out.protocol = vfs::Protocol::nfs3;
    return out;
  }

  // For the figures of the client and of the export.
  void ended(nfsstat3 status);
  void read(std::uint64_t bytes);
  void wrote(std::uint64_t bytes);

  // A handle for the reply. The copy stays until the reply is encoded; a reply has room for one.
  [[nodiscard]] nfs_fh3 keep(const vfs::FileHandle& handle);
  // Text for the reply, copied into the call's arena; nothing when that is used up.
  [[nodiscard]] std::optional<std::string_view> keep(const io::Payload& text) const;

 private:
  const Nfs3Service& service_;
  rpc::Call& call_;
  std::shared_ptr<const vfs::ExportTable> exports_;
  std::uint32_t from_ = 0;  // the number of the last target's export; 0: there is none
  vfs::FileHandle handle_;
};

}  // namespace braid::nfs3
