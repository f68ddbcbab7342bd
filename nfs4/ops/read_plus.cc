#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "nfs4/ops/extended_operations.h"
#include "nfs4/ops/io_support.h"
#include "nfs4/options.h"

namespace braid::nfs4::ops {
namespace {

// Pieces of one reply. A file with more of them in the range is answered in part, and the client reads on.
constexpr std::size_t contents_max = 32;
// rpr_eof and the number of pieces; of a piece of data: kind, offset, length, padding; of a hole: kind,
// offset, length.
constexpr std::size_t head_bytes = 8;
constexpr std::size_t piece_bytes = 20;

// One READ_PLUS on its way through the file.
struct Progress {
  vfs::OpenFileRef open;
  std::uint64_t position = 0;
  std::uint64_t end = 0;
  ReadPlusResult result;
};

std::uint64_t bounded_count(Compound& compound, const READ_PLUS4args& args) {
  constexpr std::uint64_t offset_max = std::numeric_limits<std::int64_t>::max();
  const std::size_t room = compound.reply_bytes_left();
  const std::size_t overhead = head_bytes + contents_max * piece_bytes;
  const std::uint64_t count = std::min<std::uint64_t>(
      {args.rpa_count, compound.server().options.read_bytes_max, room - std::min(room, overhead)});
  return std::min(count, offset_max - std::min(args.rpa_offset, offset_max));
}

// Where the data that begins at the position ends, at most the end of the range. A file system that does not
// know has data everywhere.
Op4<std::uint64_t> end_of_data(Progress& progress) {
  const auto hole =
      co_await progress.open->seek(progress.position, vfs::SeekTo::hole, progress.end).as_result();
  co_return hole ? std::min(hole->offset, progress.end) : progress.end;
}

// True when more may follow.
Op4<bool> take_data(Compound& compound, Progress& progress) {
  const std::uint64_t end = co_await end_of_data(progress);
  const auto count = static_cast<std::uint32_t>(end - progress.position);
  auto got = co_await progress.open->read(progress.position, count, compound.read_memory()).as_result();
  if (!got) co_await refuse(got.error());
  const std::size_t bytes = got->data.size();
  compound.read(bytes);
  if (bytes > 0) progress.result.contents.emplace_back(ReadPlusData{progress.position, std::move(got->data)});
  progress.position += bytes;
  progress.result.eof = got->eof;
  co_return !got->eof && bytes == count;
}

// The hole at the position, if there is one. Nothing when the position is not inside the file.
Op4<std::optional<std::uint64_t>> data_after(Progress& progress) {
  const auto data =
      co_await progress.open->seek(progress.position, vfs::SeekTo::data, progress.end).as_result();
  if (!data && data.error() == vfs::Error::nxio) {
    progress.result.eof = true;
    co_return std::nullopt;
  }
  if (!data) co_return progress.position;
  if (data->eof && data->offset <= progress.end) progress.result.eof = true;
  co_return data->offset;
}

}  // namespace

// RFC 7862 15.10. The range is what the client asked for, holes included: a longer hole is found by SEEK.
Op4<ReadPlusResult> read_plus(Compound& compound, const READ_PLUS4args& args) {
  const Place& at = *co_await compound.current_in_export(nfsstat4::NFS4ERR_ISDIR);
  vfs::OpenFileRef open = co_await open_for_io(compound, at, args.rpa_stateid, vfs::OpenAccess::read);
  Progress progress{.open = std::move(open),
                    .position = args.rpa_offset,
                    .end = args.rpa_offset + bounded_count(compound, args),
                    .result = {}};
  for (bool more = true; more && progress.result.contents.size() < contents_max;) {
    const std::optional<std::uint64_t> data = co_await data_after(progress);
    if (!data) break;
    const std::uint64_t hole_end = std::min(*data, progress.end);
    if (hole_end > progress.position) {
      progress.result.contents.emplace_back(data_info4{progress.position, hole_end - progress.position});
      progress.position = hole_end;
    }
    if (progress.result.eof || progress.position >= progress.end) break;
    more = co_await take_data(compound, progress);
    more = more && progress.position < progress.end;
  }
  co_return std::move(progress.result);
}

void encode(xdr::Encoder& out, const ReadPlusResult& result) {
  out.boolean(result.eof);
  out.u32(static_cast<std::uint32_t>(result.contents.size()));
  for (const auto& piece : result.contents) {
    if (const auto* data = std::get_if<ReadPlusData>(&piece)) {
      encode(out, data_content4::NFS4_CONTENT_DATA);
      out.u64(data->offset);
      out.payload(data->bytes);
    } else {
      encode(out, data_content4::NFS4_CONTENT_HOLE);
      encode(out, std::get<data_info4>(piece));
    }
  }
}

std::size_t encoded_size(const ReadPlusResult& result) {
  std::size_t bytes = head_bytes;
  for (const auto& piece : result.contents) {
    const auto* data = std::get_if<ReadPlusData>(&piece);
    bytes += data == nullptr ? piece_bytes : 4 + 8 + 4 + (data->bytes.size() + 3) / 4 * 4;
  }
  return bytes;
}

}  // namespace braid::nfs4::ops
