// NFSv3 arguments: decoding what was encoded gives the same, and whatever arrives is refused or answered with
// results that the protocol can decode, within the bound of the procedure's row. Input: the procedure, the
// size of the pieces in which the arguments arrive, the arguments.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

#include "base/assert.h"
#include "io/ready_queue.h"
#include "io/slab.h"
#include "nfs3/nfs3.x.h"
#include "nfs3/service.h"
#include "vfs/export.h"
#include "vfs/memory/file_system.h"
#include "vfs/memory/recorder.h"

namespace {

using namespace braid;
using base::BytesView;
using vfs::memory::Storage;

io::Payload cut(BytesView bytes, std::size_t piece_bytes, io::SlabPool& pool) {
  io::Payload payload;
  while (!bytes.empty()) {
    io::SlabCursor cursor(pool);
    const std::size_t step = std::min(piece_bytes, bytes.size());
    auto range = cursor.carve(step);
    std::memcpy(range->writable().data(), bytes.data(), step);
    payload.append(std::move(*range));
    bytes = bytes.subspan(step);
  }
  return payload;
}

template <class T>
void check_round_trip(const io::Payload& message, io::SlabCursor& cursor) {
  xdr::Arena arena;
  xdr::Decoder in(message, arena);
  T value;
  if (!decode(in, value)) return;
  xdr::Encoder out(cursor);
  encode(out, value);
  const io::Payload again = out.finish().bytes;
  base::check(again.size() == encoded_size(value), "encoded_size is exact");
  base::check(again.size() <= T::encoded_bytes_max, "encoded_bytes_max is a bound");
  xdr::Arena second_arena;
  xdr::Decoder second(again, second_arena);
  T copy;
  base::check(decode(second, copy) && second.remaining() == 0, "what was encoded can be decoded");
  base::check(copy == value, "and is the same");
}

template <class T>
bool decodes(const io::Payload& message) {
  xdr::Arena arena;
  xdr::Decoder in(message, arena);
  T value;
  return decode(in, value) && in.remaining() == 0;
}

struct Row {
  void (*check_args)(const io::Payload& message, io::SlabCursor& cursor);
  bool (*results_decode)(const io::Payload& message);
};
template <class Args, class Res>
constexpr Row row{check_round_trip<Args>, decodes<Res>};

using namespace nfs3;
constexpr std::array rows{
    Row{[](const io::Payload&, io::SlabCursor&) {},
        [](const io::Payload& message) { return message.empty(); }},
    row<GETATTR3args, GETATTR3res>,
    row<SETATTR3args, SETATTR3res>,
    row<LOOKUP3args, LOOKUP3res>,
    row<ACCESS3args, ACCESS3res>,
    row<READLINK3args, READLINK3res>,
    row<READ3args, READ3res>,
    row<WRITE3args, WRITE3res>,
    row<CREATE3args, CREATE3res>,
    row<MKDIR3args, MKDIR3res>,
    row<SYMLINK3args, SYMLINK3res>,
    row<MKNOD3args, MKNOD3res>,
    row<REMOVE3args, REMOVE3res>,
    row<RMDIR3args, RMDIR3res>,
    row<RENAME3args, RENAME3res>,
    row<LINK3args, LINK3res>,
    row<READDIR3args, READDIR3res>,
    row<READDIRPLUS3args, READDIRPLUS3res>,
    row<FSSTAT3args, FSSTAT3res>,
    row<FSINFO3args, FSINFO3res>,
    row<PATHCONF3args, PATHCONF3res>,
    row<COMMIT3args, COMMIT3res>,
};

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

// The world of the golden tests: "hello" is file 2, "d" directory 3, "l" a link.
void fill(Storage& storage) {
  storage.add(Storage::root_id, "hello", vfs::FileType::regular, "hello, world");
  storage.add(Storage::root_id, "d", vfs::FileType::directory);
  storage.add(Storage::root_id, "l", vfs::FileType::symlink, "../x");
}

// Signs each handle of export 7 that the input holds, whatever file it names: no mutation would find a
// signature.
base::Bytes with_signed_handles(BytesView input, const Storage& storage) {
  base::Bytes out(input.begin(), input.end());
  const vfs::FileHandle model = storage.handle_of(Storage::root_id);
  constexpr std::size_t mac_at = 8;
  constexpr std::size_t body_at = vfs::HandleCodec::header_bytes;
  for (std::size_t at = 0; at + model.size <= out.size(); ++at) {
    const auto found = std::span(out).subspan(at, model.size);
    if (!std::ranges::equal(found.first(mac_at), model.view().first(mac_at))) continue;
    std::uint64_t id = 0;
    for (const std::byte byte : found.subspan(body_at)) id = id << 8U | std::to_integer<std::uint64_t>(byte);
    std::ranges::copy(storage.handle_of(id).view(), found.begin());
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  io::ReadyQueue queue;
  io::ReadyQueue::make_current(&queue);
  static io::SlabPool pool({.bytes_max = 512 * base::MiB, .huge_pages = false});
  Storage storage(vfs::ExportId(7));
  fill(storage);
  vfs::memory::Recorder recorder;
  vfs::Export offered;
  offered.id = vfs::ExportId(7);
  offered.path = "/";
  offered.file_system = std::make_shared<vfs::memory::MemoryFileSystem>(storage, recorder);
  const vfs::Exports exports(std::make_shared<const vfs::ExportTable>(std::vector<vfs::Export>{offered}));
  Nfs3Service service(exports, {});
  const auto procedures = service.program().versions.front().procedures;

  const std::size_t number = data[0] % rows.size();
  const std::size_t piece_bytes = data[1] == 0 ? io::small_slab_bytes : data[1];
  const io::Payload message =
      cut(with_signed_handles(std::as_bytes(std::span(data, size)).subspan(2), storage), piece_bytes, pool);
  io::SlabCursor cursor(pool);
  rows[number].check_args(message, cursor);

  {
    rpc::Call call(message, {}, cursor);
    call.auth = rpc::AuthSys{};
    Reply reply(cursor);
    auto op = procedures[number].handler(service, call, reply);
    op.start({});
    base::check(op.done(), "nothing waits here");
    base::check(*op.result() != rpc::Answer::system_err, "there is memory for the reply");
    const io::Payload results = reply.take();
    if (*op.result() == rpc::Answer::success) {
      base::check(rows[number].results_decode(results), "results can be decoded");
      base::check(results.size() <= procedures[number].reply_bytes_max, "results keep to their bound");
    } else {
      base::check(recorder.calls.empty() && results.empty(), "garbage reaches nobody");
    }
  }
  io::ReadyQueue::make_current(nullptr);
  return 0;
}
