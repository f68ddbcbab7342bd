// MOUNT arguments: whatever arrives is refused or answered with results that the protocol can decode, and no
// path leads out of the exports. Input: the procedure, then the arguments.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

#include "base/assert.h"
#include "base/log.h"
#include "io/ready_queue.h"
#include "io/slab.h"
#include "nfs3/mount/service.h"
#include "nfs3/mount3.x.h"
#include "vfs/export.h"
#include "vfs/memory/file_system.h"

namespace {

using namespace braid;
using vfs::memory::Storage;

class Reply final : public rpc::Reply {
 public:
  explicit Reply(io::SlabCursor& cursor) : cursor_(cursor) {}
  xdr::Encoder& begin() override {
    base::check(!encoder_.has_value(), "begin() is called once");
    return encoder_.emplace(cursor_);
  }
  io::Payload take() { return encoder_ ? encoder_->finish().bytes : io::Payload(); }

 private:
  io::SlabCursor& cursor_;
  std::optional<xdr::Encoder> encoder_;
};

bool results_decode(const Storage& storage, std::size_t procedure, const io::Payload& message) {
  xdr::Arena arena;
  xdr::Decoder in(message, arena);
  nfs3::mountres3 mounted;
  nfs3::mountlist mounts;
  nfs3::exports exports;
  switch (procedure) {
    case 1: {
      if (!decode(in, mounted)) return false;
      const auto* ok = mounted.mountinfo();
      base::check(ok == nullptr || storage.id_of(ok->fhandle).value() <= 3, "only directories of ours");
      return in.remaining() == 0;
    }
    case 2:
      return decode_mountlist(in, mounts) && in.remaining() == 0;
    case 5:
      return decode_exports(in, exports) && in.remaining() == 0;
    default:
      return message.empty();
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  base::configure_log({.level = base::Level::error, .journal = false});
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  io::ReadyQueue queue;
  io::ReadyQueue::make_current(&queue);
  static io::SlabPool pool({.bytes_max = 64 * base::MiB, .huge_pages = false});
  Storage storage(vfs::ExportId(7));
  const auto directory = storage.add(Storage::root_id, "d", vfs::FileType::directory);
  storage.add(directory, "e", vfs::FileType::directory);
  storage.add(directory, "f", vfs::FileType::regular);
  vfs::memory::Hooks hooks;
  vfs::Export offered;
  offered.id = vfs::ExportId(7);
  offered.path = "/srv";
  offered.file_system = std::make_shared<vfs::memory::MemoryFileSystem>(storage, hooks);
  const vfs::Exports exports(std::make_shared<const vfs::ExportTable>(std::vector<vfs::Export>{offered}));
  nfs3::mount::MountService service(exports);
  const auto procedures = service.program().versions.front().procedures;

  const std::size_t number = data[0] % procedures.size();
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  io::SlabCursor cursor(pool);
  io::Payload message;
  if (!bytes.empty()) {
    auto range = cursor.carve(std::min(bytes.size(), io::small_slab_bytes));
    std::memcpy(range->writable().data(), bytes.data(), range->length);
    message.append(std::move(*range));
  }
  // Twice, so that what the first call left behind is seen by DUMP and UMNT.
  for (const std::size_t procedure : {std::size_t{1}, number}) {
    rpc::Call call(message, {}, cursor);
    Reply reply(cursor);
    auto op = procedures[procedure].handler(service, call, reply);
    op.start({});
    base::check(op.done(), "nothing waits here");
    base::check(*op.result() != rpc::Answer::system_err, "there is memory for the reply");
    const io::Payload results = reply.take();
    if (*op.result() == rpc::Answer::success) {
      base::check(results_decode(storage, procedure, results), "results can be decoded");
      base::check(results.size() <= procedures[procedure].reply_bytes_max, "results keep to their bound");
    }
  }
  io::ReadyQueue::make_current(nullptr);
  return 0;
}
